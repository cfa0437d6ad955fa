"""Command line: ``priorwise bench`` and ``priorwise compare``."""

from priorwise.cli.main import main

__all__ = ["main"]
