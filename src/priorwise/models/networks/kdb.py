"""Networks learnt from the information that features have about the class and each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from priorwise.common.validation import check_choice, check_number
from priorwise.models.memory import take_one
from priorwise.models.networks.base import MAX_CONTEXTS
from priorwise.models.networks.single import SingleNetworkClassifier
from priorwise.smoothing import Smoother
from priorwise.structure.networks import (
    Network,
    NetworkCounts,
    SubmodelScorer,
    learn_kdb,
    learn_superparent,
    learn_tan,
)
from priorwise.structure.networks.rows import Collect, Measure, Rows, Score
from priorwise.structure.networks.select import Selection
from priorwise.structure.networks.superparent import EVALUATIONS, SCORES


class StructuredNetworkClassifier(SingleNetworkClassifier):
    """A network whose structure is learnt, or given by the parameter `structure`.

    Parameters
    ----------
    structure : Network, optional
        Used as it is instead of learning one.
    """

    structure: Network | None

    def _needs_pairs(self) -> bool:
        return self.structure is None

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        """Return the structure that is given; subclasses learn one if there is none."""
        network = self.structure
        assert network is not None
        if network.n_features != rows.n_features:
            raise ValueError(
                f"structure must have {rows.n_features} features, as X does, "
                f"got {network.n_features}"
            )
        return [network], {}


class TANClassifier(StructuredNetworkClassifier):
    """Tree-augmented naive Bayes: each feature has the class and at most one feature as parents.

    The arcs between features are a maximum spanning tree on conditional mutual information given
    the class (Friedman et al. 1997). A feature whose parent has a value never seen with the class
    backs off to p(feature | class), where other libraries take the uniform distribution.

    Examples
    --------
    >>> rows = [[a, b] for a in "xy" for b in "pq"] * 5
    >>> model = TANClassifier().fit(rows, [(a == "x") == (b == "p") for a, b in rows])
    >>> model.predict([["x", "q"]])
    array([False])
    """

    most_parents = 1

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
        structure: Network | None = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            numeric_features=numeric_features,
            ordinal_features=ordinal_features,
            date_features=date_features,
            text_features=text_features,
            missing_values=missing_values, min_rows_per_label=min_rows_per_label,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.structure = structure

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        if self.structure is not None:
            return super()._learn_structures(rows)
        information = rows.answer(Measure())
        names = rows.feature_names
        return [learn_tan(information, feature_names=names)], {}


class KDBClassifier(StructuredNetworkClassifier):
    """Bayesian classifier of k-dependence: the class and at most k features are parents.

    Features are ordered by mutual information with the class. The parents of a feature are the
    k = `max_parents` earlier ones with the largest conditional mutual information given the class
    (Sahami 1996).

    Parameters
    ----------
    max_parents : int
        Largest number of parents of a feature besides the class; 0 gives naive Bayes.

    Examples
    --------
    >>> rows = [[a, b] for a in "xy" for b in "pq"] * 5
    >>> model = KDBClassifier(1).fit(rows, [(a == "x") == (b == "p") for a, b in rows])
    >>> model.structure_.parents
    ((), (0,))
    """

    reductions: ClassVar[Mapping[str, Any]] = {"max_parents": take_one(0)}

    def __init__(
        self,
        max_parents: int = 2,
        *,
        smoothing: str | Smoother = "hdp",
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
        structure: Network | None = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            numeric_features=numeric_features,
            ordinal_features=ordinal_features,
            date_features=date_features,
            text_features=text_features,
            missing_values=missing_values, min_rows_per_label=min_rows_per_label,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.max_parents = max_parents
        self.structure = structure

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("max_parents", self.max_parents, least=0)

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        if self.structure is not None:
            return super()._learn_structures(rows)
        information, names = rows.answer(Measure()), rows.feature_names
        return [learn_kdb(information, self.max_parents, feature_names=names)], {}


class SelectiveKDBClassifier(SingleNetworkClassifier):
    """Selective kDB: the number of features and of parents is chosen by leaving rows out.

    One more pass over the rows scores every number of parents up to `max_parents` with every
    number of features, taken in the order of kDB, leaving each row out of the counts (Martinez
    et al. 2016).

    Parameters
    ----------
    max_parents : int
        Largest number of parents of a feature besides the class to choose from.
    selection_loss : "squared" or "log"
        Loss of a row whose class is y: (1 - p_y)^2 or -log p_y. With two classes the first is what
        RMSE sums; with more, RMSE also sums the squared probabilities of the other classes.

    Attributes
    ----------
    selection_ : Selection
        The sub-model chosen and the losses of all sub-models.

    Examples
    --------
    >>> rows = [[a, b] for a in "xy" for b in "pq"] * 5
    >>> model = SelectiveKDBClassifier().fit(rows, [a == "x" for a, b in rows])
    >>> model.selection_.n_features, model.selection_.max_parents
    (1, 0)
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **SingleNetworkClassifier.learnt,
        "selection_": Selection,
    }
    reductions: ClassVar[Mapping[str, Any]] = {"max_parents": take_one(0)}

    structure_attributes = ("selection_",)

    def __init__(
        self,
        max_parents: int = 5,
        *,
        selection_loss: str = "squared",
        smoothing: str | Smoother = "hdp",
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
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            numeric_features=numeric_features,
            ordinal_features=ordinal_features,
            date_features=date_features,
            text_features=text_features,
            missing_values=missing_values, min_rows_per_label=min_rows_per_label,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.max_parents = max_parents
        self.selection_loss = selection_loss

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("max_parents", self.max_parents, least=0)
        check_choice("selection_loss", self.selection_loss, ("squared", "log"))

    def _needs_pairs(self) -> bool:
        return True

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        information, names = rows.answer(Measure()), rows.feature_names
        return [learn_kdb(information, self.max_parents, feature_names=names)], {}

    def _select(
        self, counts: list[NetworkCounts], rows: Rows, smoother: Smoother
    ) -> tuple[list[NetworkCounts], dict[str, Any]]:
        scorer = SubmodelScorer.prepare(counts[0], smoother, loss=self.selection_loss)
        selection = rows.answer(Score(scorer=scorer))
        kept = counts[0].restrict(selection.n_features, selection.max_parents)
        return [kept], {"selection_": selection}


class SuperParentClassifier(SingleNetworkClassifier):
    """Naive Bayes with arcs that improve the prediction, found by superparents.

    Each feature has the class and at most one feature as parents. Arcs are added one at a
    time: the feature that scores best as parent of all features without one, the superparent,
    gets the child that scores best alone, as long as the score improves (Keogh and Pazzani
    1999). With ``search_score="cll"`` this is CLL-SuperParent (Qiu et al. 2015).

    Parameters
    ----------
    search_score : "cll", "accuracy" or "auc"
        Conditional log likelihood, share of right predictions, or Hand and Till's area under
        the ROC curve, on the training rows.
    evaluation : "leave-one-out" or "resubstitution"
        Whether a row is taken out of the counts that judge it during the search.

    Attributes
    ----------
    search_scores_ : array
        Score of naive Bayes, then after each arc.

    Examples
    --------
    >>> rows = [[a, b] for a in "xy" for b in "pq"] * 5
    >>> model = SuperParentClassifier().fit(rows, [(a == "x") == (b == "p") for a, b in rows])
    >>> list(model.structure_.arcs())
    [(0, 1)]
    >>> model.predict([["x", "q"]])
    array([False])
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **SingleNetworkClassifier.learnt,
        "search_scores_": np.ndarray,
    }
    most_parents = 1

    structure_attributes = ("search_scores_",)

    def __init__(
        self,
        search_score: str = "cll",
        *,
        evaluation: str = "leave-one-out",
        smoothing: str | Smoother = "hdp",
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
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            numeric_features=numeric_features,
            ordinal_features=ordinal_features,
            date_features=date_features,
            text_features=text_features,
            missing_values=missing_values, min_rows_per_label=min_rows_per_label,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.search_score = search_score
        self.evaluation = evaluation

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("search_score", self.search_score, SCORES)
        check_choice("evaluation", self.evaluation, EVALUATIONS)

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        coded = rows.answer(Collect())
        search = learn_superparent(
            coded.columns, coded.arities, coded.y, coded.n_classes, weight=coded.weight,
            search_score=self.search_score, evaluation=self.evaluation,
            feature_names=rows.feature_names, n_jobs=self.n_threads,
        )  # fmt: skip
        return [search.network], {"search_scores_": search.scores}
