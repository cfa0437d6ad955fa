"""A one-dependence network that is searched for by a score of its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from priorwise.common.validation import check_choice
from priorwise.models.networks.base import MAX_CONTEXTS
from priorwise.models.networks.single import SingleNetworkClassifier
from priorwise.smoothing import Smoother
from priorwise.structure.networks import Network, learn_superparent
from priorwise.structure.networks.rows import Collect, Rows
from priorwise.structure.networks.superparent import EVALUATIONS, SCORES


class SuperParentClassifier(SingleNetworkClassifier):
    """Naive Bayes with arcs that improve the prediction, found by superparents.

    Each feature has the class and at most one feature as parents. Arcs are added one at a
    time: the feature that scores best as parent of all features without one, the superparent,
    gets the child that scores best alone, as long as the score improves (Keogh and Pazzani
    1999). With ``search_score="cll"`` this is CLL-SuperParent (Jiang et al. 2015).

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
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            numeric_features=numeric_features,
            ordinal_features=ordinal_features,
            missing_values=missing_values,
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
