"""The table that every estimator learns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from priorwise import _core
from priorwise.common.validation import check_groups, check_weight, name_near, warn_of_copies
from priorwise.counts import CodedRows, Draws, NumberEquality, hash_rows
from priorwise.counts.draws import draw_rows, number_groups
from priorwise.data.columns import encode_labels
from priorwise.data.cuts import RankedValues
from priorwise.data.cuts.names import WholeRange
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import Columns, declared_classes
from priorwise.data.tables.dict_rows import DictRows, as_dict_rows

Learnt = TypeVar("Learnt")


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What `fit` has read: columns, classes and weights of the rows to learn from.

    Every estimator that learns from rows in memory takes this table, so that a pool reads X once
    for all its members. Rows of weight zero are left out, as if they had not been given. Estimators
    that hold rows out, in folds, samples or bootstraps, learn from the table `as_draws`.

    `y` are class codes, `weight` is None if all weights are one, `given` are the places, among the
    `n_given` rows given to `fit`, of those that were not left out. `X` are the rows given, for
    classifiers that can't learn from columns. Rows of the same `group` are held out together; None
    if each row is a draw. `draws` says which row each row was before the table was put in order,
    and `has_copies` whether weights count copies that were joined.
    """

    encoder: TableEncoder
    columns: Columns
    y: NDArray[np.int32]
    classes: NDArray[Any]
    weight: NDArray[np.float64] | None
    given: NDArray[np.intp]
    n_given: int
    n_threads: int
    X: Any
    group: NDArray[np.intp] | None = None
    draws: Draws | None = None
    has_copies: bool = False

    @classmethod
    def read(
        cls,
        encoder: TableEncoder,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        min_classes: int = 2,
    ) -> TrainingTable:
        """Fit an encoder to rows X with labels y, and read them."""
        declared = declared_classes(y) if encoder.declared == "count" else None
        codes, classes = encode_labels(y, classes=declared)
        weight, given = check_weight(sample_weight, len(codes)), np.arange(len(codes))
        group = check_groups(groups, len(codes))
        columns = encoder.fit_read(X, codes, weight, classes, joins_labels=len(classes) > 1)
        n_given = len(codes)
        if weight is not None and not weight.all():
            given = np.flatnonzero(weight)
            codes, weight = codes[given], weight[given]
            weight = None if (weight == 1.0).all() else weight
            group = None if group is None else group[given]
            if declared is None:
                present, places = np.unique(codes, return_inverse=True)
                codes, classes = places.astype(np.int32), classes[present]
        if len(classes) < min_classes:
            raise ValueError(
                f"y must hold at least {min_classes} classes, got {len(classes)} class: "
                f"{classes.tolist()}"
            )
        n_threads = int(effective_n_jobs(encoder.n_jobs))
        return cls(encoder, columns, codes, classes, weight, given, n_given, n_threads, X, group)

    @classmethod
    def read_uncut(
        cls,
        model: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        min_classes: int = 2,
    ) -> TrainingTable:
        """Read rows by the parameters of a model, without cut points for numbers."""
        encoder = TableEncoder.for_model(model, WholeRange())
        return cls.read(encoder, X, y, sample_weight, groups, min_classes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def given_rows(self) -> NDArray[np.intp]:
        """For each row of the table, the row given to `fit` that it is; of copies the first."""
        return self.given if self.draws is None else self.given[self.draws.row]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the rows, ones if none were given."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def class_count(self) -> NDArray[np.float64]:
        """Number of rows of each class, or the sum of their weights."""
        return np.bincount(self.y, self.weight, minlength=self.n_classes).astype(np.float64)

    @property
    def n_labels(self) -> NDArray[np.int64]:
        """Number of labels of each nominal feature."""
        return np.array([len(c.labels) for c in self.encoder.categories_], dtype=np.int64)

    def once(self, learn: Callable[[TrainingTable], Learnt]) -> Learnt:
        """Return what a function learns from the table, which is done once for all that ask."""
        known: dict[Any, Any] = self.__dict__.setdefault("learnt_once", {})
        if learn not in known:
            known[learn] = learn(self)
        return known[learn]

    @cached_property
    def feature_columns(self) -> list[NDArray[Any]]:
        """One array per feature: int32 codes of labels, float64 numbers."""
        return self.columns.in_feature_order()

    @cached_property
    def ranked(self) -> RankedValues:
        """Numeric features as ranks among their distinct values."""
        return RankedValues.of(self.columns.values)

    @cached_property
    def sorted_columns(self) -> _core.SortedColumns:
        """The rows sorted by every feature, once for all trees that grow on them."""
        return _core.SortedColumns(self.feature_columns, self.n_rows, self.n_threads)

    def as_draws(self) -> TrainingTable:
        """Return the table with its rows in the order of their content, copies joined (`Draws`).

        Random choices made for the rows of that table do not depend on the order in which they
        were given. Where groups say what is held out together, copies stay as they are.
        """
        hashes = hash_rows(self.feature_columns, self.y)
        may_be_copy = None if self.group is not None else self._find_copies(hashes)
        draws = Draws.order(hashes, self.weight, may_be_copy=may_be_copy)
        n_copies = self.n_rows - len(draws.row)
        if n_copies:
            warn_of_copies(n_copies, self.n_rows)
        table = self.take(draws.row)
        return replace(
            table,
            weight=draws.weight,
            given=self.given,
            group=None if table.group is None else number_groups(table.group),
            draws=draws,
            has_copies=n_copies > 0 and self.weight is None,
        )

    def _find_copies(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_] | None:
        """Return which rows are copies if they are equal; None for no row."""
        if len(np.unique(hashes)) == self.n_rows:
            return None
        counts = [
            np.bincount(ranks + 1, minlength=len(values) + 1)
            for ranks, values in zip(self.ranked.ranks, self.ranked.distinct, strict=True)
        ]
        number = NumberEquality.find(*self.encoder.leave_out_texts(counts))
        if number is None:
            return None
        columns = self.feature_columns
        others = columns[: number.place] + columns[number.place + 1 :]
        if not number.tells_copies(hashes, hash_rows(others, self.y)):
            return None
        return ~np.isnan(columns[number.place])

    def take(self, rows: NDArray[np.intp]) -> TrainingTable:
        """Return the table of some of the rows."""
        return replace(
            self,
            columns=self.columns.take(rows),
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            given=self.given_rows[rows],
            group=None if self.group is None else number_groups(self.group[rows]),
            draws=None,
        )

    def draw(self, max_rows: int, generator: np.random.Generator) -> TrainingTable:
        """Return the table of at most `max_rows` rows, drawn with chances as their weights are.

        Its `given` holds the positions of its rows in this table.
        """
        rows, weight = draw_rows(self.n_rows, self.weight, max_rows, generator, self.group)
        drawn = self.take(rows)
        return replace(drawn, weight=weight, given=rows, n_given=self.n_rows, X=None)

    def rows_given(self) -> Any:
        """Return the rows of X that the rows of the table were read from."""
        if self.X is None:
            raise ValueError(
                "estimators must be classifiers of priorwise for fit_dataset, with the pool's "
                "parameters of reading (missing and the like): no rows are kept as they were "
                "given; others learn by fit"
            )
        rows = as_dict_rows(self.X)
        rows = rows.to_frame() if isinstance(rows, DictRows) else rows
        frame = nw.from_native(rows, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            return frame[self.given_rows].to_native()
        rows = rows if hasattr(rows, "__getitem__") else np.asarray(rows)
        return _safe_indexing(rows, self.given_rows)

    def cut(self, cut_points: list[NDArray[np.float64]] | None = None) -> CodedRows:
        """Return the rows as codes, cut at `cut_points` or at the encoder's own."""
        return CodedRows(
            list(self.encoder.encode(self.columns, cut_points)),
            self.encoder.arities(cut_points),
            self.y,
            self.n_classes,
            self.weight,
        )

    def to_given_rows(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of rows (n_rows, n_values) for all rows given to `fit`.

        All copies of a row have its values, a row of weight zero has NaN.
        """
        result = np.full((self.n_given, values.shape[1]), np.nan)
        result[self.given] = values if self.draws is None else values[self.draws.draw_of_row]
        return result


def read_directions(monotonic_cst: Any, encoder: TableEncoder, n_classes: int) -> tuple[int, ...]:
    """Return the direction of each feature, -1, 0 or 1; empty if `monotonic_cst` has none.

    ValueError, which names the parameter, if it is not one entry for each feature or a dict by
    names, if there are more than two classes, or if a column of labels without order has one.
    """
    if monotonic_cst is None:
        return ()
    names = encoder.feature_names
    if isinstance(monotonic_cst, Mapping):
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            near = name_near(unknown[0], list(names))
            raise ValueError(f"monotonic_cst must name columns of X, got {unknown[0]!r}{near}")
        given: Any = [monotonic_cst.get(name, 0) for name in names]
    else:
        given = monotonic_cst
    directions = np.asarray(given)
    n_features = encoder.n_features_in_ if given is monotonic_cst else len(encoder.is_nominal_)
    if directions.shape != (n_features,) or not np.isin(directions, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst must be a dict by names or {n_features} numbers -1, 0 or 1, one for "
            f"each feature, got {monotonic_cst!r}"
        )
    if not directions.any() or n_classes < 2:
        return ()
    if n_classes > 2:
        raise ValueError(f"monotonic_cst must be None with more than 2 classes, got {n_classes}")
    # Parts of dates have no direction unless they are named.
    directions = np.append(directions, np.zeros(len(encoder.is_nominal_) - n_features, dtype=int))
    without_order = np.flatnonzero(encoder.is_nominal_ & (directions != 0)).tolist()
    if without_order:
        name = repr(names[without_order[0]]) if names else without_order[0]
        raise ValueError(
            f"monotonic_cst must be 0 for columns of labels, got column {name}: list its values in "
            "ordinal_features if they have an order"
        )
    return tuple(int(direction) for direction in directions)
