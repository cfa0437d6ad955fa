"""The methods of every estimator that save and describe it."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


class SavedMixin:
    """An estimator that can be saved to a file."""

    def save(self, path: str | os.PathLike[str], *, compress: bool = False) -> None:
        """Save the estimator, fitted or not, to a file that `priorwise.load` reads.

        The file is a safetensors container without any code. It is written under a hidden name
        and renamed at the end, so an incomplete file never stands under that name.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced.
        compress : bool
            Whether to compress the file, by zstandard if that is installed, otherwise by zlib. It
            takes longer to save and to load.
        """
        # The layer above knows all classes; this one must not import it.
        files: Any = import_module("priorwise.storage.model_file")
        files.save_model(self, path, compress=compress)
