"""Lets ``python -m priorwise.cli`` run the command line."""

import sys

from priorwise.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
