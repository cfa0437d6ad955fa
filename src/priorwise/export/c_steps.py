"""The arrays and functions of steps in C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.data.tables.value_rules import ValueRules
from priorwise.export.c_literals import (
    join_items,
    name_fields,
    write_array,
    write_characters,
    write_double,
    write_string,
    write_structs,
)
from priorwise.export.c_networks import join_contexts, lay_out_factors
from priorwise.export.layout import EQUAL, GREATER, NOT_AT_MOST, Arrays, ExportedModel
from priorwise.export.ranked_trees import rank_trees
from priorwise.export.reading import refuse_labels
from priorwise.steps.pool import Boosted, Pool
from priorwise.steps.step import Step

# Bits of what goes to the second child: less, equal, missing, greater.
_WAYS = {GREATER: 8, NOT_AT_MOST: 12, EQUAL: 2}

MAX_TEXT = 4095
"""Most bytes of a text in C99 that every compiler takes."""
N_BLANKS = 4
"""Structures in an array that would have none."""


class StepWriter:
    """Writes the arrays and the function of each step, and notes the sections they need."""

    def __init__(self, model: ExportedModel, prefix: str) -> None:
        self.model = model
        self.fields = name_fields(model.features, prefix)
        self.lines: list[str] = []
        self.sections: set[str] = set()
        self.n_steps = 0
        self.soft_depth, self.max_levels, self.rank_type = 0, 1, "uint16_t"

    def add_step(self, step: Step, reader: int = 0) -> int:
        """Add a step and those that it needs; return the number of its function."""
        step, reader = self.model.unwrap(step, reader)
        if isinstance(step, Pool):
            body = self._add_pool(step, reader)
        elif isinstance(step, Boosted):
            body = self._add_boosted(step, reader)
        else:
            arrays = self.model.lay_out(step, reader)
            body = getattr(self, _WRITERS[arrays.kind])(arrays, f"x[{reader}]")
        self.lines.append(
            f"static void step_{self.n_steps}(const double (*x)[N_FEATURES], double *proba)\n{{\n"
            + "\n".join(f"    {line}" for line in body)
            + "\n}\n"
        )
        self.n_steps += 1
        return self.n_steps - 1

    def add_array(self, name: str, values: Any, shape: str = "") -> str:
        """Add an array, named for the next step; return its name."""
        array = np.asarray(values)
        c_type = {"i": "int32_t", "f": "double"}[array.dtype.kind]
        c_type = "float" if array.dtype == np.float32 else c_type
        name = f"{name}_{self.n_steps}"
        self.lines.append(
            f"static const {c_type} {name}[]{shape} = {write_array(array, shape.count('['))};"
        )
        return name

    def use(self, *sections: str) -> None:
        self.sections.update(sections)

    def add_structs(self, kind: str, columns: list[Any], blank: str) -> str:
        """Add an array of structures with these members, or a few that are `blank`.

        Compilers warn of places beyond the end of a short array, even if they are not reached.
        """
        name = f"{kind}_{self.n_steps}"
        items = write_structs(columns) or N_BLANKS * [blank]
        self.lines.append(f"static const struct {kind} {name}[] = {join_items(items)};")
        return name

    def add_trees(self, trees: Arrays, x: str) -> list[str]:
        values = self.add_array("leaf", trees.values, shape="[N_CLASSES]")
        is_soft = len(trees.bandwidth) or trees.values.dtype != np.float32
        body = (self._add_soft_tree if is_soft else self._add_hard_trees)(trees, values, x)
        if trees.scale != 1.0:
            body.insert(0, "int y;")
            body.append(f"for (y = 0; y < N_CLASSES; ++y) proba[y] *= {write_double(trees.scale)};")
        if trees.normalise:
            self.use("normalise")
            body.append("normalise(proba);")
        return body

    def _add_soft_tree(self, trees: Arrays, values: str, x: str) -> list[str]:
        self.use("soft tree")
        self.soft_depth = max(self.soft_depth, _find_depth(trees))
        way = np.array([_WAYS[one] for one in trees.way.tolist()], dtype=np.int32)
        bandwidth = trees.bandwidth if len(trees.bandwidth) else np.zeros(len(trees.feature))
        columns = [trees.threshold, bandwidth, trees.below, trees.above, trees.feature, way]
        node = self.add_structs("node", columns, "{0.0,0.0,0,0,0,0}")
        return [f"blend_tree({node}, {int(trees.root[0])}, {values}, {x}, proba);"]

    def _add_hard_trees(self, trees: Arrays, values: str, x: str) -> list[str]:
        self.use("hard trees")
        ranked = rank_trees(trees)
        if ranked.rank_type == "uint32_t":
            self.rank_type = ranked.rank_type
        columns = [ranked.rank, ranked.source, ranked.child]
        node = self.add_structs("ranked_node", columns, "{0,0,0}")
        features = self.add_array("ranked", ranked.features)
        n_thresholds = self.add_array("n_thresholds", ranked.n_thresholds)
        thresholds = self.add_array("threshold", ranked.thresholds)
        n = len(ranked.features)
        return [
            f"rank_t ranks[{max(3 * n, 1)}];",
            f"rank_row({x}, {features}, {n_thresholds}, {n}, {thresholds}, ranks);",
            f"add_trees({node}, {len(trees.root)}, {values}, ranks, proba);",
        ]

    def add_networks(self, step: Arrays, x: str) -> list[str]:
        self.use("softmax", "networks")
        self.max_levels = max([self.max_levels, *(1 + step.n_parents).tolist()])
        n = self.n_steps
        factors, arrays = lay_out_factors(step)
        entries = [arrays[name] for name in ("cell_start", "entry_class", "rest")]
        members = [
            self.add_structs("factor", factors, "{0,0,0,0,0,0,0,0,0}"),
            self.add_array("path", step.path),
            self.add_structs("context", join_contexts(step), "{0,0,0}"),
            self.add_structs("entry", entries, "{0,0,0.0f}"),
            self.add_structs("cell", [arrays["outcome"], arrays["score"]], "{0,0.0f}"),
            self.add_array("fixed", np.append(arrays["fixed"], np.int32(0))),
            self.add_array("answer", np.pad(arrays["answer"], (0, step.log_prior.shape[1]))),
        ]
        self.lines.append(f"static const struct networks networks_{n} = {{{', '.join(members)}}};")
        n_factors = self.add_array("n_factors", step.n_factors)
        prior = self.add_array("log_prior", step.log_prior, shape="[N_CLASSES]")
        numeric = self.add_array("numeric", step.numeric)
        has_missing = self.add_array("has_missing", step.has_missing)
        n_cuts = self.add_array("n_cuts", step.n_cuts)
        cuts = self.add_array("cuts", step.cuts)
        n_networks, n_numeric = len(step.n_factors), len(step.numeric)
        if len(step.guards):
            self.use("sum of networks")
            guards = self.add_array("guards", step.guards)
            return [
                f"add_networks(&networks_{n}, {n_networks}, {n_factors}, {prior}, {numeric}, "
                f"{has_missing}, {n_cuts}, {n_numeric}, {cuts}, {guards}, {x}, proba);"
            ]
        self.use("mean of networks")
        cut_set = self.add_array("cut_set", step.cut_set)
        ends = np.cumsum(step.n_cuts.sum(axis=1))
        first_cut = self.add_array("first_cut", np.append(0, ends[:-1]))
        return [
            f"average_networks(&networks_{n}, {n_networks}, {n_factors}, {prior}, {cut_set}, "
            f"{numeric}, {has_missing}, {n_cuts}, {first_cut}, {n_numeric}, {cuts}, {x}, proba);"
        ]

    def add_pieces(self, step: Arrays, x: str) -> list[str]:
        self.use("softmax", "terms")
        n_classes = len(step.intercept)
        body = self._start_scores(step.intercept) + self._add_labels(step, x)
        if not len(step.numeric):
            return [*body, "softmax(proba);"]
        missing = self.add_array(
            "missing", step.missing_score.reshape(-1, n_classes), shape="[N_CLASSES]"
        )
        first_value = self.add_array("first_value", step.first_value)
        left = self.add_array("left", step.left)
        coefficient = self.add_array(
            "coefficient", step.coefficient.reshape(-1, 3, n_classes), shape="[3][N_CLASSES]"
        )
        for j, feature in enumerate(step.numeric.tolist()):
            self.use("standardise", "terms of numbers")
            first, last = step.first_piece[j : j + 2].tolist()
            z = _standardise(step, j, f"{x}[{feature}]")
            body.append(
                f"add_piece({x}[{feature}], {z}, {missing}[{j}], {first_value} + {first}, "
                f"{left} + {first}, {coefficient} + {first}, {last - first}, proba);"
            )
        return [*body, "softmax(proba);"]

    def _add_labels(self, step: Arrays, x: str) -> list[str]:
        if not len(step.nominal):
            return []
        n_classes = len(step.intercept)
        table = self.add_array(
            "label", step.label_score.reshape(-1, n_classes), shape="[N_CLASSES]"
        )
        body = []
        for i, feature in enumerate(step.nominal.tolist()):
            first, last = step.first_label[i : i + 2].tolist()
            self.use("terms", "terms of labels")
            body.append(f"add_label({x}[{feature}], {table} + {first}, {last - first}, proba);")
        return body

    def add_landmarks(self, step: Arrays, x: str) -> list[str]:
        self.use("softmax", "landmarks")
        codes = self.add_array("landmark_codes", step.landmark_codes.T)
        values = self.add_array("landmark_values", step.landmark_values.T)
        coefficient = self.add_array("coefficient", step.coefficient.T, shape="[N_CLASSES]")
        n_codes, n_values = len(step.landmark_codes), len(step.landmark_values)
        body = [f"int32_t codes[{max(n_codes, 1)}];", f"float values[{max(n_values, 1)}];"]
        body += self._start_scores(step.intercept)
        body += [f"codes[{i}] = (int32_t){x}[{f}];" for i, f in enumerate(step.nominal.tolist())]
        for i, j in enumerate(step.missing.tolist(), start=len(step.nominal)):
            own = f"{x}[{step.numeric[j]}]"
            body.append(f"codes[{i}] = {own} == {own} ? -1 : 0;")
        for j, feature in enumerate(step.numeric.tolist()):
            self.use("standardise", *["logarithm"] * (step.logs is not None))
            body.append(f"values[{j}] = (float){_standardise(step, j, f'{x}[{feature}]')};")
        if not n_codes:
            body.append("codes[0] = -1;")
        if not n_values:
            body.append("values[0] = 0.0f;")
        n_landmarks = step.coefficient.shape[1]
        body.append(
            f"add_landmarks(codes, values, {n_codes}, {n_values}, {codes}, {values}, "
            f"{n_landmarks}, {write_double(step.rate)}, {coefficient}, proba);"
        )
        return [*body, "softmax(proba);"]

    def add_quadratic_forms(self, step: Arrays, x: str) -> list[str]:
        self.use("softmax", "quadratic forms")
        constant = self.add_array("constant", step.constant)
        centre = self.add_array("centre", step.centre)
        form = self.add_array("form", step.form)
        parts = (step.parents, step.n_labels, step.first_form, step.first_child, step.child)
        parents, *tables = (
            self.add_array(name, part)
            for name, part in zip(
                ("parents", "n_labels", "first_form", "first_child", "child"),
                parts,
                strict=True,
            )
        )
        n_values, n_form = len(step.numeric), step.form.shape[1]
        body = [f"double z[{max(n_values, 1)}], step[{max(n_values, 1)}];"]
        body += self._start_scores(step.intercept)
        body += self._add_labels(step, x)
        for j, feature in enumerate(step.numeric.tolist()):
            self.use("standardise", *["logarithm"] * (step.logs is not None))
            body.append(f"z[{j}] = {_standardise(step, j, f'{x}[{feature}]')};")
        if not n_values:
            body.append("z[0] = 0.0;")
        body += [
            "for (y = 0; y < N_CLASSES; ++y) {",
            f"    const int32_t g = choose_form({x}, y, {parents}, {len(step.parents)}, "
            f"{', '.join(tables)});",
            f"    proba[y] += {constant}[g] + find_form(z, {n_values}, {centre} + g * {n_values}, "
            f"{form} + g * {n_form}, step);",
            "}",
        ]
        return [*body, "softmax(proba);"]

    def _start_scores(self, intercept: NDArray[np.float64]) -> list[str]:
        name = self.add_array("intercept", intercept)
        return ["int y;", f"for (y = 0; y < N_CLASSES; ++y) proba[y] = {name}[y];"]

    def _add_pool(self, step: Pool, reader: int) -> list[str]:
        self.use("softmax", *(["pool"] if step.members else []))
        members = [self.add_step(member, reader) for member in step.members]
        # Without members, as boosting starts, no row is read.
        first = "double member[N_CLASSES];" if members else "(void)x;"
        body = [first, *self._start_scores(step.intercept)]
        for member, weight in zip(members, step.weight.tolist(), strict=True):
            body.append(f"step_{member}(x, member);")
            body.append(
                f"add_member(member, {write_double(weight)}, {write_double(step.floor)}, proba);"
            )
        return [*body, "softmax(proba);"]

    def _add_boosted(self, step: Boosted, reader: int) -> list[str]:
        self.use("softmax", "pool")
        base, trees = self.add_step(step.base, reader), self.add_step(step.trees, reader)
        return [
            "double member[N_CLASSES];",
            f"step_{base}(x, member);",
            f"step_{trees}(x, proba);",
            f"add_member(member, 1.0, {write_double(LEAST_PROBABILITY)}, proba);",
            "softmax(proba);",
        ]

    def add_reading(self) -> list[str]:
        """Add the tables of labels; return the lines that read a row."""
        lines = []
        for r, reader in enumerate(self.model.readers):
            for i, (rules, field) in enumerate(zip(reader, self.fields, strict=True)):
                lines += self._read_value(rules, f"x[{r}][{i}]", f"row->{field}", f"{r}_{i}")
        return [f"    {line}" for line in lines]

    def _write_label(self, key: bytes, name: str) -> str:
        """Return a label; one that is too long for a text is an array of characters."""
        if len(key) <= MAX_TEXT:
            return write_string(key)
        array = f"label_{name}_{len(self.lines)}"
        self.lines.append(f"static const char {array}[] = {write_characters(key)};")
        return array

    def _read_value(self, rules: ValueRules, x: str, value: str, name: str) -> list[str]:
        missing = write_double(rules.missing)
        if rules.is_nominal:
            self.use("labels")
            refuse_labels(rules, "C", r"\0")
            labels = sorted(
                (key.encode("utf-8", "surrogatepass"), _write_code(code))
                for key, code in rules.spell_keys().items()
            )
            rows = [f"{{{self._write_label(key, name)},{code}}}" for key, code in labels]
            table = join_items(rows or ['{"",-1}'])
            self.lines.append(f"static const struct label labels_{name}[] = {table};")
            lines = [f"{x} = read_label({value}, labels_{name}, {len(rows)}, {missing});"]
            if rules.refuses_unknown:
                good = f"!({x} < 0.0)" if rules.is_ordered else f"{x} >= 0.0"
                lines.append(f"is_good &= {good};")
            if rules.is_ordered:
                lines.append(f"if ({x} < 0.0) {x} = {missing};")
            return lines
        self.use("numbers")
        marks = list(rules.numbers)
        self.lines.append(
            f"static const double marks_{name}[] = {write_array(np.array(marks or [0.0]), 0)};"
        )
        lines = [f"{x} = read_number({value}, marks_{name}, {len(marks)}, {missing});"]
        lines.append(f"is_good &= !isinf({x});")
        if rules.refuses_unknown:
            lines.append(f"is_good &= {x} == {x};")
        return lines


_WRITERS = {
    "Trees": "add_trees",
    "Networks": "add_networks",
    "Pieces": "add_pieces",
    "Landmarks": "add_landmarks",
    "QuadraticForms": "add_quadratic_forms",
}


def _find_depth(trees: Arrays) -> int:
    """Return the largest number of splits on a path."""
    depth, level = 0, trees.root
    while len(level := level[level >= 0]):
        depth += 1
        level = np.concatenate([trees.below[level], trees.above[level]])
    return depth


def _write_code(code: float) -> str:
    return str(int(code)) if float(code).is_integer() else write_double(code)


def _standardise(step: Arrays, j: int, number: str) -> str:
    logs = step.logs
    if logs is not None and logs.sign[j]:
        sign, shift, least = (write_double(one[j]) for one in (logs.sign, logs.shift, logs.least))
        number = f"take_log({number}, {sign}, {shift}, {least})"
    mean, scale = write_double(step.mean[j]), write_double(step.scale[j])
    return f"standardise({number}, {mean}, {scale}, {write_double(step.max_deviation)})"
