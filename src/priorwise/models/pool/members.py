"""Members of a pool: how each is fitted, and how their out-of-fold probabilities are joined."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from priorwise.common.numeric import log_loss, pick
from priorwise.common.runtime import Deadline
from priorwise.counts.draws import N_FOLDS, deal_into_folds
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import READING_PARAMETERS
from priorwise.models.base import TableClassifier
from priorwise.models.correction import OffsetBoosting
from priorwise.models.pool.plan import PoolPlan
from priorwise.models.pool.weights import PoolWeights
from priorwise.models.training_table import TrainingTable
from priorwise.steps.pool import Foreign, Reread
from priorwise.steps.step import Step

N_PILOT_ESTIMATORS = 5
"""Estimators of an ensemble that are fitted to measure how many fit in the time there is."""

TIME_SHARE = 1.0 / 3.0
"""Share of the time limit that an ensemble without a time limit of its own may take."""


def learns_from_tables(estimator: Any, encoder: TableEncoder) -> bool:
    """Whether a classifier takes the table that a pool has read, or rows of X."""
    return has_own(estimator, "fit_table") and estimator.reads_like(encoder)


def has_own(estimator: Any, name: str) -> bool:
    """Whether an attribute is of the estimator itself.

    A wrapper such as `sklearn.frozen.FrozenEstimator` hands on the attributes of what it wraps.
    """
    return name in vars(estimator) or hasattr(type(estimator), name)


def prepare_member(estimator: Any, seed: int) -> Any:
    """Return a clone of a classifier; parameters `random_state` that are None become `seed`."""
    member = clone(estimator)
    unset = {
        name: seed
        for name, value in member.get_params().items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return member.set_params(**unset) if unset else member


def set_alike(members: Sequence[tuple[str, Any]], pool: Any) -> list[tuple[str, Any]]:
    """Return members that read tables as a pool does and have its monotone constraints."""
    return [
        (name, constrain(name, read_alike(member, pool), pool.monotonic_cst))
        for name, member in members
    ]


def read_alike(estimator: Any, pool: Any) -> Any:
    """Return a classifier that reads tables as a pool does: itself if it does, or a clone.

    Parameters of reading that the classifier leaves at their default are those of the pool.
    Classifiers of other libraries are returned as they are.
    """
    if not has_own(estimator, "fit_table"):
        return estimator
    defaults = _find_defaults(type(estimator).__init__)
    handed_on = {
        name: getattr(pool, name)
        for name in READING_PARAMETERS
        if name in defaults
        and hasattr(pool, name)
        and getattr(estimator, name) is not getattr(pool, name)
        and repr(getattr(estimator, name)) == repr(defaults[name])
    }
    return clone(estimator).set_params(**handed_on) if handed_on else estimator


@cache
def _find_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of the arguments of a function."""
    return {name: one.default for name, one in signature(function).parameters.items()}


def constrain(name: str, estimator: Any, monotonic_cst: Any) -> Any:
    """Return a clone of a classifier with the monotone constraints of a pool.

    Without constraints it is the classifier itself. ValueError, which names the member, if it
    cannot have them or has others.
    """
    if monotonic_cst is None:
        return estimator
    parameters = estimator.get_params(deep=False)
    if "monotonic_cst" not in parameters:
        raise ValueError(
            f"estimators must have a parameter monotonic_cst if it is given, which member {name!r} "
            f"({type(estimator).__name__}) does not: leave it out"
        )
    own = parameters["monotonic_cst"]
    if own is not None and repr(own) != repr(monotonic_cst):
        raise ValueError(
            f"monotonic_cst of member {name!r} must be None or that of the pool, got {own!r}"
        )
    return clone(estimator).set_params(monotonic_cst=monotonic_cst)


def limit_time(name: str, member: Any, table: TrainingTable, deadline: Deadline) -> None:
    """Set the parameters of a classifier so that it is fitted before a deadline, if it can be.

    One with a parameter `max_seconds` gets the time that is left. An ensemble with a parameter
    `n_estimators` gets as many estimators as fit in `TIME_SHARE` of the whole time, estimated
    from `N_PILOT_ESTIMATORS`; at least that many.
    """
    parameters = member.get_params(deep=False)
    if "max_seconds" in parameters:
        own = parameters["max_seconds"]
        left = max(deadline.left, 1e-3)
        member.set_params(max_seconds=left if own is None else min(own, left))
    elif "n_estimators" in parameters:
        pilot = clone(member).set_params(n_estimators=N_PILOT_ESTIMATORS)
        start = time.perf_counter()
        if learns_from_tables(pilot, table.encoder):
            pilot.fit_table(table)
        else:
            fit_on_rows(name, pilot, table)
        seconds = (time.perf_counter() - start) / N_PILOT_ESTIMATORS
        n_in_time = max(N_PILOT_ESTIMATORS, int(TIME_SHARE * deadline.seconds / seconds))
        member.set_params(n_estimators=min(parameters["n_estimators"], n_in_time))


def fit_on_rows(name: str, estimator: Any, table: TrainingTable) -> Any:
    """Fit a classifier to the rows of X that a table was read from, copies of them included."""
    if table.has_copies:
        times = table.weights.astype(np.intp)
        table = replace(table.take(np.repeat(np.arange(table.n_rows), times)), weight=None)
    arguments = weight_arguments(name, estimator, table.weight)
    try:
        return estimator.fit(table.rows_given(), table.classes[table.y], **arguments)
    except (TypeError, ValueError) as error:
        if table.encoder.is_nominal_.any():
            error.add_note(
                f"Member {name!r} ({type(estimator).__name__}) is given the rows as they are, with "
                "columns of labels. If it takes numbers only, put an encoder before it, such as "
                "sklearn.pipeline.make_pipeline(sklearn.preprocessing.OneHotEncoder("
                f'handle_unknown="ignore"), {type(estimator).__name__}())'
            )
        raise


def take_out_of_fold(
    name: str, member: Any, table: TrainingTable, folds: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the member's `oof_proba_` and delete them there, or fit it without each fold."""
    if not has_own(member, "oof_proba_"):
        return predict_out_of_fold(name, member, table, folds)
    proba: NDArray[np.float64] = member.oof_proba_
    if "oof_proba_" in vars(member):
        del member.oof_proba_
    return proba


def predict_out_of_fold(
    name: str, estimator: Any, table: TrainingTable, folds: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return probabilities of each row by a clone of the classifier fitted without its fold.

    A class that the other folds lack has probability zero there, unless the classifier learns
    from tables and smooths. If the other folds have a single class, a row gets the frequencies
    of the classes in the whole table.
    """
    proba = np.zeros((table.n_rows, table.n_classes))
    takes_table = learns_from_tables(estimator, table.encoder)
    for fold in np.unique(folds):
        held, rest = np.flatnonzero(folds == fold), table.take(np.flatnonzero(folds != fold))
        if len(np.unique(rest.y)) < 2:
            proba[held] = np.bincount(table.y, table.weight, table.n_classes) / table.weights.sum()
        elif takes_table:
            member = clone(estimator).fit_table(rest)
            proba[held] = member.step_.predict(table.columns.take(held), member.n_threads)
        else:
            member = fit_on_rows(name, clone(estimator), rest)
            places = np.searchsorted(table.classes, member.classes_)
            proba[np.ix_(held, places)] = member.predict_proba(table.take(held).rows_given())
    return proba


def check_classes(name: str, member: Any, classes: NDArray[Any]) -> None:
    """Raise an error if a fitted member knows other classes than the pool."""
    if not np.array_equal(member.classes_, classes):
        raise ValueError(
            f"member {name!r} must have the classes of the pool, {classes.tolist()}, "
            f"got {np.asarray(member.classes_).tolist()}"
        )


def weight_arguments(
    name: str, estimator: Any, weight: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return the keyword arguments that give weights to `fit` of a classifier.

    With scikit-learn's metadata routing they are what the classifier requests. Without, they are
    "sample_weight" if `fit` takes it, that of the last step of a pipeline, or of the estimator
    inside a search.
    """
    if weight is None:
        return {}
    if get_config()["enable_metadata_routing"]:
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=name).add(member=estimator, method_mapping=mapping)
        routed = router.route_params(caller="fit", params={"sample_weight": weight})
        return dict(routed["member"]["fit"])
    prefix = _find_weight_argument(estimator)
    if prefix is None:
        raise ValueError(
            f"member {name!r} must take sample_weight in fit, which {type(estimator).__name__} "
            "does not: leave it out, or fit without weights"
        )
    return {prefix: weight}


def _find_weight_argument(estimator: Any) -> str | None:
    parameters = signature(estimator.fit).parameters
    if "sample_weight" in parameters:
        return "sample_weight"
    if not any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    if hasattr(estimator, "steps"):
        step, last = estimator.steps[-1]
        argument = _find_weight_argument(last) if hasattr(last, "fit") else None
        return None if argument is None else f"{step}__{argument}"
    inner = getattr(estimator, "estimator", None)
    return None if inner is None else _find_weight_argument(inner)


def take_step(member: Any, encoder: TableEncoder) -> Step:
    """Return the step of a fitted member of a pool whose tables an encoder reads."""
    if learns_from_tables(member, encoder):
        step: Step = member.step_
        return step
    inside = member.estimator if isinstance(member, FrozenEstimator) else member
    if isinstance(inside, TableClassifier):
        return Reread(inside.encoder_, inside.step_)
    return Foreign(member)


@dataclass(frozen=True, eq=False)
class JoinedMembers:
    """The weights of some members, boosting, and what both give for rows not seen."""

    names: tuple[str, ...]
    weights: PoolWeights
    pooled: NDArray[np.float64]
    boosting: OffsetBoosting | None
    boosted: NDArray[np.float64]
    seconds: float
    """How long boosting took."""

    @classmethod
    def choose(
        cls,
        held_out: Mapping[str, NDArray[np.float64]],
        table: TrainingTable,
        plan: PoolPlan,
        **options: Any,
    ) -> JoinedMembers:
        """Join all members, or all but the optional one if that has the lower out-of-fold loss.

        Boosting the others is tried only if boosting all lowers the loss by more than the optional
        member does: then it may find more than that member knows.
        """
        joined = cls.fit(held_out, table, plan, **options)
        if plan.optional not in held_out or len(held_out) == 1 or joined.boosting is None:
            return joined
        others = {name: proba for name, proba in held_out.items() if name != plan.optional}
        alone = cls.fit(others, table, replace(plan, boosting=None), **options)
        pooled_loss = replace(joined, boosting=None).loss(table)
        if alone.loss(table) - pooled_loss > pooled_loss - joined.loss(table):
            return joined
        trials = [joined, cls.fit(others, table, plan, **options)]
        return trials[pick([one.loss(table) for one in trials])]

    @classmethod
    def fit(
        cls,
        held_out: Mapping[str, NDArray[np.float64]],
        table: TrainingTable,
        plan: PoolPlan,
        *,
        boost: Callable[..., tuple[OffsetBoosting | None, NDArray[np.float64]]] | None = None,
        **options: Any,
    ) -> JoinedMembers:
        """Fit weights to out-of-fold probabilities, then boosting where there is time for it.

        Boosting is fitted to the rows of the table, unless `boost` finds others to learn from.
        """
        probabilities = list(held_out.values())
        generator = np.random.default_rng(options["seed"])
        folds = deal_into_folds(table.y, N_FOLDS, generator, table.group)
        weights, pooled = PoolWeights.fit_and_judge(
            probabilities, table.y, table.weight, folds, plan.penalty, plan.intercept_penalty,
            keep_signs=bool(options["monotone"]),
        )  # fmt: skip
        boosting = None
        boosted, start = pooled, time.perf_counter()
        n_known = int(np.isfinite(pooled).all(axis=1).sum())
        settings = plan.plan_boosting(n_known, table.n_classes)
        if settings is not None and not options["deadline"].over:
            if boost is None:
                boosting, boosted = OffsetBoosting.fit(
                    table.feature_columns,
                    table.y,
                    table.weight,
                    pooled,
                    settings,
                    group=table.group,
                    **options,
                )
            else:
                boosting, boosted = boost(weights, table, pooled, settings, **options)
        seconds = time.perf_counter() - start
        return cls(tuple(held_out), weights, pooled, boosting, boosted, seconds)

    @property
    def oof_proba(self) -> NDArray[np.float64]:
        """Probabilities of rows by members, and boosters if any, that have not seen them."""
        if self.boosting is None:
            return self.pooled
        return np.where(np.isnan(self.boosted), self.pooled, self.boosted)

    def loss(self, table: TrainingTable) -> float:
        """Return the mean log-loss of the rows that have out-of-fold probabilities."""
        return log_loss(self.oof_proba, table.y, table.weight)
