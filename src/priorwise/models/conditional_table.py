"""One conditional probability table, learnt from rows: p(target | a, b, c)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.counts import CountTree, count_trees
from priorwise.data.tables import Categories, RawTable
from priorwise.models.candidates import choose_smoother, squared_error
from priorwise.smoothing import HDP, Smoother
from priorwise.smoothing.names import as_smoother


class ConditionalTable(BaseEstimator):
    """The distribution of one nominal column given others, smoothed.

    Contexts are counted in a tree whose levels are the `given` columns, most influential
    first; a smoother turns the counts into probabilities for every context seen and for every
    prefix of one. A context never seen answers with its longest seen prefix. All columns are
    nominal: numbers count as labels. Missing values are a value of their own.

    Parameters
    ----------
    smoothing : str or Smoother
        "mle", "laplace", "m-estimate", "m-branch", "hdp" (default), "hgs", or a smoother.
    random_state : int, RandomState or None
        Seed of sampling smoothers and of held-back rows.

    Attributes
    ----------
    classes_ : array of the target's values
        All categories of a categorical target, observed or not.
    count_tree_ : CountTree
    smoothing_ : Smoother
        The smoother used, its parameters chosen.
    probabilities_ : array, one probability per cell of `count_tree_`

    Examples
    --------
    >>> rows = [["yes", "heavy"], ["no", "heavy"], ["yes", "heavy"], ["no", "light"]]
    >>> table = ConditionalTable("laplace").fit(rows, target=0, given=[1])
    >>> table.query({1: "heavy"})
    {'no': 0.4, 'yes': 0.6}
    """

    def __init__(self, smoothing: str | Smoother = "hdp", random_state: Any = None) -> None:
        self.smoothing = smoothing
        self.random_state = random_state

    def fit(
        self,
        frame: Any,
        target: Hashable,
        given: Sequence[Hashable],
        sample_weight: ArrayLike | None = None,
    ) -> ConditionalTable:
        """Learn p(target | given) from the rows of a table.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
        target : name of the column to predict (its place, for arrays and lists)
        given : names of the columns to condition on, the most influential first
        sample_weight : weights of the rows, not negative
        """
        smoother = as_smoother(self.smoothing)
        table = _read_table(frame)
        places = [_place(table, name, "given") for name in _check_given(given, target)]
        places.append(_place(table, target, "target"))
        self.target_, self.given_, self.library_ = target, list(given), table.library
        weight = _check_weight(sample_weight, table.n_rows)
        columns = [table.nominal(place) for place in places]
        self.categories_ = [Categories() for _ in places]
        self.categories_[-1].declare(table.declared_labels(places[-1]) or [])
        for categories, column in zip(self.categories_, columns, strict=True):
            categories.learn(column, weight)
        if (columns[-1].codes < 0).any():
            raise ValueError(f"target {target!r} must have no missing values")
        self.classes_ = _as_array(self.categories_[-1].labels)
        codes = [c.encode(column) for c, column in zip(self.categories_, columns, strict=True)]
        if weight is not None:
            # Rows of weight zero bring no labels; they count nowhere, so any code will do.
            codes = [np.maximum(column, 0) for column in codes]

        seed = int(check_random_state(self.random_state).randint(2**31))
        self.smoothing_ = choose_smoother(
            smoother, table.n_rows, self._evaluator(codes, weight), seed=seed
        )
        self.count_tree_ = self._count(codes, weight)
        self.seed_ = seed
        self.probabilities_ = self.smoothing_.smooth(self.count_tree_, seed)
        return self

    def query(self, context: Mapping[Hashable, Any] | None = None, /, **values: Any) -> dict:
        """The distribution of the target in one context, as {value: probability}.

        Columns are named by keyword, or in a mapping where a name is no Python word. A prefix
        of the `given` columns may be named; values never seen back off.
        """
        check_is_fitted(self)
        context = dict(context or {}) | dict(values)
        for name in context:
            if name not in self.given_:
                known = ", ".join(repr(known) for known in self.given_)
                raise ValueError(f"query takes columns of given ({known}), got {name!r}")
        path = []
        for name, categories in zip(self.given_, self.categories_, strict=False):
            if name not in context:
                break
            path.append([categories.code(context.pop(name))])
        if context:
            later, earlier = next(iter(context)), self.given_[len(path)]
            raise ValueError(f"query takes a prefix of given: {later!r} needs {earlier!r} too")
        node = self.count_tree_.find(path, n_rows=1)
        proba = self._rows(self.probabilities_, node)[0]
        return dict(zip(self.classes_.tolist(), proba.tolist(), strict=True))

    def predict_proba(self, frame: Any) -> NDArray[np.float64]:
        """The distribution of the target for each row's context; columns as in `classes_`."""
        nodes = self._find(frame)
        return self._rows(self.probabilities_, nodes)

    def predict(self, frame: Any) -> NDArray[Any]:
        """The most probable value of the target for each row's context."""
        return np.asarray(self.classes_[self.predict_proba(frame).argmax(axis=1)])

    def interval(
        self, frame: Any, level: float = 0.9, n_samples: int = 1000
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the central credible interval of each probability.

        From `n_samples` posterior draws, so only for `smoothing="hdp"` and the like.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}")
        nodes, place = np.unique(self._find(frame), return_inverse=True)
        if not isinstance(self.smoothing_, HDP):
            raise ValueError(
                "interval needs a smoother with posterior draws, such as 'hdp', "
                f"got {self.smoothing_!r}"
            )
        draws = self.smoothing_.sample(self.count_tree_, n_samples=n_samples, seed=self.seed_)
        rows = np.stack([self._rows(draw, nodes) for draw in draws])
        lower, upper = np.quantile(rows, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return lower[place], upper[place]

    def to_frame(self, backend: str | None = None) -> Any:
        """Every context seen, with its rows and its probabilities, as a table.

        Prefixes of contexts have None in the columns they leave open. The table is of the
        library that `fit` was given, pandas by default.
        """
        check_is_fitted(self)
        tree = self.count_tree_
        node, contexts = np.arange(tree.n_nodes), np.full((tree.n_nodes, tree.depth), None)
        while (node > 0).any():
            inner = np.flatnonzero(node > 0)
            level = tree.level[node[inner]] - 1
            for row, column, code in zip(inner, level, tree.value[node[inner]], strict=True):
                contexts[row, column] = self.categories_[column].labels[code]
            node = np.maximum(tree.parent[node], 0)
        columns: dict[str, Any] = {
            str(name): contexts[:, i].tolist() for i, name in enumerate(self.given_)
        }
        columns["rows" if "rows" not in columns else "rows counted"] = tree.totals
        proba = self._rows(self.probabilities_, np.arange(tree.n_nodes))
        for value, p in zip(self.classes_.tolist(), proba.T, strict=True):
            columns[f"p({value})"] = p
        chosen: Any = backend or self.library_ or "pandas"
        return nw.from_dict(columns, backend=chosen).to_native()

    def _count(
        self, codes: Sequence[NDArray[np.int32]], weight: NDArray[np.float64] | None
    ) -> CountTree:
        arities = [max(1, len(categories.labels)) for categories in self.categories_]
        target = len(codes) - 1
        (tree,) = count_trees(codes, arities, [target], [list(range(target))], weight=weight)
        return tree

    def _evaluator(
        self, codes: Sequence[NDArray[np.int32]], weight: NDArray[np.float64] | None
    ) -> Any:
        def evaluate(
            training: NDArray[np.intp], held: NDArray[np.intp], candidates: Sequence[Smoother]
        ) -> list[float]:
            tree = self._count(
                [column[training] for column in codes],
                None if weight is None else weight[training],
            )
            node = tree.find([column[held] for column in codes[:-1]], n_rows=len(held))
            held_weight = np.ones(len(held)) if weight is None else weight[held]
            losses = []
            for candidate in candidates:
                proba = tree.rows(candidate.smooth(tree), node, candidate.rest)
                losses.append(float(held_weight @ squared_error(proba, codes[-1][held])))
            return losses

        return evaluate

    def _find(self, frame: Any) -> NDArray[np.int32]:
        check_is_fitted(self)
        table = _read_table(frame)
        path = [
            categories.encode(table.nominal(_place(table, name, "given")))
            for name, categories in zip(self.given_, self.categories_, strict=False)
        ]
        return self.count_tree_.find(path, n_rows=table.n_rows)

    def _rows(self, cells: NDArray[np.float64], nodes: NDArray[Any]) -> NDArray[np.float64]:
        return self.count_tree_.rows(cells, nodes, self.smoothing_.rest)


def _read_table(frame: Any) -> RawTable:
    if isinstance(frame, str) or not hasattr(frame, "__len__"):
        raise TypeError(
            "frame must be a pandas, polars or Arrow table, an array or a list of lists, "
            f"got {type(frame).__name__}"
        )
    if len(frame) == 0:
        raise ValueError("frame must have at least one row, got 0")
    if isinstance(frame, np.ndarray) and frame.ndim != 2:
        raise ValueError(f"frame must have 2 dimensions, got {frame.ndim}")
    return RawTable(frame)


def _as_array(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as they are: NumPy would make text of mixed ones, and rows of tuples."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and not issubclass(kinds.pop(), tuple):
        return np.asarray(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _check_given(given: Any, target: Hashable) -> list[Hashable]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"given must be a list of columns, got {given!r}")
    if target in given:
        raise ValueError(f"given must not hold the target, got {target!r} in {list(given)!r}")
    if len(set(given)) < len(given):
        raise ValueError(f"given must name each column once, got {list(given)!r}")
    return list(given)


def _place(table: RawTable, name: Hashable, role: str) -> int:
    if name not in table.names:
        known = ", ".join(repr(known) for known in table.names[:20])
        raise ValueError(f"{role} must name columns of the table ({known}), got {name!r}")
    return table.names.index(name)


def _check_weight(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    checked = np.asarray(weight, dtype=np.float64)
    if checked.shape != (n_rows,):
        raise ValueError(f"sample_weight must have shape ({n_rows},), got {checked.shape}")
    bad = ~np.isfinite(checked) | (checked < 0)
    if bad.any():
        raise ValueError(
            f"sample_weight must be finite and not negative, got {checked[bad][0]} "
            f"in row {int(np.flatnonzero(bad)[0])}"
        )
    if not checked.any():
        raise ValueError("sample_weight must not be zero for every row")
    return checked
