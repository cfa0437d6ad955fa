"""Lets ``python -m priorwise`` run the command line."""

import sys

from priorwise.cli import main

if __name__ == "__main__":
    sys.exit(main())
