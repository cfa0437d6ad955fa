"""The command line: ``priorwise fit``, ``predict``, ``evaluate`` and others."""

from priorwise.cli.main import main

__all__ = ["main"]
