"""Classifiers that are a single Bayesian network; naive Bayes."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from priorwise.counts import CountTree
from priorwise.models.networks.base import BaseNetworkClassifier
from priorwise.models.networks.conditional_tables import tabulate_factor
from priorwise.models.networks.network_model import NetworkModel
from priorwise.structure.networks import Network
from priorwise.structure.networks.rows import Rows


class SingleNetworkClassifier(BaseNetworkClassifier):
    """One network: a factor p(feature | class, parents) for each feature it uses.

    Subclasses implement `_learn_structures`, which returns one network.

    Attributes
    ----------
    model_ : NetworkModel
        The network with its probabilities, and its counts if `keep_counts`.
    structure_ : Network
        Order of the features and parents of each.
    count_trees_ : list of CountTree
        One for each feature in the order of the structure; levels are the class, then parents.
        Needs `keep_counts`.
    class_tree_ : CountTree
        Rows of each class. Needs `keep_counts`.
    """

    @property
    def model_(self) -> NetworkModel:
        """The network with its probabilities, and its counts if they were kept."""
        return self._list_models()[0]

    @property
    def structure_(self) -> Network:
        """Order of the features and parents of each."""
        return self.model_.network

    @property
    def count_trees_(self) -> list[CountTree]:
        """Count trees of the features in the order of the structure."""
        return self._find_counts()[0].feature_trees

    @property
    def class_tree_(self) -> CountTree:
        """Rows of each class."""
        return self._find_counts()[0].class_tree

    def conditional_table(self, feature: str | int, *, backend: str = "pandas") -> Any:
        """Return p(feature | class, parents) as a frame.

        One row for every context that occurred, after one for each context above it, in which
        the deeper parents are None; one column ``p(value)`` for each value. Bins of numeric
        features are shown as intervals. A context that leaves parents open has what the network
        expects of a new one below it; smoothers such as HDP do not take that for the shares of its
        rows.

        Parameters
        ----------
        feature : str or int
            A feature that the structure uses, by name or index.
        backend : "pandas", "polars" or "pyarrow"
            The kind of frame.

        Returns
        -------
        frame
            The values of class and parents, the rows counted and the probabilities.

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
            # The code behind the known values: contexts that a memory limit made one.
            [*self.encoder_.code_labels(i), "(merged)"]
            for i in self.structure_.parents[index]
        ]
        counts, place = self._find_counts()[0], self.structure_.order.index(index)
        return tabulate_factor(
            counts,
            place,
            self.cells_[0][1 + place],
            self.smoothing_.rest,
            [self.classes_.tolist(), *path],
            self.encoder_.code_labels(index),
            backend,
        )


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

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        return [Network.naive(rows.n_features, rows.feature_names)], {}
