"""What the survey has counted already: pairs of labels, and labels by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CountTree, Information, count_trees
from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import LabelCounts
from priorwise.streaming.survey_pass import SurveyState
from priorwise.structure.networks import Network, NetworkCounts


@dataclass(frozen=True, eq=False)
class SurveyedCounts:
    """Counts of a survey in the codes of an encoder; `label_codes` are those of its labels."""

    state: SurveyState
    encoder: TableEncoder
    label_codes: Sequence[NDArray[np.int32]]

    @property
    def has_pairs(self) -> bool:
        """Whether pairs of features were counted."""
        return self.state.pairs is not None

    def measure(self, n_threads: int) -> Information:
        """Return the information of all pairs of features."""
        pairs, n_classes = self.state.pairs, len(self.state.survey.classes)
        assert pairs is not None
        codes: Sequence[NDArray[Any]] = self.label_codes
        arities, ignores_missing = self.encoder.arities_, self.encoder.ignores_missing
        if ignores_missing:
            # Missing values that have no code are counted behind the known values.
            known = zip(codes, arities, strict=True)
            codes = [np.where(of_feature < 0, arity, of_feature) for of_feature, arity in known]
            arities = arities + 1
        recoded = pairs.recode(codes, arities, np.arange(n_classes), n_classes)
        return recoded.information(n_threads=n_threads, last_is_missing=ignores_missing)

    def has_counted(self, networks: Sequence[Network]) -> bool:
        """Whether all contexts of networks were counted: they have no arcs, and no numbers."""
        has_arcs = any(any(network.parents) for network in networks)
        return bool(self.state.survey.is_nominal.all()) and not has_arcs

    def count(self, network: Network) -> NetworkCounts:
        """Return the counts of a network without arcs."""
        class_tree = _tree_of_table(self.state.survey.class_counts[None, :], with_path=False)
        return NetworkCounts(network, class_tree, [self._count_labels(i) for i in network.order])

    def _count_labels(self, i: int) -> CountTree:
        feature, codes = self.state.survey.features[i], self.label_codes[i]
        assert isinstance(feature, LabelCounts)
        shape = (len(self.state.survey.classes), int(self.encoder.arities_[i]))
        table = np.zeros(shape, dtype=feature.counts.dtype)
        np.add.at(table.T, codes[codes >= 0], feature.counts[codes >= 0])
        return _tree_of_table(table, with_path=True)


def _tree_of_table(table: NDArray[Any], *, with_path: bool) -> CountTree:
    """The tree of counts of shape (contexts, outcomes)."""
    context, outcome = (column.astype(np.int32) for column in np.nonzero(table))
    (tree,) = count_trees(
        [context, outcome],
        list(table.shape),
        [1],
        [[0] if with_path else []],
        weight=table[context, outcome].astype(np.float64),
    )
    return tree
