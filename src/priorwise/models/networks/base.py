"""What all classifiers share that are one network, or an average of networks with equal codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from priorwise import _core
from priorwise.common.docstrings import describe, hook
from priorwise.common.numeric import draw_seed
from priorwise.common.registered import of_one_fit
from priorwise.common.validation import check_number
from priorwise.counts import draw_held_back
from priorwise.data.cuts.names import learn_cut_points
from priorwise.data.encoding import TableEncoder
from priorwise.models.descriptions import ROWS
from priorwise.models.memory import TableSize
from priorwise.models.networks.counted import CountedClassifier
from priorwise.models.networks.network_model import (
    NetworkModel,
    choose_candidate,
    pack_factors,
    read_structure,
)
from priorwise.models.networks.table_rows import TableRows
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import as_smoother, check_smoothing, smooth_trees
from priorwise.steps.networks.networks import Cuts, Networks
from priorwise.structure.networks import Network, NetworkCounts
from priorwise.structure.networks.rows import Count, Rows

MAX_CONTEXTS = 50_000_000


class BaseNetworkClassifier(CountedClassifier):
    """Networks whose features are cut once: code rows, learn what to count, count, smooth.

    A row whose joint probability is zero in every class, which only unsmoothed counts give
    (`smoothing="mle"`), gets the class prior.

    Subclasses implement `_learn_structures`.

    Parameters
    ----------
    smoothing : str or Smoother
        How counts become probabilities: "hdp" (default), "hgs", "m-branch", "m-estimate",
        "laplace", "mle", or a smoother of `priorwise.smoothing`.
    discretizer : str or transformer
        How numeric features are cut into bins: "mdlp" (default), "equal-width",
        "equal-frequency", "kmeans", "tree", or a transformer that learns `cut_points_` or
        `bin_edges_`.
    max_contexts : int
        Largest number of contexts to count, which bounds the memory of the model: a context is
        a node of a count tree, such as a class with one value of each parent. More raise a
        ValueError.
    keep_counts : bool
        Whether the fitted model keeps the counts, which `partial_fit`, `conditional_table` and
        `count_trees_` need. Without them it takes a fraction of the memory and predicts the same.

    Attributes
    ----------
    smoothing_ : Smoother
        The smoother used, its parameters chosen.
    counts_ : list of NetworkCounts
        What each network has counted. Needs `keep_counts`.
    cells_ : list of lists of arrays
        The probabilities of the cells of the trees of each network: those of the class tree, then
        of the feature trees. Needs `keep_counts`.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **CountedClassifier.learnt,
        "cells_": list,
    }
    step_: Networks
    cells_: list[list[NDArray[np.float64]]]

    has_joint = True
    """Whether joint probabilities of class and features mean something."""
    most_parents, is_family = 0, False
    """Most parents of a feature where no parameter says, and if each feature has a network."""

    def __init__(
        self,
        smoothing: str | Smoother = "hdp",
        *,
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        missing_values: Any = "usual",
        min_rows_per_label: int = 1,
        class_weight: Any = None,
        missing: str = "value",
        unseen: str = "backoff",
        declared: str = "ignore",
        max_contexts: int = MAX_CONTEXTS,
        keep_counts: bool = True,
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.discretizer = discretizer
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.ordinal_features = ordinal_features
        self.date_features = date_features
        self.text_features = text_features
        self.missing_values = missing_values
        self.min_rows_per_label = min_rows_per_label
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.declared = declared
        self.max_contexts = max_contexts
        self.keep_counts = keep_counts
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @available_if(lambda model: model.has_joint)
    @of_one_fit
    @describe(ROWS)
    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of the joint probabilities of class and features.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Values of log p(class, features); columns are in the order of `classes_`.
        """
        columns = self.read_rows(X)
        return self.step_.predict_log_joint(columns, self.n_threads)

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        n_parents = int(getattr(self, "max_parents", self.most_parents))
        structure = getattr(self, "structure", None)
        if structure is not None:
            n_parents = max(map(len, structure.parents), default=0)
        n_trees = size.n_features * (size.n_features if self.is_family else 1)
        contexts = n_trees * size.context_bytes(min(n_parents, size.n_features - 1))
        return size.table_bytes + (size.pair_bytes if n_parents else 0.0) + contexts

    def check_parameters(self) -> None:
        check_smoothing(self.smoothing)
        check_number("max_contexts", self.max_contexts, least=1)
        if not isinstance(self.keep_counts, bool):
            raise ValueError(f"keep_counts must be True or False, got {self.keep_counts!r}")

    def _read_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingTable:
        # Most networks hold no row out; those that do put the rows in order when they draw them.
        return TrainingTable.read_uncut(self, X, y, sample_weight, groups, self.min_classes)

    def _learn(self, table: TrainingTable | Rows, seed: int | None = None) -> dict[str, Any]:
        """Learn from a table or a stream, or from rows that are cut already."""
        seed = draw_seed(self.random_state) if seed is None else seed
        if isinstance(table, TrainingTable):
            cut_points = learn_cut_points(
                self.discretizer, table.columns.values, table.y, table.weight,
                n_jobs=self.n_jobs, ordered=table.encoder.ordered_places,
            )  # fmt: skip
            encoder = table.encoder.with_cuts(self.discretizer, cut_points)
            table = replace(table, encoder=encoder)
            rows: Rows = TableRows(table, self.n_threads, table.cut())
        else:
            rows = table
        networks, structure_attributes = self._learn_structures(rows)
        candidates = as_smoother(self.smoothing).candidates()
        held_back = None
        if len(candidates) > 1 and rows.n_rows > 1:
            held_back = draw_held_back(rows.n_rows, seed)
        counted = rows.answer(
            Count(networks=networks, held_back=held_back, max_contexts=self.max_contexts)
        )
        smoother = choose_candidate(candidates, counted, n_jobs=self.n_threads)
        counts, selection_attributes = self._select(counted.counts, rows, smoother)
        return {
            "encoder_": rows.encoder,
            "smoothing_": smoother,
            **self._smooth(rows.encoder, counts, smoother, seed, keep_counts=self.keep_counts),
            **structure_attributes,
            **selection_attributes,
        }

    def _smooth(
        self,
        encoder: TableEncoder,
        counts: list[NetworkCounts],
        smoother: Smoother,
        seed: int,
        *,
        keep_counts: bool,
    ) -> dict[str, Any]:
        """Return the fitted attributes that follow from counts: the step, and what is kept."""
        products, cells = [], []
        for one, one_seed in zip(counts, _spread(seed, len(counts)), strict=True):
            p = smooth_trees(one.trees, smoother, seed=one_seed, n_jobs=self.n_threads)
            products.append(pack_factors(one, p, smoother))
            if keep_counts:
                cells.append(p)
        kept = {"counts_": counts, "cells_": cells} if keep_counts else {}
        return {"step_": self._make_step(encoder, products, counts), **kept}

    def _make_step(
        self,
        encoder: TableEncoder,
        products: list[_core.FactorProduct],
        counts: list[NetworkCounts],
        guards: Sequence[NDArray[np.bool_]] = (),
    ) -> Networks:
        return Networks(
            tuple(products),
            (Cuts.join(encoder.cut_points_),),
            encoder.missing_seen,
            tuple(guards),
        )

    def _list_models(self) -> list[NetworkModel]:
        """Return the networks with their structures, counts and probabilities."""
        step, names = self._find_step(), self.feature_labels_
        # The last network of those with guards only answers where the others do not.
        products = step.products[:-1] if step.guards else step.products
        if not hasattr(self, "counts_"):
            return [NetworkModel(read_structure(one, names), one) for one in products]
        return [
            NetworkModel(counts.network, product, counts, cells)
            for product, counts, cells in zip(products, self.counts_, self.cells_, strict=False)
        ]

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        """Return the networks to count, and fitted attributes that describe the search."""
        raise NotImplementedError

    def _select(
        self, counts: list[NetworkCounts], rows: Rows, smoother: Smoother
    ) -> tuple[list[NetworkCounts], dict[str, Any]]:
        """Return the part of the networks to keep, and fitted attributes; by default all."""
        return counts, {}


def _spread(seed: int, n_networks: int) -> list[int]:
    """Return a seed for each network; that of a single network is the seed itself."""
    if n_networks == 1:
        return [seed]
    return [int(s) for s in np.random.SeedSequence(seed).generate_state(n_networks)]
