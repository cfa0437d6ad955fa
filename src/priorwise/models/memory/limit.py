"""A limit on the memory of a fit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from priorwise.common.docstrings import DocumentedMixin
from priorwise.data.tables import TableEncoder
from priorwise.models.memory.plan import MemoryFamily, Reduction, TableSize
from priorwise.models.training_table import TrainingTable


class MemoryLimitMixin(DocumentedMixin, BaseEstimator):
    """A classifier whose `fit` is planned to stay within a limit on memory.

    Parameters
    ----------
    memory_limit : int, float, str or None
        Bytes, or a text such as ``"2GB"``, that `fit` may take besides X. None (default) is half of
        what the machine or container has available. What a fit takes is estimated before it
        learns. Beyond the limit it learns less, and a warning says what was left out: fewer
        parents in networks, larger leaves, fewer trees, fewer landmarks. A MemoryError is raised
        if that is not enough. A fit that stays within the limit does not depend on it.
    """

    memory_limit: Any = None
    memory_family: ClassVar[MemoryFamily | None] = None
    """How the memory of a fit is estimated; None if it is not."""

    def _estimate_memory(self, size: TableSize, encoder: TableEncoder) -> float:
        """Return the bytes that a fit to a table of some size takes by an estimate."""
        if self.memory_family is None:
            return 0.0
        parameters = self.get_params(deep=False)
        return Reduction.find(self.memory_family, size, parameters, math.inf).before

    def _keep_limit(self, limit: float, table: TrainingTable) -> Self:
        """Return the classifier, or a copy that learns less from a table, within a limit."""
        if self.memory_family is None:
            return self
        size, parameters = TableSize.of(table), self.get_params(deep=False)
        reduction = Reduction.find(self.memory_family, size, parameters, limit)
        if reduction.after > limit:
            raise refuse(self, limit, reduction.after, size)
        if not reduction.new:
            return self
        warn_of_reductions(limit, reduction.before, {"": str(reduction)})
        lowered = copy(self)
        lowered.set_params(**reduction.new)
        return lowered


def refuse(model: BaseEstimator, limit: float, least: float, size: TableSize) -> MemoryError:
    """Return the error for a limit that even the smallest fit of a model does not keep."""
    return MemoryError(
        f"memory_limit must be at least {write_bytes(least)}, what the smallest fit of "
        f"{type(model).__name__} to {size.n_rows} rows, {size.n_features} features and "
        f"{size.n_classes} classes takes by an estimate, got {write_bytes(limit)}: allow more, or "
        "learn from fewer rows or features"
    )


def warn_of_reductions(limit: float, estimate: float, changes: Mapping[str, str]) -> None:
    """Warn of what was left out for want of memory: a text for each member."""
    texts = [f"{name}: {text}" if name else text for name, text in changes.items()]
    warnings.warn(
        f"memory_limit of {write_bytes(limit)} is less than the {write_bytes(estimate)} that the "
        f"fit would take by an estimate; it learns less: {'; '.join(texts)}",
        UserWarning,
        stacklevel=4,
    )


def write_bytes(n_bytes: float) -> str:
    """Write a size as text.

    >>> write_bytes(1.5e9), write_bytes(2e6)
    ('1.5 GB', '2 MB')
    """
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
