"""Models in files that are safe to read, what is inside, and model cards."""

from priorwise.storage.model_file import load

__all__ = ["load"]
