"""The arrays and functions of steps in C."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.counts.packed_trees import EQUAL_BIT, GREATER_BIT, MISSING_BIT
from priorwise.data.encoding.value_rules import ValueRules
from priorwise.export.c_arrays import (
    join_items,
    lay_out_factors,
    name_fields,
    rank_trees,
    write_array,
    write_characters,
    write_double,
    write_string,
    write_structs,
)
from priorwise.export.layout import EQUAL, GREATER, NOT_AT_MOST, Arrays, ExportedModel, StepWriter
from priorwise.export.reading import refuse_labels, write_code
from priorwise.steps.pool import Pool

# Bits of what goes to the second child.
_WAYS = {GREATER: GREATER_BIT, NOT_AT_MOST: GREATER_BIT | MISSING_BIT, EQUAL: EQUAL_BIT}

MAX_TEXT = 4095
"""Most bytes of a text in C99 that every compiler takes."""
N_BLANKS = 4
"""Structures in an array that would have none."""


class CSteps(StepWriter):
    """Writes the arrays of each step, and a function whose number stands for it."""

    def __init__(self, model: ExportedModel, prefix: str) -> None:
        super().__init__(model)
        self.fields = name_fields(model.columns, prefix)
        self.lines: list[str] = []
        self.bodies: list[str] = []
        self.soft_depth, self.max_levels, self.rank_type = 0, 1, ""

    def finish(self, content: list[str]) -> int:
        """Add the function of a step; return its number."""
        n, body = len(self.bodies), "\n".join(f"    {line}" for line in content)
        self.lines.append(
            f"static void step_{n}(const double (*x)[N_FEATURES], double *proba)\n{{\n{body}\n}}\n"
        )
        self.bodies.append(body)
        return n

    def add_array(self, name: str, values: Any, shape: str = "") -> str:
        """Add an array, named for the next step; return its name."""
        array = np.asarray(values)
        c_type = {"i": "int32_t", "f": "double"}[array.dtype.kind]
        c_type = "float" if array.dtype == np.float32 else c_type
        name = f"{name}_{len(self.bodies)}"
        self.lines.append(
            f"static const {c_type} {name}[]{shape} = {write_array(array, shape.count('['))};"
        )
        return name

    def add_arrays(self, arrays: Arrays, *names: str) -> list[str]:
        """Add some of the arrays of a step; return their names."""
        return [self.add_array(name, getattr(arrays, name)) for name in names]

    def add_structs(self, kind: str, columns: list[Any], blank: str) -> str:
        """Add an array of structures with these members, or a few that are `blank`.

        Compilers warn of places beyond the end of a short array, even if they are not reached.
        """
        name = f"{kind}_{len(self.bodies)}"
        items = write_structs(columns) or N_BLANKS * [blank]
        self.lines.append(f"static const struct {kind} {name}[] = {join_items(items)};")
        return name

    def add_trees(self, arrays: Arrays, reader: int) -> list[str]:
        values = self.add_array("leaf", arrays.values, shape="[N_CLASSES]")
        is_soft = len(arrays.bandwidth) or arrays.values.dtype != np.float32
        body = (self._add_soft_tree if is_soft else self._add_hard_trees)(arrays, values, reader)
        if arrays.scale != 1.0:
            scale = write_double(arrays.scale)
            body = ["int y;", *body, f"for (y = 0; y < N_CLASSES; ++y) proba[y] *= {scale};"]
        return [*body, "normalise(proba);"] if arrays.normalise else body

    def _add_soft_tree(self, trees: Arrays, values: str, reader: int) -> list[str]:
        self.soft_depth = max(self.soft_depth, _find_depth(trees))
        way = np.array([_WAYS[one] for one in trees.way.tolist()], dtype=np.int32)
        bandwidth = trees.bandwidth if len(trees.bandwidth) else np.zeros(len(trees.feature))
        columns = [trees.threshold, bandwidth, trees.below, trees.above, trees.feature, way]
        node = self.add_structs("node", columns, "{0.0,0.0,0,0,0,0}")
        return [f"blend_tree({node}, {int(trees.root[0])}, {values}, x[{reader}], proba);"]

    def _add_hard_trees(self, trees: Arrays, values: str, reader: int) -> list[str]:
        ranked = rank_trees(trees)
        # The type holds all ranks, sources and a rank above all others.
        most = max([0, *ranked.n_thresholds.tolist(), *ranked.source.tolist()])
        if self.rank_type != "uint32_t":
            self.rank_type = "uint16_t" if most < 65_535 else "uint32_t"
        columns = [ranked.rank, ranked.source, ranked.child]
        node = self.add_structs("ranked_node", columns, "{0,0,0}")
        features = self.add_array("ranked", ranked.features)
        n_thresholds = self.add_array("n_thresholds", ranked.n_thresholds)
        thresholds = self.add_array("threshold", ranked.thresholds)
        n = len(ranked.features)
        return [
            f"rank_t ranks[{max(3 * n, 1)}];",
            f"rank_row(x[{reader}], {features}, {n_thresholds}, {n}, {thresholds}, ranks);",
            f"add_trees({node}, {len(trees.root)}, {values}, ranks, proba);",
        ]

    def add_networks(self, arrays: Arrays, reader: int) -> list[str]:
        self.max_levels = max([self.max_levels, *(1 + arrays.n_parents).tolist()])
        factors, tables = lay_out_factors(arrays)
        # A factor has one more context, where the children and entries of the last one end.
        value = np.insert(arrays.value, np.cumsum(arrays.n_contexts), 0)
        contexts = [value, arrays.child_start, arrays.entry_start]
        entries = [tables[name] for name in ("cell_start", "entry_class", "rest")]
        members = [
            self.add_structs("factor", factors, "{0,0,0,0,0,0,0,0,0}"),
            self.add_array("path", arrays.path),
            self.add_structs("context", contexts, "{0,0,0}"),
            self.add_structs("entry", entries, "{0,0,0.0f}"),
            self.add_structs("cell", [tables["outcome"], tables["score"]], "{0,0.0f}"),
            self.add_array("fixed", np.append(tables["fixed"], np.int32(0))),
            self.add_array("answer", np.pad(tables["answer"], (0, arrays.log_prior.shape[1]))),
        ]
        name = f"networks_{len(self.bodies)}"
        self.lines.append(f"static const struct networks {name} = {{{', '.join(members)}}};")
        (n_factors,) = self.add_arrays(arrays, "n_factors")
        prior = self.add_array("log_prior", arrays.log_prior, shape="[N_CLASSES]")
        numeric, has_missing, n_cuts, cuts = self.add_arrays(
            arrays, "numeric", "has_missing", "n_cuts", "cuts"
        )
        networks = f"&{name}, {len(arrays.n_factors)}, {n_factors}, {prior}"
        reading, end = f"{numeric}, {has_missing}, {n_cuts}", f"x[{reader}], proba);"
        n_numeric = len(arrays.numeric)
        if len(arrays.guards):
            (guards,) = self.add_arrays(arrays, "guards")
            return [f"add_networks({networks}, {reading}, {n_numeric}, {cuts}, {guards}, {end}"]
        (cut_set,) = self.add_arrays(arrays, "cut_set")
        ends = np.cumsum(arrays.n_cuts.sum(axis=1))
        first = self.add_array("first_cut", np.append(0, ends[:-1]))
        reading = f"{cut_set}, {reading}, {first}"
        return [f"average_networks({networks}, {reading}, {n_numeric}, {cuts}, {end}"]

    def add_pieces(self, arrays: Arrays, reader: int) -> list[str]:
        n_classes, x = len(arrays.intercept), f"x[{reader}]"
        body = self._start_scores(arrays.intercept) + self._add_labels(arrays, x)
        if not len(arrays.numeric):
            return [*body, "softmax(proba);"]
        missing = self.add_array(
            "missing", arrays.missing_score.reshape(-1, n_classes), shape="[N_CLASSES]"
        )
        first_value, left = self.add_arrays(arrays, "first_value", "left")
        coefficient = self.add_array(
            "coefficient", arrays.coefficient.reshape(-1, 3, n_classes), shape="[3][N_CLASSES]"
        )
        for j, feature in enumerate(arrays.numeric.tolist()):
            first, last = arrays.first_piece[j : j + 2].tolist()
            body.append(
                f"add_piece({x}[{feature}], {_standardise(arrays, j, x)}, {missing}[{j}], "
                f"{first_value} + {first}, {left} + {first}, {coefficient} + {first}, "
                f"{last - first}, proba);"
            )
        return [*body, "softmax(proba);"]

    def _add_labels(self, arrays: Arrays, x: str) -> list[str]:
        if not len(arrays.nominal):
            return []
        scores = arrays.label_score.reshape(-1, len(arrays.intercept))
        table = self.add_array("label", scores, shape="[N_CLASSES]")
        ends = arrays.first_label.tolist()
        return [
            f"add_label({x}[{feature}], {table} + {first}, {last - first}, proba);"
            for feature, (first, last) in zip(arrays.nominal.tolist(), pairwise(ends), strict=True)
        ]

    def add_landmarks(self, arrays: Arrays, reader: int) -> list[str]:
        x = f"x[{reader}]"
        codes = self.add_array("landmark_codes", arrays.landmark_codes.T)
        values = self.add_array("landmark_values", arrays.landmark_values.T)
        coefficient = self.add_array("coefficient", arrays.coefficient.T, shape="[N_CLASSES]")
        n_codes, n_values = len(arrays.landmark_codes), len(arrays.landmark_values)
        body = [f"int32_t codes[{max(n_codes, 1)}];", f"float values[{max(n_values, 1)}];"]
        body += self._start_scores(arrays.intercept)
        body += [f"codes[{i}] = (int32_t){x}[{f}];" for i, f in enumerate(arrays.nominal.tolist())]
        for i, j in enumerate(arrays.missing.tolist(), start=len(arrays.nominal)):
            number = f"{x}[{arrays.numeric[j]}]"
            body.append(f"codes[{i}] = {number} == {number} ? -1 : 0;")
        body += [f"values[{j}] = (float){_standardise(arrays, j, x)};" for j in range(n_values)]
        body += [] if n_codes else ["codes[0] = -1;"]
        body += [] if n_values else ["values[0] = 0.0f;"]
        return [
            *body,
            f"add_landmarks(codes, values, {n_codes}, {n_values}, {codes}, {values}, "
            f"{arrays.coefficient.shape[1]}, {write_double(arrays.rate)}, {coefficient}, proba);",
            "softmax(proba);",
        ]

    def add_quadratic_forms(self, arrays: Arrays, reader: int) -> list[str]:
        x, n_values, n_form = f"x[{reader}]", len(arrays.numeric), arrays.form.shape[1]
        constant, centre, form, parents, *tables = self.add_arrays(
            arrays, "constant", "centre", "form", "parents", "n_labels", "first_form",
            "first_child", "child",
        )  # fmt: skip
        return [
            f"double z[{max(n_values, 1)}], step[{max(n_values, 1)}];",
            *self._start_scores(arrays.intercept),
            *self._add_labels(arrays, x),
            *(f"z[{j}] = {_standardise(arrays, j, x)};" for j in range(n_values)),
            *([] if n_values else ["z[0] = 0.0;"]),
            "for (y = 0; y < N_CLASSES; ++y) {",
            f"    const int32_t g = choose_form({x}, y, {parents}, {len(arrays.parents)}, "
            f"{', '.join(tables)});",
            f"    proba[y] += {constant}[g] + find_form(z, {n_values}, {centre} + g * {n_values}, "
            f"{form} + g * {n_form}, step);",
            "}",
            "softmax(proba);",
        ]

    def _start_scores(self, intercept: NDArray[np.float64]) -> list[str]:
        name = self.add_array("intercept", intercept)
        return ["int y;", f"for (y = 0; y < N_CLASSES; ++y) proba[y] = {name}[y];"]

    def add_pool(self, step: Pool, members: list[int], reader: int) -> list[str]:
        # Without members, as boosting starts, no row is read.
        first = "double member[N_CLASSES];" if members else "(void)x;"
        body = [first, *self._start_scores(step.intercept)]
        for member, weight in zip(members, map(write_double, step.weight.tolist()), strict=True):
            body.append(f"step_{member}(x, member);")
            body.append(f"add_member(member, {weight}, {write_double(step.floor)}, proba);")
        return [*body, "softmax(proba);"]

    def add_boosted(self, base: int, trees: int, reader: int) -> list[str]:
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
            for i, rules in enumerate(reader):
                field = f"row->{self.fields[rules.source]}"
                lines += self._read_value(rules, f"x[{r}][{i}]", field, f"{r}_{i}")
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
            refuse_labels(rules, "C", r"\0")
            labels = sorted(
                (key.encode("utf-8", "surrogatepass"), write_code(code, write_double))
                for key, code in rules.spell_keys().items()
            )
            rows = [f"{{{self._write_label(key, name)},{code}}}" for key, code in labels]
            table = join_items(rows or ['{"",-1}'])
            self.lines.append(f"static const struct label labels_{name}[] = {table};")
            unknown = write_code(rules.unknown, write_double)
            lines = [
                f"{x} = read_label({value}, labels_{name}, {len(rows)}, {missing}, {unknown});"
            ]
            if rules.refuses_unknown:
                good = f"!({x} < 0.0)" if rules.is_ordered else f"{x} >= 0.0"
                lines.append(f"is_good &= {good};")
            if rules.is_ordered:
                lines.append(f"if ({x} < 0.0) {x} = {missing};")
            return lines
        marks = list(rules.numbers)
        self.lines.append(
            f"static const double marks_{name}[] = {write_array(np.array(marks or [0.0]), 0)};"
        )
        if rules.part:
            value = f"take_{rules.part}({value})"
        lines = [f"{x} = read_number({value}, marks_{name}, {len(marks)}, {missing});"]
        lines.append(f"is_good &= !isinf({x});")
        if rules.refuses_unknown:
            lines.append(f"is_good &= {x} == {x};")
        return lines


def _find_depth(trees: Arrays) -> int:
    """Return the largest number of splits on a path."""
    depth, level = 0, trees.root
    while len(level := level[level >= 0]):
        depth += 1
        level = np.concatenate([trees.below[level], trees.above[level]])
    return depth


def _standardise(step: Arrays, j: int, x: str) -> str:
    """Return the standardised number of numeric feature j of a row x."""
    logs, number = step.logs, f"{x}[{step.numeric[j]}]"
    if logs is not None and logs.sign[j]:
        sign, shift, least = (write_double(one[j]) for one in (logs.sign, logs.shift, logs.least))
        number = f"take_log({number}, {sign}, {shift}, {least})"
    mean, scale = write_double(step.mean[j]), write_double(step.scale[j])
    return f"standardise({number}, {mean}, {scale}, {write_double(step.max_deviation)})"
