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
            Whether to compress the file: by zstandard where Python (from 3.14 on) or the package
            ``zstandard`` has it, otherwise by zlib. It takes longer to save and to load.
        """
        # The layer above knows all classes; this one must not import it.
        files: Any = import_module("priorwise.storage.model_file")
        files.save_model(self, path, compress=compress)

    def summary(self) -> Any:
        """Summarise what is inside the estimator: parts, sizes, features and training rows.

        Returns
        -------
        ModelSummary
            `parameters`, `features`, `class_counts`, `parts`, `n_bytes` and the like. Printed, it
            is a text of a few lines.
        """
        module: Any = import_module("priorwise.storage.summary")
        return module.summarise(self)

    def card(self) -> str:
        """Write a model card: data, scores out of fold, features, limits, how to reproduce.

        Returns
        -------
        str
            A page in Markdown.
        """
        module: Any = import_module("priorwise.storage.card")
        text: str = module.write_card(self)
        return text
