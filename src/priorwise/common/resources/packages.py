"""Packages that are not required."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_extra(module: str, what: str, install: str) -> Any:
    """Import a module for `what`, or raise an error that says how to install its package."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f"{what} needs {package}: pip install {install}") from error
