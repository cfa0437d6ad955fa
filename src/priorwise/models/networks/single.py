"""Single Bayesian network classifiers: naive Bayes, TAN, kDB and selective kDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from priorwise.common.validation import check_choice
from priorwise.counts import CountTree
from priorwise.models.explanation import Explanation
from priorwise.models.networks.base import MAX_CONTEXTS, BaseNetworkClassifier
from priorwise.models.networks.contributions import explain_rows, tabulate_factor
from priorwise.models.networks.network_model import NetworkModel
from priorwise.smoothing import Smoother
from priorwise.structure.networks import (
    Network,
    NetworkCounts,
    SubmodelScorer,
    TrainingRows,
    learn_kdb,
    learn_tan,
)


def _has_fixed_structure(model: Any) -> bool:
    return isinstance(model, NaiveBayesClassifier) or getattr(model, "structure", None) is not None


class SingleNetworkClassifier(BaseNetworkClassifier):
    """One network: a factor p(feature | class, parents) for each feature it uses.

    Attributes
    ----------
    structure_ : Network
        Order of the features and parents of each.
    count_trees_ : list of CountTree
        One for each feature in the order of the structure; levels are the class, then parents.
    class_tree_ : CountTree
    smoothing_ : Smoother
        The smoother used, its parameters chosen.
    """

    structure: Network | None

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(class, features); columns as in `classes_`."""
        columns = self._encode(X)
        return self.model_.log_joint(columns, self._n_threads)

    @property
    def structure_(self) -> Network:
        return self.model_.counts.network

    @property
    def count_trees_(self) -> list[CountTree]:
        return self.model_.counts.feature_trees

    @property
    def class_tree_(self) -> CountTree:
        return self.model_.counts.class_tree

    def explain(self, X: Any, reference: Any = None) -> Explanation:
        """Each feature's contribution to the log-odds of every class, for each row of X.

        Parameters
        ----------
        X : table of rows
        reference : class label, optional
            The class that log-odds are taken against; by default the mean over the classes.

        Examples
        --------
        >>> X = [["sun", "warm"], ["sun", "cold"], ["rain", "cold"], ["rain", "cold"]]
        >>> model = NaiveBayesClassifier(smoothing="laplace").fit(X, ["out", "out", "in", "in"])
        >>> told = model.explain([["sun", "cold"]], reference="in")
        >>> told.contributions[0].round(2)
        array([[ 0.  ,  1.1 ],
               [ 0.  , -0.41]])
        >>> told.log_odds.round(2)
        array([[0.  , 0.69]])
        """
        columns = self._encode(X)
        labels = [self.encoder_.code_labels(i) for i in range(self.n_features_in_)]
        explanation = explain_rows(self.model_, columns, labels, self.classes_, self._n_threads)
        return explanation if reference is None else explanation.against(reference)

    def conditional_table(self, feature: str | int, backend: str = "pandas") -> Any:
        """p(feature | class, parents) as a frame: contexts, rows counted, probabilities.

        One row for every context that occurred, after one for each context above it, in which
        the deeper parents are None; one column ``p(value)`` for each value. Bins of numeric
        features are shown as intervals.

        Parameters
        ----------
        feature : str or int
            A feature that the structure uses, by name or index.
        backend : "pandas", "polars" or "pyarrow"
            The kind of frame.

        Examples
        --------
        >>> X = [["sun", "warm"], ["sun", "cold"], ["rain", "cold"], ["rain", "cold"]]
        >>> model = NaiveBayesClassifier(smoothing="laplace").fit(X, ["out", "out", "in", "in"])
        >>> print(model.conditional_table("x0").round(2).to_string(index=False))
        class  rows  p(rain)  p(sun)
          NaN   4.0     0.50    0.50
           in   2.0     0.75    0.25
          out   2.0     0.25    0.75
        """
        check_is_fitted(self)
        names = self.structure_.feature_names
        index = names.index(feature) if feature in names else feature
        if not isinstance(index, int) or index not in self.structure_.order:
            used = [names[i] for i in self.structure_.order]
            raise ValueError(
                f"feature must be one that the structure uses, {used}, got {feature!r}"
            )
        path = [
            # Behind the known values: contexts that a memory limit made one.
            [*self.encoder_.code_labels(i), "(merged)"]
            for i in self.structure_.parents[index]
        ]
        return tabulate_factor(
            self.model_,
            self.structure_.order.index(index),
            [self.classes_.tolist(), *path],
            self.encoder_.code_labels(index),
            backend,
        )

    def _fit_rows(self, rows: TrainingRows, seed: int) -> None:
        network = self._learn_structure(rows)
        (counts,), smoother = self._count_and_choose([network], rows, seed)
        self._finish(self._select(counts, rows, smoother), smoother, seed)

    def _finish(self, counts: NetworkCounts, smoother: Smoother, seed: int) -> None:
        self.smoothing_ = smoother
        self.model_ = NetworkModel.smooth(counts, smoother, seed=seed, n_jobs=self._n_threads)

    def _predict_rows(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        return self.model_.proba(columns, self._n_threads)

    def _learn_structure(self, rows: TrainingRows) -> Network:
        raise NotImplementedError

    def _select(
        self, counts: NetworkCounts, rows: TrainingRows, smoother: Smoother
    ) -> NetworkCounts:
        """The part of the network to keep; all of it by default."""
        return counts

    @available_if(_has_fixed_structure)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count one more batch of rows; the structure must be fixed beforehand.

        The first batch fixes `classes` and the cut points of numeric features; later batches
        may bring new values of nominal features. Batches of nominal rows give the model that
        `fit` gives on all of them. Smoothing is done anew after every batch.
        """
        first = not hasattr(self, "model_")
        rows = self._in_memory(self._encode_batch(X, y, classes, sample_weight, first=first))
        network = self._fixed_structure(rows)
        seed = self._draw_seed()
        if first:
            (counts,), smoother = self._count_and_choose([network], rows, seed)
        else:
            (batch,) = rows.count([network], None, self.max_contexts).counts
            counts, smoother = self.model_.counts.merge(batch), self.smoothing_
        self._finish(counts, smoother, seed)
        return self

    def _fixed_structure(self, rows: TrainingRows) -> Network:
        given = self.structure
        assert given is not None
        if given.n_features != rows.n_features:
            raise ValueError(
                f"structure must have {rows.n_features} features, as X does, got {given.n_features}"
            )
        return given


class NaiveBayesClassifier(SingleNetworkClassifier):
    """Naive Bayes: every feature depends on the class alone.

    p(y, x) = p(y) prod_i p(x_i | y)

    Examples
    --------
    >>> X = [["sun", 30.0], ["sun", 25.0], ["rain", 12.0], ["rain", 14.0]]
    >>> model = NaiveBayesClassifier().fit(X, ["out", "out", "in", "in"])
    >>> model.predict([["sun", 28.0]])
    array(['out'], dtype='<U3')
    """

    def _reads_again(self) -> bool:
        return False

    def _learn_structure(self, rows: TrainingRows) -> Network:
        return Network.naive(rows.n_features, self._feature_names())

    def _fixed_structure(self, rows: TrainingRows) -> Network:
        return self._learn_structure(rows)


class TANClassifier(SingleNetworkClassifier):
    """Tree-augmented naive Bayes: each feature has the class and at most one feature as parents.

    The features' arcs are a maximum spanning tree on conditional mutual information given the
    class (Friedman et al. 1997).

    Parameters
    ----------
    structure : Network, optional
        Used as it is instead of learning one; needed for `partial_fit`.
    """

    def __init__(
        self,
        smoothing: str | Smoother = "hdp",
        *,
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        max_contexts: int = MAX_CONTEXTS,
        n_jobs: int | None = None,
        random_state: Any = None,
        structure: Network | None = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            missing=missing, unseen=unseen, max_contexts=max_contexts, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.structure = structure

    def _needs_pairs(self) -> bool:
        return self.structure is None

    def _learn_structure(self, rows: TrainingRows) -> Network:
        if self.structure is not None:
            return self._fixed_structure(rows)
        found = rows.measure()
        return learn_tan(found.mutual, found.conditional, feature_names=self._feature_names())


class KDBClassifier(SingleNetworkClassifier):
    """k-dependence Bayesian classifier: each feature has the class and up to k features as parents.

    Features are ordered by mutual information with the class; the parents of a feature are the
    k earlier ones with the largest conditional mutual information given the class
    (Sahami 1996).

    Parameters
    ----------
    max_parents : int
        Largest number of parents of a feature besides the class.
    structure : Network, optional
        Used as it is instead of learning one; needed for `partial_fit`.
    """

    def __init__(
        self,
        max_parents: int = 2,
        *,
        smoothing: str | Smoother = "hdp",
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        max_contexts: int = MAX_CONTEXTS,
        n_jobs: int | None = None,
        random_state: Any = None,
        structure: Network | None = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            missing=missing, unseen=unseen, max_contexts=max_contexts, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.max_parents = max_parents
        self.structure = structure

    def _needs_pairs(self) -> bool:
        return self.structure is None

    def _learn_structure(self, rows: TrainingRows) -> Network:
        if self.structure is not None:
            return self._fixed_structure(rows)
        found = rows.measure()
        return learn_kdb(
            found.mutual, found.conditional, self.max_parents, feature_names=self._feature_names()
        )


class SelectiveKDBClassifier(SingleNetworkClassifier):
    """kDB with the number of features and of parents chosen by leaving rows out.

    One more pass over the rows evaluates every k' <= k and every prefix of the order of
    features, leaving each row out of the counts (Martinez et al. 2016).

    Parameters
    ----------
    max_parents : int
        Largest number of parents of a feature besides the class.
    selection_loss : "squared" or "log"
        Loss of a row: (1 - p_y)^2, as RMSE judges, or -log p_y.

    Attributes
    ----------
    selection_ : Selection
        The sub-model chosen and the loss of every other.
    """

    def __init__(
        self,
        max_parents: int = 5,
        *,
        selection_loss: str = "squared",
        smoothing: str | Smoother = "hdp",
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        max_contexts: int = MAX_CONTEXTS,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            missing=missing, unseen=unseen, max_contexts=max_contexts, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.max_parents = max_parents
        self.selection_loss = selection_loss

    def _needs_pairs(self) -> bool:
        return True

    def _learn_structure(self, rows: TrainingRows) -> Network:
        check_choice("selection_loss", self.selection_loss, ("squared", "log"))
        found = rows.measure()
        return learn_kdb(
            found.mutual, found.conditional, self.max_parents, feature_names=self._feature_names()
        )

    def _select(
        self, counts: NetworkCounts, rows: TrainingRows, smoother: Smoother
    ) -> NetworkCounts:
        scorer = SubmodelScorer.prepare(
            counts.network, counts.feature_trees, counts.class_tree, smoother, self.selection_loss
        )
        self.selection_ = rows.select(scorer)
        return counts.restrict(self.selection_.n_features, self.selection_.max_parents)
