"""Steps as common table expressions of SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.export.layout import Arrays, ExportedModel, StepWriter, list_levels
from priorwise.export.sql.networks import add_networks
from priorwise.export.sql.text import normal_share, softmax, union_all, write_number, write_table
from priorwise.steps.pool import Pool

_IS_ABOVE = (
    "(n.way = 0 AND x.value > n.threshold OR n.way = 1 AND (x.value IS NULL "
    "OR x.value > n.threshold) OR n.way = 2 AND x.value = n.threshold)"
)

NEGLIGIBLE_DEVIATION = 1e-50
"""Standard deviations from the mean below which a number counts as the mean."""


class StepQueries(StepWriter):
    """Collects the tables and queries of steps; that of step k is pw_pk(id, class, p).

    Feature i of reader r has the number r * n_features + i in pw_x(id, feature, value).
    """

    def __init__(self, model: ExportedModel, dialect: str) -> None:
        super().__init__(model)
        self.dialect = dialect
        self.n_features = len(model.features)
        self.parts: list[str] = []
        self.n_steps = 0

    def finish(self, content: str) -> int:
        """Add the query of a step; return its number."""
        self.parts.append(f"pw_p{self.n_steps}(id, class, p) AS (\n{content})")
        self.n_steps += 1
        return self.n_steps - 1

    def add_table(self, name: str, **columns: Any) -> str:
        """Add a table of the next step; return its name."""
        name = f"pw_{name}{self.n_steps}"
        self.parts.append(write_table(name, columns, self.dialect))
        return name

    def add_class_table(self, name: str, columns: dict[str, Any], **by_class: Any) -> str:
        """Add a table with a line for each number of the `columns` and each class."""
        n_lines, n_classes = next(iter(by_class.values())).shape
        repeated = {key: np.repeat(column, n_classes) for key, column in columns.items()}
        numbers = {key: one.astype(np.float64).ravel() for key, one in by_class.items()}
        classes = np.tile(np.arange(n_classes), n_lines)
        return self.add_table(name, **repeated, class_=classes, **numbers)

    def add_query(self, name: str, columns: str, query: str) -> str:
        name = f"pw_{name}{self.n_steps}"
        self.parts.append(f"{name}({columns}) AS (\n{query})")
        return name

    def add_stage(self, name: str, query: str) -> str:
        """Add a query with the names of its columns, whose result is kept.

        SQLite makes indexes for joins with it only then.
        """
        name = f"pw_{name}{self.n_steps}"
        self.parts.append(f"{name} AS MATERIALIZED (\n{query})")
        return name

    def _match_value(self, row: str, feature: str) -> str:
        """Return the condition that pw_x x has the value of a feature of a row.

        In one expression in PostgreSQL, which would otherwise join all rows with `feature` first.
        """
        if self.dialect != "postgres":
            return f"x.id = {row} AND x.feature = {feature}"
        # More than any model has features.
        n = 2**24
        return f"x.id * {n} + x.feature = {row} * {n} + {feature}"

    def _write_intercept(self, intercept: NDArray[np.float64]) -> str:
        """Return a query of what the scores of the classes begin with, for each row."""
        table = self.add_table("intercept", class_=np.arange(len(intercept)), s=intercept)
        return f"SELECT r.id, i.class_, i.s FROM pw_row r CROSS JOIN {table} i"

    def add_trees(self, step: Arrays, reader: int) -> str:
        shift = reader * self.n_features
        columns: dict[str, Any] = {
            "node": np.arange(len(step.feature)),
            "feature": step.feature + shift,
            "threshold": step.threshold,
            "way": step.way,
            "below": step.below,
            "above": step.above,
        }
        soft = len(step.bandwidth) > 0
        if soft:
            columns["bandwidth"] = step.bandwidth
        node = self.add_table("node", **columns)
        leaf = self.add_class_table(
            "leaf", {"node": ~np.arange(len(step.values))}, value=step.values
        )
        root = self.add_table("root", tree=np.arange(len(step.root)), node=step.root)
        start = (
            f"SELECT r.id, t.node, CAST(1.0 AS DOUBLE PRECISION) FROM pw_row r CROSS JOIN {root} t"
        )
        if soft:
            below = self._divide_rows(node)
        else:
            below = (
                f"SELECT w.id, CASE WHEN {_IS_ABOVE} THEN n.above ELSE n.below END, w.weight "
                f"FROM pw_walk{self.n_steps} w JOIN {node} n ON n.node = w.node "
                f"JOIN pw_x x ON {self._match_value('w.id', 'n.feature')}"
            )
        walk = self.add_query("walk", "id, node, weight", f"{start}\nUNION ALL {below}")
        total = (
            f"SELECT w.id, l.class_, {write_number(step.scale)} * SUM(w.weight * l.value) AS p "
            f"FROM {walk} w JOIN {leaf} l ON l.node = w.node GROUP BY w.id, l.class_"
        )
        if not step.normalise:
            return total
        return f"SELECT id, class_, p / SUM(p) OVER (PARTITION BY id) FROM ({total}) t"

    def _divide_rows(self, node: str) -> str:
        """Return the next nodes of the parts of rows, which go both ways at soft thresholds.

        The share of each row that goes above is found for all nodes first: recursive queries of
        SQLite take no nested ones.
        """
        sides = self.add_table("side", side=[0, 1])
        distances = (
            "SELECT x.id, n.node, n.below, n.above, "
            f"CASE WHEN {_IS_ABOVE} THEN 1.0e0 ELSE 0.0e0 END AS hard, "
            "CASE WHEN n.bandwidth > 0 THEN (x.value - n.threshold) / n.bandwidth END AS z "
            f"FROM {node} n JOIN pw_x x ON x.feature = n.feature"
        )
        soft = f"CASE WHEN z IS NULL THEN hard ELSE {normal_share('z')} END AS soft"
        share = self.add_query(
            "share",
            "id, node, below, above, hard, soft",
            "SELECT id, node, below, above, hard, CASE WHEN soft < 1e-6 THEN 0.0e0 "
            "WHEN soft > 1 - 1e-6 THEN 1.0e0 ELSE soft END FROM "
            f"(SELECT id, node, below, above, hard, {soft} FROM ({distances}) a) b",
        )
        part = "(CASE WHEN w.weight >= 1e-4 THEN c.soft ELSE c.hard END)"
        return (
            "SELECT w.id, CASE s.side WHEN 1 THEN c.above ELSE c.below END, "
            f"w.weight * CASE s.side WHEN 1 THEN {part} ELSE 1.0e0 - {part} END "
            f"FROM pw_walk{self.n_steps} w JOIN {share} c ON c.id = w.id AND c.node = w.node "
            f"JOIN {sides} s ON (s.side = 1 AND {part} > 0) OR (s.side = 0 AND {part} < 1)"
        )

    def add_networks(self, step: Arrays, reader: int) -> str:
        return add_networks(self, step, reader * self.n_features)

    def add_pieces(self, step: Arrays, reader: int) -> str:
        shift = reader * self.n_features
        n_classes = len(step.intercept)
        n_pieces = np.diff(step.first_piece)
        last = np.zeros(len(step.left), dtype=bool)
        last[step.first_piece[1:] - 1] = True
        high = np.where(last, np.inf, np.append(step.first_value[1:], np.inf)[: len(last)])
        first = np.zeros(len(step.left), dtype=bool)
        first[step.first_piece[:-1]] = True
        a, b, c = step.coefficient.reshape(-1, 3, n_classes).transpose(1, 0, 2)
        columns = {
            "feature": np.repeat(step.numeric + shift, n_pieces),
            "low": np.where(first, -np.inf, step.first_value),
            "high": high,
            "left_": step.left,
        }
        piece = self.add_class_table("piece", columns, a=a, b=b, c=c)
        missing = self.add_class_table(
            "missing",
            {"feature": step.numeric + shift},
            s=step.missing_score.reshape(-1, n_classes),
        )
        z = self._standardise(step, shift)
        scores = union_all(
            [
                self._write_intercept(step.intercept),
                self._score_labels(step, shift),
                f"SELECT x.id, m.class_, m.s FROM pw_x x JOIN {missing} m "
                "ON m.feature = x.feature WHERE x.value IS NULL",
                "SELECT z.id, p.class_, p.a + (p.b + p.c * (z.z - p.left_)) * (z.z - p.left_) "
                f"FROM {z} z JOIN {piece} p ON p.feature = z.feature AND z.z >= p.low "
                "AND z.z < p.high",
            ]
        )
        return self._sum_scores(scores)

    def add_landmarks(self, step: Arrays, reader: int) -> str:
        shift = reader * self.n_features
        n_landmarks = step.coefficient.shape[1]
        n_nominal, landmarks = len(step.nominal), np.arange(n_landmarks)
        features = np.concatenate([step.nominal, step.numeric[step.missing]]) + shift
        code = self.add_table(
            "landmark_code",
            landmark=np.tile(landmarks, len(features)),
            feature=np.repeat(features, n_landmarks),
            is_missing=np.repeat(np.arange(len(features)) >= n_nominal, n_landmarks).astype(int),
            code=step.landmark_codes.ravel(),
        )
        value = self.add_table(
            "landmark_value",
            landmark=np.tile(landmarks, len(step.numeric)),
            feature=np.repeat(step.numeric + shift, n_landmarks),
            value=step.landmark_values.astype(np.float64).ravel(),
        )
        weight = self.add_class_table("weight", {"landmark": landmarks}, w=step.coefficient.T)
        z = self._standardise(step, shift)
        # Values are rounded to 24 bits, as landmarks are.
        rounded = "(z.z * 536870913.0e0 - (z.z * 536870913.0e0 - z.z))"
        distances = (
            "SELECT id, landmark, SUM(d) AS d FROM (\n"
            "SELECT id, landmark, CASE WHEN own >= 0 THEN 1.0e0 ELSE 0.0e0 END "
            "+ CASE WHEN code >= 0 THEN 1.0e0 ELSE 0.0e0 END "
            "- CASE WHEN own >= 0 AND own = code THEN 2.0e0 ELSE 0.0e0 END AS d FROM (\n"
            "SELECT x.id, l.landmark, l.code, CASE WHEN l.is_missing = 0 THEN x.value "
            "WHEN x.value IS NULL THEN 0.0e0 ELSE -1.0e0 END AS own "
            f"FROM pw_x x JOIN {code} l ON l.feature = x.feature) k\n"
            f"UNION ALL SELECT z.id, l.landmark, ({rounded} - l.value) * ({rounded} - l.value) "
            f"FROM {z} z JOIN {value} l ON l.feature = z.feature) u GROUP BY id, landmark"
        )
        rate = write_number(step.rate)
        near = (
            f"SELECT id, landmark, CASE WHEN {rate} * d > 708 THEN EXP(-708.0e0) "
            f"ELSE EXP(-({rate} * d)) END AS likeness FROM ({distances}) t"
        )
        scores = (
            f"{self._write_intercept(step.intercept)}\nUNION ALL "
            f"SELECT k.id, w.class_, w.w * k.likeness FROM ({near}) k "
            f"JOIN {weight} w ON w.landmark = k.landmark"
        )
        return self._sum_scores(scores)

    def add_quadratic_forms(self, step: Arrays, reader: int) -> str:
        shift = reader * self.n_features
        n_forms, n_values = step.centre.shape
        n_classes = len(step.intercept)
        classes = self.add_table("class", class_=np.arange(n_classes))
        place = self.add_query(
            "place0_",
            "id, class_, form_",
            f"SELECT r.id, c.class_, c.class_ FROM pw_row r CROSS JOIN {classes} c",
        )
        for level, (feature, first, children) in enumerate(list_levels(step)):
            parent, code = np.nonzero(children >= 0)
            table = self.add_table(
                f"child{level}_",
                parent=parent + first,
                code=code,
                form_=children[parent, code],
            )
            place = self.add_query(
                f"place{level + 1}_",
                "id, class_, form_",
                f"SELECT p.id, p.class_, COALESCE(c.form_, p.form_) FROM {place} p "
                f"JOIN pw_x x ON x.id = p.id AND x.feature = {feature + shift} "
                f"LEFT JOIN {table} c ON c.parent = p.form_ AND c.code = x.value",
            )
        forms, features = np.arange(n_forms), step.numeric + shift
        constant = self.add_table("constant", form_=forms, s=step.constant)
        centre = self.add_table(
            "centre",
            form_=np.repeat(forms, n_values),
            feature=np.tile(features, n_forms),
            value=step.centre.ravel(),
        )
        row, column = np.tril_indices(n_values)
        used = np.flatnonzero(step.form.ravel())
        form = self.add_table(
            "form",
            form_=np.repeat(forms, len(row))[used],
            feature=np.tile(features[row], n_forms)[used],
            other=np.tile(features[column], n_forms)[used],
            s=step.form.ravel()[used],
        )
        moved = self.add_query(
            "moved",
            "id, class_, form_, feature, d",
            f"SELECT p.id, p.class_, p.form_, z.feature, z.z - c.value FROM {place} p "
            f"JOIN {self._standardise(step, shift)} z ON z.id = p.id "
            f"JOIN {centre} c ON c.form_ = p.form_ AND c.feature = z.feature",
        )
        scores = [
            self._write_intercept(step.intercept),
            self._score_labels(step, shift),
            f"SELECT p.id, p.class_, c.s FROM {place} p JOIN {constant} c ON c.form_ = p.form_",
            f"SELECT a.id, a.class_, SUM(a.d * b.d * f.s) FROM {moved} a JOIN {form} f "
            "ON f.form_ = a.form_ AND f.feature = a.feature "
            f"JOIN {moved} b ON b.id = a.id AND b.class_ = a.class_ AND b.feature = f.other "
            "GROUP BY a.id, a.class_",
        ]
        return self._sum_scores(union_all(scores))

    def _score_labels(self, step: Arrays, shift: int) -> str:
        """Return a query of the terms of labels."""
        sizes = np.diff(step.first_label)
        columns = {
            "feature": np.repeat(step.nominal + shift, sizes),
            "code": np.concatenate([np.empty(0, int), *map(np.arange, sizes)]),
        }
        scores = step.label_score.reshape(-1, len(step.intercept))
        label = self.add_class_table("label", columns, s=scores)
        return (
            f"SELECT x.id, l.class_, l.s FROM pw_x x JOIN {label} l "
            "ON l.feature = x.feature AND l.code = x.value"
        )

    def _standardise(self, step: Arrays, shift: int) -> str:
        """Add the standardised numbers, z, of all numeric features; zero where missing."""
        columns = {"feature": step.numeric + shift, "mean": step.mean, "scale": step.scale}
        # PostgreSQL refuses quotients and squares of them that overflow or underflow.
        with np.errstate(over="ignore", under="ignore"):
            columns["most"] = step.max_deviation * step.scale
            columns["least"] = NEGLIGIBLE_DEVIATION * step.scale
        number = "x.value"
        if step.logs is not None:
            logs = step.logs
            columns |= {"log_sign": logs.sign, "log_shift": logs.shift, "log_least": logs.least}
            argument = "(s.log_shift + s.log_sign * x.value)"
            number = (
                "CASE WHEN s.log_sign = 0.0e0 THEN x.value ELSE s.log_sign * LN(CASE WHEN "
                f"{argument} < s.log_least THEN s.log_least ELSE {argument} END) END"
            )
        scale = self.add_table("scale", **columns)
        end = write_number(step.max_deviation)
        return self.add_query(
            "z",
            "id, feature, z",
            f"SELECT id, feature, CASE WHEN d IS NULL OR ABS(d) < least THEN 0.0e0 "
            f"WHEN d > most THEN {end} WHEN d < -most THEN -{end} ELSE d / scale END "
            f"FROM (SELECT x.id, x.feature, s.scale, s.most, s.least, {number} - s.mean AS d "
            f"FROM pw_x x JOIN {scale} s ON s.feature = x.feature) t",
        )

    def add_pool(self, step: Pool, members: list[int], reader: int) -> str:
        logs = [
            self._weighted_log(member, weight, step.floor)
            for member, weight in zip(members, step.weight.tolist(), strict=True)
        ]
        return self._sum_scores(union_all([self._write_intercept(step.intercept), *logs]))

    def add_boosted(self, base: int, trees: int, reader: int) -> str:
        logs = self._weighted_log(base, 1.0, LEAST_PROBABILITY)
        return self._sum_scores(f"{logs}\nUNION ALL SELECT id, class, p FROM pw_p{trees}")

    def _weighted_log(self, step: int, weight: float, floor: float) -> str:
        least = write_number(floor)
        return (
            f"SELECT id, class, {write_number(weight)} * LN(CASE WHEN p > {least} THEN p "
            f"ELSE {least} END) FROM pw_p{step}"
        )

    def _sum_scores(self, scores: str) -> str:
        """Return the softmax of sums of scores (id, class, s)."""
        score = self.add_query("score", "id, class, s", scores)
        return softmax(f"SELECT id, class, SUM(s) AS s FROM {score} GROUP BY id, class", "id")
