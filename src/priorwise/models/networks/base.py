"""What all classifiers share that are one network, or an average of networks with equal codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from priorwise import _core
from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_number, check_weight
from priorwise.counts import CodedRows
from priorwise.data.cuts.names import learn_cut_points
from priorwise.data.tables import TableEncoder, declared_classes, encode_labels
from priorwise.data.tables.joined_encoder import only_new_weights, scale_weights
from priorwise.models.base import TRAINING_ROWS
from priorwise.models.networks.network_model import (
    NetworkModel,
    choose_candidate,
    pack_factors,
    prior_spread,
    read_structure,
)
from priorwise.models.networks.streamed import StreamedClassifier
from priorwise.models.table_reader import ROWS
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.smoothing.names import as_smoother
from priorwise.steps.calibration import Calibration
from priorwise.steps.networks.networks import Cuts, Networks
from priorwise.streaming.row_stream import RowStream
from priorwise.structure.networks import (
    MemoryRows,
    Network,
    NetworkCounts,
    TrainingRows,
    check_contexts,
)
from priorwise.structure.networks.count_sums import CountedModel, add_counts, subtract_counts

MAX_CONTEXTS = 50_000_000
TAILS = (0.86, 0.075)
"""Tails of the intervals of networks, set by hand (docs/intervals.md)."""


class BaseNetworkClassifier(StreamedClassifier):
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
        **StreamedClassifier.learnt,
        "smoothing_": Smoother,
        "counts_": list,
        "cells_": list,
    }
    step_: Networks
    counts_: list[NetworkCounts]
    cells_: list[list[NDArray[np.float64]]]

    has_joint = True
    """Whether joint probabilities of class and features mean something."""
    structure_attributes: tuple[str, ...] = ()
    """Fitted attributes that describe how the structure was found."""

    def __init__(
        self,
        smoothing: str | Smoother = "hdp",
        *,
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        missing_values: Any = "usual",
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
        self.missing_values = missing_values
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

    @describe(TRAINING_ROWS)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Count one more batch of rows.

        `fit`, or else the first batch, fixes the structure, the classes, the cut points of numeric
        features and the parameters of the smoother; later batches may have new values of nominal
        features. With a structure that is given, batches of nominal rows give the model that `fit`
        gives on all of them. Probabilities are smoothed again after every batch. A call that
        raises leaves the model as it was.

        Parameters
        ----------
        classes : array-like, optional
            All class labels that any batch may have; those of the first batch by default, or
            those that its type declares with ``declared="count"``.
        """
        self.check_settings()
        self.check_parameters()
        self._refuse_class_weight("partial_fit")
        first = not hasattr(self, "encoder_")
        encoder = self._new_encoder() if first else deepcopy(self.encoder_)
        known = self._known_classes(y, classes)
        batch, known = self._read_batch(encoder, X, y, known, sample_weight, first=first)
        seed = draw_seed(self.random_state)
        rows = MemoryRows(batch, encoder.feature_names, self.n_threads)
        if first:
            class_count = np.bincount(batch.y, batch.weight, len(known)).astype(np.float64)
            return self.adopt(encoder, known, class_count, self._learn(rows, seed, encoder))
        counts = self._find_counts()
        added = rows.count([c.network for c in counts], max_contexts=self.max_contexts).counts
        counts = [old.merge(new) for old, new in zip(counts, added, strict=True)]
        return self._adopt_counts((encoder, known, counts), seed)

    def merge(self, *others: Self) -> Self:
        """Add what other models have counted: the model of the rows of all.

        Models are learnt apart, say by month or by hospital, with one structure and the same cut
        points of numbers: with `structure=` and nominal features, or by `partial_fit` of copies of
        one fitted model, whose own rows `subtract` takes away again. Labels and classes may differ.
        The parameters of the smoother are those of this model. A call that raises leaves the model
        as it was.

        Parameters
        ----------
        *others : classifier
            Fitted models of the same class, which stay as they are.

        Returns
        -------
        Self
            This model, with all counts.

        Examples
        --------
        >>> from priorwise import NaiveBayesClassifier
        >>> may = NaiveBayesClassifier("laplace").fit([["sun"], ["rain"]], ["out", "in"])
        >>> june = NaiveBayesClassifier("laplace").fit([["sun"], ["sun"]], ["out", "in"])
        >>> may.merge(june).class_count_
        array([2., 2.])
        """
        return self._adopt_counts(add_counts(self._counted_with(others)))

    def subtract(self, *others: Self) -> Self:
        """Take away what other models have counted: the model of rows that were never seen there.

        Labels that no row is left of are forgotten; classes and cut points stay. A call that raises
        leaves the model as it was.

        Parameters
        ----------
        *others : classifier
            Fitted models of the same class whose rows this model has counted; see `merge`.

        Returns
        -------
        Self
            This model, with the counts that are left.
        """
        return self._adopt_counts(subtract_counts(self._counted_with(others)))

    @describe(TRAINING_ROWS)
    def forget(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Take rows away that this model has counted: the model that has never seen them.

        Labels that no row is left of are forgotten; classes and cut points stay, and so does the
        structure. A row that was never counted is a ValueError, which leaves the model as it was.
        """
        self._counted_with(())
        encoder = deepcopy(self.encoder_)
        batch, _ = self._read_batch(encoder, X, y, self.classes_, sample_weight, first=False)
        encoder = only_new_weights(encoder, self.encoder_)
        rows = MemoryRows(batch, encoder.feature_names, self.n_threads)
        networks = [one.network for one in self.counts_]
        taken = (encoder, self.classes_, rows.count(networks).counts)
        return self._adopt_counts(subtract_counts([*self._counted_with(()), taken]))

    def decay(self, factor: float) -> Self:
        """Let rows fade: all that was counted so far counts `factor` times.

        Called before each `partial_fit`, the rows of n batches ago count ``factor ** n`` times.

        Parameters
        ----------
        factor : float
            A number above 0 and at most 1.

        Returns
        -------
        Self
            This model, with smaller counts.
        """
        check_number("factor", factor, least=0, most=1)
        if factor == 0:
            raise ValueError("factor must be above 0 and at most 1, got 0")
        ((encoder, classes, counts),) = self._counted_with(())
        faded = [one.scale(float(factor)) for one in counts]
        return self._adopt_counts((scale_weights(encoder, float(factor)), classes, faded))

    def _counted_with(self, others: Sequence[Any]) -> list[CountedModel]:
        """Return what this and other fitted models have counted."""
        for model in (self, *others):
            if type(model) is not type(self):
                raise TypeError(
                    f"others must be {type(self).__name__}s, got {type(model).__name__}"
                )
            check_is_fitted(model)
        return [(one.encoder_, one.classes_, one._find_counts()) for one in (self, *others)]

    def _read_batch(
        self, encoder: TableEncoder, X: Any, y: Any, known: Any, sample_weight: Any, *, first: bool
    ) -> tuple[CodedRows, NDArray[Any]]:
        """Return the coded rows of a batch, whose labels the encoder learns, and the classes."""
        codes, known = encode_labels(y, min_classes=2 if known is None else 1, classes=known)
        weight = check_weight(sample_weight, len(codes))
        columns = encoder.fit_read(X, codes, weight, first=first)
        if weight is not None:
            codes, weight = codes[weight > 0.0], weight[weight > 0.0]
        coded = list(encoder.encode(columns))
        return CodedRows(coded, encoder.arities_, codes, len(known), weight), known

    def _adopt_counts(self, counted: CountedModel, seed: int | None = None) -> Self:
        """Smooth new counts and adopt them; what describes the structure stays."""
        encoder, classes, counts = counted
        check_contexts(sum(c.n_contexts for c in counts), self.max_contexts)
        seed = draw_seed(self.random_state) if seed is None else seed
        kept = {name: getattr(self, name) for name in ("smoothing_", *self.structure_attributes)}
        fitted = {**kept, **self._smooth(encoder, counts, self.smoothing_, seed, keep_counts=True)}
        return self.adopt(encoder, classes, counts[0].class_tree.count_rows()[0], fitted)

    def check_parameters(self) -> None:
        as_smoother(self.smoothing)
        check_number("max_contexts", self.max_contexts, least=1)
        if not isinstance(self.keep_counts, bool):
            raise ValueError(f"keep_counts must be True or False, got {self.keep_counts!r}")

    def _read_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingTable:
        # Most networks hold no row out; those that do put the rows in order when they draw them.
        return TrainingTable.read_uncut(self, X, y, sample_weight, groups, self.min_classes)

    def _learn(
        self,
        table: TrainingTable | TrainingRows,
        seed: int | None = None,
        encoder: TableEncoder | None = None,
    ) -> dict[str, Any]:
        """Learn from a table, a stream, or rows that an encoder has read."""
        fitted: dict[str, Any] = {}
        seed = draw_seed(self.random_state) if seed is None else seed
        if isinstance(table, TrainingTable):
            cut_points = learn_cut_points(
                self.discretizer, table.columns.values, table.y, table.weight,
                n_jobs=self.n_jobs, ordered=table.encoder.ordered_places,
            )  # fmt: skip
            encoder = table.encoder.with_cuts(self.discretizer, cut_points)
            rows: TrainingRows = MemoryRows(
                table.cut(cut_points), encoder.feature_names, self.n_threads
            )
            fitted["encoder_"] = encoder
        else:
            rows = table
            encoder = table.encoder if isinstance(table, RowStream) else encoder
        assert encoder is not None
        networks, structure_attributes = self._learn_structures(rows)
        candidates = as_smoother(self.smoothing).candidates()
        counted = rows.count(
            networks,
            max_contexts=self.max_contexts,
            held_back_seed=seed if len(candidates) > 1 else None,
        )
        smoother = choose_candidate(candidates, counted, n_jobs=self.n_threads)
        counts, selection_attributes = self._select(counted.counts, rows, smoother)
        return {
            **fitted,
            "smoothing_": smoother,
            **self._smooth(encoder, counts, smoother, seed, keep_counts=self.keep_counts),
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
        class_count = counts[0].class_tree.count_rows()[0]
        return Networks(
            Calibration.of({}, TAILS, class_count.sum()),
            tuple(products),
            (Cuts.join(encoder.cut_points_),),
            encoder.missing_seen,
            tuple(guards),
            prior_spread(class_count),
        )

    def _find_counts(self) -> list[NetworkCounts]:
        """Return what the networks have counted; ValueError if it was not kept."""
        check_is_fitted(self)
        if not hasattr(self, "counts_"):
            raise ValueError("keep_counts must be True to look at counts or to add to them")
        return self.counts_

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

    def _learn_structures(self, rows: TrainingRows) -> tuple[list[Network], dict[str, Any]]:
        """Return the networks to count, and fitted attributes that describe the search."""
        raise NotImplementedError

    def _select(
        self, counts: list[NetworkCounts], rows: TrainingRows, smoother: Smoother
    ) -> tuple[list[NetworkCounts], dict[str, Any]]:
        """Return the part of the networks to keep, and fitted attributes; by default all."""
        return counts, {}

    def _known_classes(self, y: Any, classes: Any) -> NDArray[Any] | None:
        if hasattr(self, "classes_"):
            return self.classes_
        if classes is None:
            return declared_classes(y) if self.declared == "count" else None
        return np.unique(np.asarray(classes))

    def _new_encoder(self) -> TableEncoder:
        return TableEncoder.for_model(self, self.discretizer)


def _spread(seed: int, n_networks: int) -> list[int]:
    """Return a seed for each network; that of a single network is the seed itself."""
    if n_networks == 1:
        return [seed]
    return [int(s) for s in np.random.SeedSequence(seed).generate_state(n_networks)]
