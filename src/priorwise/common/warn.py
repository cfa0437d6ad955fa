"""Warnings that name the line of the user that they are about."""

from __future__ import annotations

import sys
import warnings


def warn_user(message: str) -> None:
    """Warn at the line outside of this library that called it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("priorwise."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
