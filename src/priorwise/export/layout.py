"""Fitted classifiers as exports see them: steps, how their rows are read, and their arrays.

A row is read as one number for each feature: a number as it is, NaN if missing, a label as its
code, -1 if unknown. Steps turn these numbers into class probabilities.
"""

from __future__ import annotations

from functools import singledispatch
from itertools import chain
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.counts.packed_trees import EQUAL_BIT, MISSING_BIT, expand_rows
from priorwise.data.encoding import TableEncoder
from priorwise.data.encoding.value_rules import ValueRules, describe_reading
from priorwise.steps.linear.design import MAX_DEVIATION, LinearDesign
from priorwise.steps.linear.gaussians import Gaussians
from priorwise.steps.linear.logistic import Kernel, Pieces
from priorwise.steps.networks.networks import Networks
from priorwise.steps.pool import Boosted, Foreign, Pool, Reread
from priorwise.steps.step import Step
from priorwise.steps.trees import Trees

Ints = NDArray[np.int32]

SCORE_UNIT = 2.0**-24
"""Scores of networks are multiples of this, see the core's score trees; sums of a few are, too."""

N_WAYS = 3
GREATER, NOT_AT_MOST, EQUAL = range(N_WAYS)
"""Ways of a split: a value goes to the second child if it is greater than the threshold; if it is
greater or missing; if it is equal."""


class Arrays(SimpleNamespace):
    """What exports write of a step: the `kind` of the form that it has there, and its arrays."""


class ExportedModel:
    """A fitted classifier: its `step`, and the `readers` of rows for it and for members of pools.

    The first reader is that of the step; members that read rows otherwise have others.
    TypeError, which names the classifier, unless it is one of this library or a pool of such.
    """

    def __init__(self, model: Any) -> None:
        step = getattr(model, "step_", None)
        if step is None and hasattr(model, "fit_table"):
            check_is_fitted(model)
        if step is None:
            raise _refuse_model(type(model).__name__)
        self.step: Step = step
        self.classes: list[Any] = model.classes_.tolist()
        self.features = [str(name) for name in model.feature_labels_]
        self.columns = self.features[: model.n_features_in_]
        self.blank_proba = model.blank_proba
        self.readers: list[list[ValueRules]] = []
        self.steps: list[Step] = []
        self._reader_of: dict[int, int] = {}
        self._names: tuple[str, ...] = model.feature_labels_
        self._add_reader(model.encoder_)
        self._collect(step)

    def _collect(self, step: Step) -> None:
        """List a step, its parts, and the readers of these."""
        if isinstance(step, Foreign):
            raise _refuse_model(step.describe())
        self.steps.append(step)
        parts: tuple[Step, ...] = ()
        if isinstance(step, Reread):
            self._add_reader(step.encoder)
            parts = (step.step,)
        elif isinstance(step, Pool):
            parts = step.members
        elif isinstance(step, Boosted):
            parts = (step.base, step.trees)
        for one in parts:
            self._collect(one)

    def _add_reader(self, encoder: TableEncoder) -> None:
        rules = describe_reading(encoder, self._names)
        # NaN differs from itself, its text does not.
        texts = [repr(known) for known in self.readers]
        if repr(rules) not in texts:
            self.readers.append(rules)
            texts.append(repr(rules))
        self._reader_of[id(encoder)] = texts.index(repr(rules))

    def unwrap(self, step: Step, reader: int) -> tuple[Step, int]:
        """Return the step inside of those that read rows by encoders of their own, its reader."""
        while isinstance(step, Reread):
            reader, step = self._reader_of[id(step.encoder)], step.step
        return step, reader

    def lay_out(self, step: Step, reader: int) -> Arrays:
        """Return the arrays of a step whose rows are read by a reader."""
        is_nominal = [rules.is_nominal and not rules.is_ordered for rules in self.readers[reader]]
        nominal = np.flatnonzero(is_nominal)
        numeric = np.setdiff1d(np.arange(len(is_nominal)), nominal)
        return lay_out(step, whole(nominal), whole(numeric))


class StepWriter:
    """Writes the steps of a model: those that a step needs first, then the step itself.

    A writer has a method for each form of arrays, such as `add_trees(arrays, reader)`; for pools
    `add_pool(step, members, reader)` and `add_boosted(base, trees, reader)`, which take what
    `finish` returned for the members.
    """

    METHODS: ClassVar[dict[str, str]] = {
        "Trees": "add_trees",
        "Networks": "add_networks",
        "Pieces": "add_pieces",
        "Landmarks": "add_landmarks",
        "QuadraticForms": "add_quadratic_forms",
    }

    def __init__(self, model: ExportedModel) -> None:
        self.model = model

    def add_step(self, step: Step, reader: int = 0) -> Any:
        """Add a step and those that it needs; return what stands for its probabilities."""
        step, reader = self.model.unwrap(step, reader)
        writer: Any = self
        if isinstance(step, Pool):
            members = [self.add_step(member, reader) for member in step.members]
            return self.finish(writer.add_pool(step, members, reader))
        if isinstance(step, Boosted):
            base, trees = self.add_step(step.base, reader), self.add_step(step.trees, reader)
            return self.finish(writer.add_boosted(base, trees, reader))
        arrays = self.model.lay_out(step, reader)
        return self.finish(getattr(self, self.METHODS[arrays.kind])(arrays, reader))

    def finish(self, content: Any) -> Any:
        """Add what a method has written of a step; return what stands for its probabilities."""
        return content


def _refuse_model(name: str) -> TypeError:
    return TypeError(
        f"model must be a classifier of priorwise or a pool of such classifiers, got a {name}"
    )


def whole(values: Any) -> Ints:
    """Return numbers as the whole numbers of exports."""
    return np.asarray(values, dtype=np.int32)


@singledispatch
def lay_out(step: Any, nominal: Ints, numeric: Ints) -> Arrays:
    """Return the arrays of a step in one of the forms that all exports can write.

    `nominal` and `numeric` are the places of such features. `lay_out.register` takes a function for
    another class of steps.
    """
    raise TypeError(
        f"a step of the kind {type(step).__name__} has no layout: export it as JSON instead"
    )


@lay_out.register(Trees)
def _lay_out_trees(step: Trees, nominal: Ints, numeric: Ints) -> Arrays:
    """Binary trees whose leaves have a row of `values` each; the result is their scaled sum.

    Children, `below` and `above`, and roots are numbers of nodes, or ~row of a leaf, which is
    negative. The nodes of a tree follow each other level by level, and so do its leaves. At a node
    with a `bandwidth` above zero a part of the row goes either way, as `Trees` describes; the array
    is empty if no node has one. With `normalise` the result is divided by its sum.
    """
    forest = step.trees
    nodes, start, inner = forest.nodes, forest.tree_start, ~forest.is_leaf
    # Nodes are counted from 0 on and leaves from ~0 down, each in their order.
    number = np.where(inner, np.cumsum(inner) - 1, ~(np.cumsum(~inner) - 1)).astype(np.int32)
    first = (np.repeat(start[:-1], np.diff(start)) + nodes["first"])[inner]
    split, threshold = nodes["split"][inner], nodes["threshold"][inner].copy()
    greater = np.where(split & MISSING_BIT, NOT_AT_MOST, GREATER)
    bandwidth = np.zeros(0)
    if len(step.bandwidth):
        soft = np.where(np.isfinite(threshold), step.bandwidth[inner], 0.0)
        bandwidth = soft if soft.any() else bandwidth
    return Arrays(
        kind="Trees",
        root=number[start[:-1]],
        feature=whole(split >> 4),
        threshold=threshold,
        way=whole(np.where(split & EQUAL_BIT, EQUAL, greater)),
        below=number[first],
        above=number[first + 1],
        values=expand_rows(step.rows)[~inner],
        scale=step.factor / step.n_trees,
        normalise=step.normalise,
        bandwidth=bandwidth,
    )


_OF_FACTORS = (
    "column", "n_outcomes", "n_parents", "n_contexts", "n_entries", "n_cells",
    "rest_towards_parent", "is_dense", "path", "value", "child_start", "entry_start", "entry_class",
    "cell_start", "outcome", "rest", "score",
)  # fmt: skip
"""Arrays of a `FactorProduct` that follow each other: one number for each factor, or several."""


@lay_out.register(Networks)
def _lay_out_networks(step: Networks, nominal: Ints, numeric: Ints) -> Arrays:
    """Bayesian networks: the mean of their class probabilities, or AODE's sum.

    Network i cuts the numeric features at the set `cut_set[i]` of cut points: set s of numeric
    feature j has `n_cuts[s, j]` points of `cuts`. A number is read as how many points lie below it;
    a missing one as the number of points plus one, or as -1 unless `has_missing`. The factors of
    all networks follow each other, `n_factors` for each; their arrays are those of `FactorProduct`.

    If `guards` is not empty it holds for all networks but the last, one after the other, whether
    each code of the first factor's feature is frequent enough for the network to be used. The joint
    probabilities of those are added up; if there are none, the last network answers.
    """
    products = step.products
    arrays = {
        name: np.concatenate([getattr(product, name) for product in products])
        for name in _OF_FACTORS
    }
    return Arrays(
        kind="Networks",
        numeric=numeric,
        has_missing=step.missing_seen,
        cut_set=whole(np.arange(len(products)) % len(step.cuts)),
        n_cuts=np.stack([cuts.n_points for cuts in step.cuts]),
        cuts=np.concatenate([cuts.points for cuts in step.cuts]),
        log_prior=np.array([product.log_prior for product in products]),
        n_factors=whole([len(product.column) for product in products]),
        guards=whole(np.concatenate([np.empty(0, dtype=bool), *step.guards])),
        **{name: one if one.dtype.kind == "f" else whole(one) for name, one in arrays.items()},
    )


def list_factors(networks: Arrays) -> list[Arrays]:
    """Return the part of each factor of the arrays; entries list the outcomes of their cells."""
    n_contexts, n_entries, n_cells = networks.n_contexts, networks.n_entries, networks.n_cells
    sizes = {"path": networks.n_parents, "value": n_contexts}
    sizes |= dict.fromkeys(("child_start", "entry_start"), n_contexts + 1)
    sizes |= dict.fromkeys(("entry_class", "rest"), n_entries)
    is_sparse = 1 - networks.is_dense
    sizes |= {"cell_start": is_sparse * (n_entries + 1), "outcome": is_sparse * n_cells}
    sizes["score"] = n_cells
    parts = {
        name: np.split(getattr(networks, name), np.cumsum(lengths)[:-1])
        for name, lengths in sizes.items()
    }
    factors = []
    for f, n_outcomes in enumerate(networks.n_outcomes.tolist()):
        factor = Arrays(n_outcomes=n_outcomes, **{name: part[f] for name, part in parts.items()})
        factor.rest_towards_parent = bool(networks.rest_towards_parent[f])
        if networks.is_dense[f]:
            factor.cell_start = whole(np.arange(n_entries[f] + 1) * n_outcomes)
            factor.outcome = whole(np.tile(np.arange(n_outcomes), n_entries[f]))
        factors.append(factor)
    return factors


def trace_entries(factor: Arrays, n_classes: int) -> tuple[Ints, Ints, Ints]:
    """Return, for each entry, that of its class in the nearest context above, or the first.

    Then the level of each entry: 0 for the first, that of all classes; 1 without parents; and for
    each context and class, the entry of the nearest context from there on up.
    """
    n_contexts = len(factor.value)
    context = np.repeat(np.arange(n_contexts), np.diff(factor.entry_start))
    parent = np.append(0, np.repeat(np.arange(n_contexts), np.diff(factor.child_start)))
    above, level = np.zeros((2, len(context)), dtype=np.int32)
    nearest = np.zeros((n_contexts, n_classes), dtype=np.int32)
    # Contexts follow each other level by level, and so do their entries.
    first, last, depth = 0, 1, 1
    while first < last:
        nearest[first:last] = nearest[parent[first:last]]
        entry = np.arange(max(1, factor.entry_start[first]), factor.entry_start[last])
        place = (context[entry], factor.entry_class[entry])
        above[entry], level[entry] = nearest[place], depth
        nearest[place] = entry
        first, last, depth = factor.child_start[first], factor.child_start[last], depth + 1
    return above, level, nearest


def _lay_out_scale(design: LinearDesign, used: Any = slice(None)) -> dict[str, Any]:
    """Return by what the `used` numbers are standardised.

    `logs` say which are read as logarithms: see `Logarithms`; None if no number is.
    """
    logs: Any = design.logs
    if logs is not None:
        logs = Arrays(**{name: getattr(logs, name)[used] for name in ("sign", "shift", "least")})
        logs = logs if logs.sign.any() else None
    mean, scale = design.mean[used], design.scale[used]
    return {"logs": logs, "mean": mean, "scale": scale, "max_deviation": MAX_DEVIATION}


@lay_out.register(Pieces)
def _lay_out_pieces(step: Pieces, nominal: Ints, numeric: Ints) -> Arrays:
    """Softmax of scores that are a constant per label and a piecewise quadratic per number.

    The arrays are those of `PiecewiseScore`; `nominal` and `numeric` are the features.
    """
    names = (
        "intercept", "label_score", "mean", "scale", "max_deviation", "first_value", "left",
        "coefficient", "missing_score",
    )  # fmt: skip
    return Arrays(
        kind="Pieces",
        nominal=nominal,
        numeric=numeric,
        logs=None,
        first_label=whole(step.score.first_label),
        first_piece=whole(step.score.first_piece),
        **{name: getattr(step.score, name) for name in names},
    )


@lay_out.register(Kernel)
def _lay_out_kernel(step: Kernel, nominal: Ints, numeric: Ints) -> Arrays:
    """Softmax of scores that are weighted sums of the likeness exp(-rate d^2) to landmarks.

    `landmark_codes` has a row for each nominal feature, -1 where a label is unknown, then one for
    each numeric feature in `missing`, 0 where the number is missing and else -1; `landmark_values`
    has a row for each numeric feature.
    """
    design = step.design
    n_labels = np.concatenate([design.n_labels, np.ones(len(design.missing), dtype=np.int64)])
    first = np.cumsum(n_labels) - n_labels
    return Arrays(
        kind="Landmarks",
        nominal=nominal,
        numeric=numeric,
        missing=whole(design.missing),
        **_lay_out_scale(design),
        landmark_codes=whole(np.where(step.index < 0, -1, step.index - first[:, None])),
        landmark_values=step.value,
        rate=step.rate,
        intercept=step.intercept,
        coefficient=step.coefficient,
    )


@lay_out.register(Gaussians)
def _lay_out_gaussians(step: Gaussians, nominal: Ints, numeric: Ints) -> Arrays:
    """Softmax of scores that are a constant per label and quadratic forms of the numbers.

    The form of a row and a class is that of the class, or of the labels of `parents`, which are
    features: from form g of level l, label c leads to `child[first_child[l] +
    (g - first_form[l]) * n_labels[l] + c]`, or is the last step if that is -1. With the steps
    s of the standardised numbers from its `centre`, a form adds its `constant` and the sum over
    j <= i of s_i s_j times `form`, which has the pairs (0, 0), (1, 0), (1, 1), (2, 0) and so on.
    """
    gaussians = step.gaussians
    power, label_power = step.powers.tolist()
    row, column = np.tril_indices(len(step.used))
    form = gaussians.precision[:, row, column] * np.where(row == column, -0.5, -1.0)
    # Constants are those beyond the one of the class, the first Gaussian on the way.
    first = np.arange(len(gaussians.mean)) % step.n_classes
    for place, child in enumerate(chain(*gaussians.children)):
        first[child[child >= 0]] = first[place]
    constant = gaussians.log_constant - gaussians.log_constant[first]
    tables = [label_power * table.ravel() for table in step.tables]
    n_before = [len(child) for child in gaussians.children]
    n_children = [child.size for child in gaussians.children]
    return Arrays(
        kind="QuadraticForms",
        nominal=nominal[: len(tables)],
        numeric=numeric[step.used],
        intercept=step.log_prior + power * gaussians.log_constant[: step.n_classes],
        first_label=whole(np.cumsum([0, *(len(table) for table in step.tables)])),
        label_score=np.concatenate([np.empty(0), *tables]),
        **_lay_out_scale(step.design, step.used),
        parents=nominal[step.parents],
        n_labels=whole([child.shape[1] for child in gaussians.children]),
        first_form=whole(np.cumsum(n_before) - n_before),
        first_child=whole(np.cumsum(n_children) - n_children),
        child=whole(np.concatenate([np.empty(0), *map(np.ravel, gaussians.children)])),
        constant=power * constant,
        centre=gaussians.mean,
        form=power * form,
    )


def list_levels(forms: Arrays) -> list[tuple[int, int, Ints]]:
    """Return each parent of quadratic forms, the first form of its level, and rows of children."""
    ends = np.append(forms.first_child, len(forms.child))
    return [
        (feature, int(first), forms.child[ends[level] : ends[level + 1]].reshape(-1, n_labels))
        for level, (feature, first, n_labels) in enumerate(
            zip(forms.parents.tolist(), forms.first_form, forms.n_labels, strict=True)
        )
    ]
