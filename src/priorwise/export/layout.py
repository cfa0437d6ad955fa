"""Fitted classifiers as programs: every kind of step laid out as arrays that exports write."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatchmethod
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.counts.packed_trees import EQUAL_BIT, MISSING_BIT, expand_rows
from priorwise.data.tables import TableEncoder
from priorwise.data.tables.value_rules import ValueRules, describe_reading
from priorwise.export import program
from priorwise.export.cell_counts import find_cell_counts
from priorwise.export.leaf_counts import find_leaf_counts
from priorwise.steps.linear.design import MAX_DEVIATION, LinearDesign
from priorwise.steps.linear.gaussians import Gaussians
from priorwise.steps.linear.kernel import Kernel
from priorwise.steps.linear.pieces import Pieces
from priorwise.steps.networks.networks import Networks
from priorwise.steps.pool import Boosted, Pool, Reread
from priorwise.steps.step import Step
from priorwise.steps.trees import Trees

_PER_FACTOR = (
    "column", "n_outcomes", "n_parents", "n_contexts", "n_entries", "n_cells",
    "rest_towards_parent", "is_dense",
)  # fmt: skip
_PER_CELL = (
    "path", "value", "child_start", "entry_start", "entry_class", "cell_start", "outcome",
)  # fmt: skip


def lay_out_model(model: Any, *, inner_rows: bool = False) -> program.Program:
    """Return the program of a fitted classifier; trees have rows of inner nodes if asked for.

    TypeError, which names the classifier, if there is none: only classifiers of this library and
    pools of them have one.
    """
    step = getattr(model, "step_", None)
    if step is None and hasattr(model, "fit_table"):
        check_is_fitted(model)
    if step is None:
        raise _refuse(type(model).__name__)
    layout = Layout(model.encoder_, model.feature_labels_, inner_rows=inner_rows)
    root = layout.lay_out(step)
    names = [str(name) for name in model.feature_labels_]
    return program.Program(model.classes_.tolist(), names, layout.readers, root)


def _refuse(name: str) -> TypeError:
    return TypeError(
        f"model must be a classifier of priorwise or a pool of such classifiers, got a {name}"
    )


class Layout:
    """Lays out steps whose rows an encoder reads; collects the ways to read a row."""

    def __init__(self, encoder: TableEncoder, names: tuple[str, ...], *, inner_rows: bool) -> None:
        self.readers: list[list[ValueRules]] = []
        self._names = names
        self._inner_rows = inner_rows
        self._use(encoder)

    def _use(self, encoder: TableEncoder) -> None:
        """Read rows by an encoder from now on."""
        self._nominal = _whole(np.flatnonzero(encoder.is_nominal_))
        self._numeric = _whole(np.flatnonzero(~encoder.is_nominal_))
        self._encoder = encoder
        rules = describe_reading(encoder, self._names)
        # NaN differs from itself, its text does not.
        texts = [repr(known) for known in self.readers]
        if repr(rules) not in texts:
            self.readers.append(rules)
            texts.append(repr(rules))
        self._reader = texts.index(repr(rules))

    def lay_out(self, step: Step) -> program.Model:
        """Return a step, laid out, and by which of the readers its rows are read."""
        if isinstance(step, Reread):
            outer = self._encoder
            self._use(step.encoder)
            inside = self.lay_out(step.step)
            self._use(outer)
            return inside
        return program.Model(self._reader, self._visit(step))

    @singledispatchmethod
    def _visit(self, step: Step) -> program.Step:
        raise _refuse(step.describe())

    @_visit.register
    def _(self, step: Pool) -> program.Step:
        members = [self.lay_out(member) for member in step.members]
        return program.Pool(members, step.weight, step.intercept, step.floor)

    @_visit.register
    def _(self, step: Boosted) -> program.Step:
        base: Any = self._visit(step.base)
        trees: Any = self._visit(step.trees)
        return program.Boosted(base, trees, LEAST_PROBABILITY)

    @_visit.register
    def _(self, step: Trees) -> program.Step:
        forest, rows = step.trees, expand_rows(step.rows)
        nodes, start, inner = forest.nodes, forest.tree_start, ~forest.is_leaf
        # Nodes are counted from 0 on and leaves from ~0 down, each in their order.
        number = _whole(np.where(inner, np.cumsum(inner) - 1, ~(np.cumsum(~inner) - 1)))
        first = (np.repeat(start[:-1], np.diff(start)) + nodes["first"])[inner]
        split, threshold = nodes["split"][inner], nodes["threshold"][inner].copy()
        greater = np.where(split & MISSING_BIT, program.NOT_AT_MOST, program.GREATER)
        bandwidth, counts, scale = np.zeros(0), None, step.factor / step.n_trees
        if len(step.bandwidth):
            soft = np.where(np.isfinite(threshold), step.bandwidth[inner], 0.0)
            bandwidth = soft if soft.any() else bandwidth
        elif step.strength > 0.0 and step.n_classes > 2:
            # Rows of two classes take little room, and browsers read them faster than counts.
            counts = find_leaf_counts(forest, rows, step.strength, scale)
        return program.Trees(
            root=number[start[:-1]],
            feature=_whole(split >> 4),
            threshold=threshold,
            way=_whole(np.where(split & EQUAL_BIT, program.EQUAL, greater)),
            below=number[first],
            above=number[first + 1],
            values=rows[~inner],
            scale=scale,
            normalise=step.normalise,
            bandwidth=bandwidth,
            inner=rows[inner] if self._inner_rows else None,
            counts=counts,
        )

    @_visit.register
    def _(self, step: Pieces) -> program.Step:
        score = step.score
        return program.Pieces(
            self._nominal, self._numeric, score.intercept, _whole(score.first_label),
            score.label_score, None, score.mean, score.scale, score.max_deviation,
            _whole(score.first_piece), score.first_value, score.left, score.coefficient,
            score.missing_score,
        )  # fmt: skip

    @_visit.register
    def _(self, step: Kernel) -> program.Step:
        design = step.design
        n_labels = np.concatenate([design.n_labels, np.ones(len(design.missing), dtype=np.int64)])
        first = np.cumsum(n_labels) - n_labels
        codes = np.where(step.index < 0, -1, step.index - first[:, None])
        return program.Kernel(
            self._nominal, self._numeric, _whole(design.missing), _lay_out_logs(design),
            design.mean, design.scale, MAX_DEVIATION, _whole(codes), step.value, step.rate,
            step.intercept, step.coefficient,
        )  # fmt: skip

    @_visit.register
    def _(self, step: Gaussians) -> program.Step:
        gaussians, used, design = step.gaussians, step.used, step.design
        power, label_power = step.powers.tolist()
        n_values, n_classes = len(used), step.n_classes
        row, column = np.tril_indices(n_values)
        form = gaussians.precision[:, row, column] * np.where(row == column, -0.5, -1.0)
        # Constants are those beyond the one of the class, the first Gaussian on the way.
        first = np.arange(len(gaussians.mean)) % n_classes
        for number, child in enumerate(chain(*gaussians.children)):
            first[child[child >= 0]] = first[number]
        constant = gaussians.log_constant - gaussians.log_constant[first]
        tables = [label_power * table.ravel() for table in step.tables]
        n_before = [len(child) for child in gaussians.children]
        n_children = [child.size for child in gaussians.children]
        return program.Gaussians(
            nominal=self._nominal[: len(tables)],
            numeric=self._numeric[used],
            intercept=step.log_prior + power * gaussians.log_constant[:n_classes],
            first_label=_whole(np.cumsum([0, *(len(table) for table in step.tables)])),
            label_score=np.concatenate([np.empty(0), *tables]),
            logs=_lay_out_logs(design, used),
            mean=design.mean[used],
            scale=design.scale[used],
            max_deviation=MAX_DEVIATION,
            parents=self._nominal[step.parents],
            n_labels=_whole([child.shape[1] for child in gaussians.children]),
            first_gaussian=_whole(np.cumsum(n_before) - n_before),
            first_child=_whole(np.cumsum(n_children) - n_children),
            child=_whole(np.concatenate([np.empty(0), *map(np.ravel, gaussians.children)])),
            constant=power * constant,
            centre=gaussians.mean,
            form=power * form,
        )

    @_visit.register
    def _(self, step: Networks) -> program.Step:
        """The networks one after the other; a single set of cut points serves all of them."""
        products = step.products
        arrays: dict[str, Any] = {
            name: _whole(np.concatenate([getattr(product, name) for product in products]))
            for name in (*_PER_FACTOR, *_PER_CELL)
        }
        networks = program.Networks(
            numeric=self._numeric,
            has_missing=step.missing_seen,
            cut_set=_whole(np.arange(len(products)) % len(step.cuts)),
            n_cuts=np.stack([cuts.n_points for cuts in step.cuts]),
            cuts=np.concatenate([cuts.points for cuts in step.cuts]),
            log_prior=np.array([product.log_prior for product in products]),
            n_factors=_whole([len(product.column) for product in products]),
            rest=np.concatenate([product.rest for product in products]),
            score=np.concatenate([product.score for product in products]),
            guards=_whole(np.concatenate([np.empty(0, dtype=bool), *step.guards])),
            **arrays,
        )
        if not step.levels:
            return networks
        n_rows = np.concatenate([product.n_rows for product in products])
        counts = find_cell_counts(networks, np.concatenate(step.levels, axis=1), n_rows)
        return replace(networks, counts=counts)


def _lay_out_logs(design: LinearDesign, used: Any = slice(None)) -> program.Logs | None:
    logs = design.logs
    if logs is None or not logs.sign[used].any():
        return None
    return program.Logs(logs.sign[used], logs.shift[used], logs.least[used])


def _whole(values: Any) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)
