"""Passes run inside a database: only counts leave it."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.counts import CountTree, PairCounts, Tally, count_trees
from priorwise.data.sources import Source
from priorwise.data.sources.sql.sql_part import SqlPart
from priorwise.streaming.cache import CodedCache
from priorwise.streaming.passes import Coder, CountPass, CountState, PairPass, Pass
from priorwise.streaming.runners.local import LocalRunner
from priorwise.streaming.runners.sql_codes import SqlCodes
from priorwise.streaming.runners.sql_survey import SqlSurvey
from priorwise.streaming.survey_pass import SurveyPass, SurveyState


class SqlRunner(LocalRunner):
    """Run passes over a database by queries that count.

    Classes, labels, values, pairs of features and the contexts of networks are counted by the
    database. Other passes need the rows, which are fetched in batches by this thread.
    """

    reads_ahead = False

    def __init__(
        self, source: Source, *, n_jobs: int = 1, cache: CodedCache | None = None, verbose: int = 0
    ) -> None:
        super().__init__(source, n_jobs=n_jobs, cache=cache, verbose=verbose)
        (part,) = source.parts
        assert isinstance(part, SqlPart)
        self.database = part.source
        self._survey: SqlSurvey | None = None
        self._codes: SqlCodes | None = None
        self._total = 0.0

    def survey(self, work: SurveyPass) -> SurveyState:
        """Count classes, labels and values."""
        self._begin_pass(work.title)
        assert self.source.target is not None
        self._survey = SqlSurvey(
            self.database, self.source.feature_names, self.source.target, work.encoder
        )
        survey = self._survey.run(work.max_value_bytes)
        work.check_labels(survey)
        result = work.finish(SurveyState(survey, None))
        self._total = float(survey.class_counts.sum())
        self._n_rows = survey.n_rows
        return result

    def use_codes(self, coder: Coder) -> None:
        """Set how rows are coded from now on."""
        super().use_codes(coder)
        assert self._survey is not None
        self.close()
        self._codes = SqlCodes(self._survey, coder.encoder, len(coder.classes))

    def close(self) -> None:
        """Remove the temporary table of codes, if there is one."""
        if self._codes is not None:
            self._codes.drop()

    def run(self, work: Pass[Any, Any, Any]) -> Any:
        """Run one more pass, by queries if it counts, else over the rows."""
        if isinstance(work, PairPass):
            self._begin_pass(work.title)
            return work.finish(self._count_pairs(work))
        if isinstance(work, CountPass) and work.sample is None and work.left_out is None:
            self._begin_pass(work.title)
            return work.finish(self._count_contexts(work))
        return super().run(work)

    def _count_pairs(self, work: PairPass) -> PairCounts:
        assert self._codes is not None
        features, codes = work.features, self._codes
        counts = PairCounts(work.max_cells)
        counts.make_room([codes.radices[i] for i in features], codes.n_classes)
        sets = [frozenset((i, j)) for at, i in enumerate(features) for j in features[:at]]
        place = {feature: at for at, feature in enumerate(features)}
        for block in codes.count(sets or [frozenset(features)], self._total):
            radices = [codes.radices[i] for i in block.columns]
            block_codes = np.where(block.codes < 0, np.array(radices)[:, None] - 1, block.codes)
            some = PairCounts(work.max_cells)
            some.add(block_codes, block.y, radices, codes.n_classes, block.totals)
            counts.put(some, [place[i] for i in block.columns])
        return counts

    def _count_contexts(self, work: CountPass) -> CountState:
        assert self._codes is not None
        plan, class_column = work.plan, len(work.arities)
        used = [
            frozenset({*path, target} - {class_column})
            for target, path in zip(plan.targets, plan.paths, strict=True)
        ]
        runs: dict[int, list[CountTree]] = {}
        for block in self._codes.count(used, self._total):
            trees = [i for i, one in enumerate(used) if i not in runs and one <= {*block.columns}]
            place = {column: at for at, column in enumerate([*block.columns, class_column])}
            counted = count_trees(
                [*block.codes, block.y],
                [plan.arities[column] for column in place],
                [place[plan.targets[i]] for i in trees],
                [[place[column] for column in plan.paths[i]] for i in trees],
                weight=block.totals.astype(np.float64),
                n_jobs=self.n_jobs,
            )
            runs |= {i: [tree] for i, tree in zip(trees, counted, strict=True)}
        return work.keep_within_limit(CountState(Tally(plan, {}, runs), []))
