"""Valid calls of every function, constructor and method of the core, to be changed by a fuzzer.

Most are recorded while small models learn and predict; the few that models do not make are written
down here.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from contract.settings import BY_NAME
from priorwise import (
    AODEClassifier,
    BayesianNetwork,
    ESKDBClassifier,
    KDBClassifier,
    ProbabilityForestClassifier,
    _core,
)
from priorwise.common.container import from_bytes, to_bytes
from priorwise.counts import CodedRows, CountTree
from priorwise.smoothing import HGS, MEstimate, PitmanYor
from priorwise.storage.model_file import list_states
from priorwise.structure.networks import Network, NetworkCounts, SubmodelScorer
from priorwise.structure.trees import C45

MAX_CALLS = 12
"""Calls of one kernel that are kept."""
MAX_CALLS_OF_MODEL = 2
MAX_BYTES = 60_000
"""Arguments of a call that is kept are not larger."""


@dataclass(frozen=True)
class Call:
    """A function of the core, its name there, and valid arguments."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def run(self, arguments: Iterable[Any]) -> Any:
        """Call the function with these arguments, by their names where it takes no others."""
        if takes_names_only(self.name):
            return self.function(**dict(zip(argument_names(self.name), arguments, strict=False)))
        return self.function(*arguments)


@dataclass
class Corpus:
    """Valid calls by the name of what is called, and their arguments by type."""

    calls: dict[str, list[Call]] = field(default_factory=dict)
    values: dict[Any, list[Any]] = field(default_factory=dict)

    def add(self, call: Call) -> None:
        """Keep a call, and one of the constructor of each structure among its arguments."""
        self.calls.setdefault(call.name, []).append(call)
        for value in call.arguments:
            self._add_value(value)

    def relatives(self, value: Any) -> list[Any]:
        """Arguments of other calls that have the type of a value."""
        return self.values.get(kind_of(value), [])

    def _add_value(self, value: Any) -> None:
        self.values.setdefault(kind_of(value), []).append(value)
        for entry in value if isinstance(value, list | tuple) else ():
            self._add_value(entry)
        arguments = constructor_arguments(value)
        if arguments is not None:
            kind = bound_class(value)
            assert kind is not None
            if len(self.calls.setdefault(kind.__name__, [])) < MAX_CALLS:
                self.add(Call(kind.__name__, kind, arguments))


def bound_class(value: Any) -> type | None:
    """The class of the core that an object is of, if any."""
    for kind in type(value).__mro__:
        if kind.__module__ == _core.__name__:
            return kind
    return None


def constructor_arguments(value: Any) -> tuple[Any, ...] | None:
    """The arguments that build an object of the core again, if it is one and can be pickled."""
    kind = bound_class(value)
    if kind is None or "__reduce__" not in vars(kind):
        return None
    return vars(kind)["__reduce__"](value)[1]


def kind_of(value: Any) -> Any:
    """What values must share to be put in each other's place."""
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim
    if isinstance(value, list | tuple):
        return list, kind_of(value[0]) if value else None
    return bound_class(value) or type(value)


def copy_argument(value: Any) -> Any:
    """A copy of arrays and lists; other arguments cannot be changed by a call."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        return type(value)(copy_argument(entry) for entry in value)
    return value


def size_of(value: Any) -> int:
    """Bytes of the arrays in an argument."""
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    return value.nbytes if isinstance(value, np.ndarray) else 0


@contextmanager
def recording(corpus: Corpus) -> Iterator[None]:
    """Add the calls of functions and constructors of the core to a corpus."""
    n_earlier = {name: len(calls) for name, calls in corpus.calls.items()}
    replaced: list[tuple[Any, str, Any]] = []

    def is_wanted(name: str, arguments: tuple[Any, ...]) -> bool:
        n_calls = len(corpus.calls.get(name, []))
        n_new = n_calls - n_earlier.get(name, 0)
        return n_calls < MAX_CALLS and n_new < MAX_CALLS_OF_MODEL and size_of(arguments) < MAX_BYTES

    def watched(name: str, function: Any, *, is_method: bool) -> Any:
        names = argument_names(name)

        def watch(*arguments: Any, **named: Any) -> Any:
            target = getattr(_core, name) if is_method else function
            ordered = [named[word] for word in sorted(named, key=names.index)]
            given = (*arguments[is_method:], *ordered)
            call = None
            if is_wanted(name, given):
                call = Call(name, target, tuple(map(copy_argument, given)))
            result = function(*arguments, **named)
            if call is not None:
                corpus.add(call)
            return result

        return watch

    for name, function in public_names().items():
        owner: Any = _core
        attribute = name
        if inspect.isclass(function):
            owner, attribute, function = function, "__init__", vars(function)["__init__"]
        replaced.append((owner, attribute, function))
        setattr(owner, attribute, watched(name, function, is_method=owner is not _core))
    try:
        yield
    finally:
        for owner, attribute, function in replaced:
            setattr(owner, attribute, function)


def public_names() -> dict[str, Any]:
    """Functions and classes of the core by name."""
    return {name: getattr(_core, name) for name in dir(_core) if not name.startswith("_")}


def public_methods() -> list[str]:
    """Methods of the classes of the core, other than their constructors."""
    return [
        f"{name}.{method}"
        for name, kind in public_names().items()
        if inspect.isclass(kind)
        for method, function in vars(kind).items()
        if callable(function) and not method.startswith("_")
    ]


def signature_of(name: str) -> list[str]:
    """What stands between the brackets of the signature of a kernel."""
    function = getattr(_core, name, None)
    text = getattr(function, "__init__", None) if inspect.isclass(function) else function
    signature = (text.__doc__ or "").splitlines()[-1] if function is not None else ""
    if not signature.startswith(f"{name}("):
        return []
    return signature[len(name) + 1 : -1].split(", ")


def argument_names(name: str) -> list[str]:
    """Names of the arguments of a kernel, in order."""
    return [word for word in signature_of(name) if word != "*"]


def call_queries() -> None:
    """Ask a small network everything."""
    network = BayesianNetwork([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], smoothing="laplace")
    network.fit(pd.DataFrame([[0, 1, 0, 1], [1, 1, 2, 0], [0, 0, 1, 1]], columns=list("abcd")))
    for given in ({}, {"d": 1}):
        network.query(["a", "b"], given)
        network.query(["a", "b"], given, joint=False)
        network.map_query(["a"], given)
        network.sample(3, given, random_state=0)


def takes_names_only(name: str) -> bool:
    """Whether all arguments of a kernel must be given by their names."""
    return signature_of(name)[:1] == ["*"]


@cache
def valid_calls() -> Corpus:
    """Return the calls that small models make, and those that only tests make."""
    corpus = Corpus()
    X, y, weights = make_rows()
    with warnings.catch_warnings(action="ignore"):
        for setting in BY_NAME.values():
            for weight in (None, *weights):
                options = {} if weight is None else {"sample_weight": weight}
                # The sampler refuses real weights.
                with recording(corpus), suppress(ValueError):
                    model = setting.fit(X, y, **options)
                    model.predict_proba(X)
                    if hasattr(model, "explain"):
                        model.explain(X.iloc[:3])
                    if hasattr(model, "predict_interval"):
                        model.predict_interval(X.iloc[:3])
        frame = X.assign(label=y)
        for model in (KDBClassifier(2), AODEClassifier(), ESKDBClassifier(2, random_state=0)):
            with recording(corpus):
                model.fit_dataset(frame, "label", batch_rows=15)
        with recording(corpus):
            call_directly(corpus)
    return corpus


def call_with(name: str, changes: dict[str, Any]) -> Any:
    """Make the first valid call of a function with some arguments changed."""
    call = valid_calls().calls[name][0]
    arguments = dict(zip(argument_names(name), map(copy_argument, call.arguments), strict=True))
    assert set(changes) <= set(arguments)
    return call.function(**arguments | changes)


def make_rows() -> tuple[pd.DataFrame, np.ndarray, list[np.ndarray]]:
    """A small table, its classes, and whole and real weights."""
    rng = np.random.default_rng(0)
    n_rows = 40
    y = rng.integers(0, 3, n_rows)
    columns = {
        "number": rng.normal(size=n_rows) + y,
        "label": rng.choice(list("uvw"), n_rows),
        "whole": rng.integers(0, 4, n_rows) + 0.5 * y,
        "gaps": np.where(rng.random(n_rows) < 0.2, np.nan, y + rng.normal(size=n_rows)),
    }
    weights = [rng.integers(1, 4, n_rows).astype(float), rng.uniform(0.5, 2.0, n_rows)]
    return pd.DataFrame(columns), y, weights


def rules_arguments(max_leaves: int, monotone: np.ndarray) -> dict[str, Any]:
    """Rules of boosting by trees of at most some leaves, or by symmetric trees for 0."""
    return {
        "max_depth": 3, "max_leaves": max_leaves, "symmetric": max_leaves == 0, "rate": 0.3,
        "l2": 1.0, "min_hessian": 0.1, "max_rounds": 5, "patience": 9, "max_seconds": np.inf,
        "row_share": 0.7, "column_share": 0.7, "seed": 1,
        "scales": np.array([0.25, 0.5, 0.75, 1.0]), "monotone": monotone,
    }  # fmt: skip


def call_directly(corpus: Corpus) -> None:
    """Call what small models don't call."""
    rng = np.random.default_rng(1)
    n_rows = 40
    y = rng.integers(0, 3, n_rows).astype(np.int32)
    codes = [rng.integers(0, 4, n_rows).astype(np.int32) for _ in range(2)]
    columns: list[np.ndarray] = [rng.normal(size=n_rows), codes[0]]
    offset, folds = np.log(rng.dirichlet(np.ones(3), n_rows)), (np.arange(n_rows) % 5).astype("i4")
    free, bound = np.empty(0, dtype=np.int32), np.array([1, 0], dtype=np.int32)
    for weight, k, monotone in ((None, 3, free), (np.ones(n_rows), 2, bound)):
        rules = _core.BoostingRules(**rules_arguments(5 * (k == 2), monotone))
        _core.boost(columns, y % k, weight, offset[:, :k].copy(), folds, 6, rules, 1)
        bins, edges = rng.integers(0, 4, (n_rows, 2)).astype(np.uint8), np.array([0.5, 1.5, 2.5])
        score = offset[:, : k - (k == 2)].astype(np.float32)
        _core.boost_coded(
            bins, [edges, np.arange(3.0)], np.array([0, 1], dtype=np.int32), y % k, weight, score,
            9, _core.BoostingRules(**rules_arguments(5 * (k == 3), monotone)), 1,
        )  # fmt: skip
    _core.choose_boost_bins(columns, n_rows, 63, 1)
    seeds = np.arange(2, dtype=np.uint64)
    for group in (None, y % 3):
        _core.grow_random_forest(
            columns, y % 2, 2, None, None, 0.7, 1.0, 5, 0, 2, seeds, bound, group, 1
        )
    table_of_columns = _core.SortedColumns(columns, n_rows, 1)
    _core.grow_best_tree(
        table_of_columns, y % 2, 2, None, None, "gain", 1.0, 0.0, False, False, 5, 0, free, bound,
        0, 1,
    )  # fmt: skip
    for growth in (C45(), C45(nominal_splits="one-value")):
        soft, _ = growth.grow(table_of_columns, y % 2, 2)
        soft.blend(columns, n_rows, soft.counts.count_rows(), np.ones(soft.n_nodes))
    planes = rng.integers(0, 2**63, (2, 4, 64)).astype(np.uint64)
    _core.shared_bits("portable", planes[0], planes[1])
    table: tuple[Any, Any, Any, int] = (np.array(codes), np.full(2, 4, dtype=np.int32), y, 3)
    ones = np.ones(n_rows)
    for whole, real in ((None, None), (ones.astype(np.int64), None), (None, ones)):
        pairs = _core.WidePairs(*table, whole, real, 1)
        _core.measure_pairs(pairs, 0, np.array([1, 0]), 1)
    for weight in (None, ones):
        arities = np.full(3, 4, dtype=np.int32)
        _core.climb_hill([*codes, y], arities, weight, "bic", 10.0, 2, 3, 1)
        _core.climb_hill([*codes, y], arities, weight, "bdeu", 1.0, 2, 0, 1)
    call_queries()
    _core.fold_crc32(rng.integers(0, 256, 300).astype(np.uint8), 7)
    _core.are_distributions(rng.dirichlet(np.ones(3), 9))
    _core.stirling_ratio(1000, 20)
    _core.discounted_stirling_ratio(1000, 20, 0.5)
    _core.log_discounted_stirling(1000, 200, 0.5)
    small = CountTree.from_rows(codes, y, 3)
    for smoother in (
        PitmanYor(),
        PitmanYor("gibbs", n_iter=3, n_burn_in=1),
        PitmanYor("gibbs", discount=0.3, n_iter=3, n_burn_in=1),
    ):
        smoother.smooth(small)
    for dense in (True, False):
        tree = CountTree.from_rows(codes, y, 3 if dense else 5000)
        HGS("published").smooth(tree)
    many = np.arange(150) % 75
    forest = ProbabilityForestClassifier(2, splitter="random", random_state=0)
    forest.fit(many[:, None] + rng.random((150, 2)), many).predict_proba(rng.random((3, 2)) * 75)
    assert len(forest.node_proba_) == 2
    for trees in corpus.values[_core.PackedTrees][:2]:
        _core.find_forest_leaves(trees, [*columns, columns[0], columns[0]], n_rows, 1)
    models = [forest, ESKDBClassifier(2, max_parents=1, random_state=0).fit(np.array(codes).T, y)]
    for model in models:
        content = to_bytes(model, kind="model", states=list_states())
        from_bytes(content, kind="model", states=list_states())
    # Only the constructors of subclasses are recorded.
    corpus.add(Call("SubmodelLosses", _core.SubmodelLosses, submodel_arguments(codes, y)))
    for listed in (columns, codes):
        corpus.add(Call("SortedColumns", _core.SortedColumns, (listed, n_rows, 1)))
    for real in (None, ones):
        corpus.add(Call("WidePairs", _core.WidePairs, (*table, None, real, 1)))
    pair = ([np.zeros(0, np.int32), np.zeros(1, np.int32)], [np.full(2, 0.5), np.full(6, 1 / 3)])
    corpus.add(Call("NetworkTables", _core.NetworkTables, (np.array([2, 3], np.int32), *pair)))
    for weight in (None, ones):
        counted = ([codes[0], codes[1], y], np.array([4, 4, 3], dtype=np.int32), weight, 3)
        corpus.add(
            Call("FactorTrees", _core.FactorTrees, (*counted, [0, 1], [[], [0]], 16, 100, 900))
        )
    for max_leaves, monotone in ((0, free), (5, bound)):
        given = tuple(rules_arguments(max_leaves, monotone).values())
        corpus.add(Call("BoostingRules", _core.BoostingRules, given))
    for function in (lambda item: None, abs, lambda item: 1 // 0):
        corpus.add(Call("map_in_threads", call_in_threads, (function, [1, 2, 3], 2)))


def submodel_arguments(codes: list[np.ndarray], y: np.ndarray) -> tuple[Any, ...]:
    """What describes the sub-models of a network in which one feature depends on another."""
    arities = np.full(2, 4, dtype=np.int32)
    counts = NetworkCounts.count(Network(((), (0,)), (0, 1)), CodedRows(codes, arities, y, 3))
    scorer = SubmodelScorer.prepare(counts, MEstimate())
    parts = (scorer.factors, scorer.weights, scorer.estimates, scorer.towards_parent)
    return (*parts, scorer.class_count, 1, "squared", True)


def call_in_threads(function: Any, items: Any, n_jobs: Any) -> None:
    """Call a function on several threads; the hundredth call fails."""
    calls: list[Any] = []

    def call(item: Any) -> None:
        calls.append(item)
        if len(calls) > 100:
            raise ValueError("items are many enough")
        try:
            function(item)
        except Exception as error:
            raise ValueError("function raises") from error

    _core.map_in_threads(call if callable(function) else function, items, n_jobs=n_jobs)
