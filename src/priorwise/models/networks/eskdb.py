"""Ensembles of selective k-dependence networks (ESKDB)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.docstrings import hook
from priorwise.common.numeric import Trials, draw_seed, safe_log
from priorwise.common.runtime import Deadline, Progress
from priorwise.common.validation import check_choice, check_number
from priorwise.counts.draws import N_FOLDS
from priorwise.data.encoding import TableEncoder
from priorwise.models.memory import FEWER_THREADS, TableSize, take_one
from priorwise.models.networks.base import MAX_CONTEXTS
from priorwise.models.networks.dealings import Dealings, HeldOut
from priorwise.models.networks.eskdb_members import (
    LOSS_UNIT,
    MAX_FEATURES,
    NetworkMember,
    TrialLosses,
    join_members,
    learn_thesis_member,
    learn_weighted_member,
)
from priorwise.models.networks.network_model import count_scored
from priorwise.models.networks.streamed import StreamedClassifier
from priorwise.models.networks.table_rows import TableRows
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import as_smoother, check_smoothing
from priorwise.steps.networks.networks import Networks
from priorwise.streaming.row_stream import RowStream
from priorwise.structure.networks.rows import Recipe, Rows

MAX_BINS = (8, 16, 32, 64, 255)
"""Numbers of bins to choose from."""

MIN_ROWS_PER_BIN, MIN_ROWS_PER_CELL = 40, 4
"""A number of bins is tried only with this many rows per bin, and per bin and class."""

CLEARLY_WORSE = 1.1
"""While no number of bins is better than the fewest bins, the next larger one is tried too, unless
the last one had more than `CLEARLY_WORSE` times the log-loss of the fewest."""

CLEAR_SHARE = 0.25
"""Share of the entropy of the classes up to which `max_estimators` networks are learnt."""

MAX_TRIED = 2
"""Most members that are learnt to try a number of bins: the first ones that do not see the first
fold, by whose rows the numbers are judged. Those of the best number are kept."""


class ESKDBClassifier(StreamedClassifier):
    """The mean probability of k-dependence networks learnt with randomness.

    Two recipes. "weighted", the default, is more accurate: rows are dealt into five folds, and
    each member learns from all but one of them; its structure comes from a bootstrap and from
    random cuts that do not look at labels, and weights of features and levels from penalised
    conditional likelihood on cross-fitted estimates. Its tables count these rows to predict those
    of the fold, and all rows to predict new ones (`recount`). Of more than 200 features
    a member uses 200, drawn in proportion to mutual information. "thesis" draws MDLP
    cut points and an order of features in proportion to mutual information for each member,
    selects a sub-model by leaving rows out and smooths it (Algorithms 9-15 of Zhang's thesis).

    Parameters
    ----------
    n_estimators : int
        Number of networks.
    max_estimators : int or None
        Number of networks where the classes are nearly a function of the features: where the first
        ones leave at most a quarter of the classes' entropy in the rows of one fold, more of them
        are better. Only for the recipe "weighted"; None, the default, is `n_estimators`.
    n_dealings : int
        How often the rows are dealt into five folds anew; every five members, the next dealing has
        its turn. With several dealings, the members that judge a row out of fold have learnt from
        different rows, as those that predict new rows have. Only for the recipe "weighted".
    recount : bool
        Whether the tables that predict new rows count all rows, up to 50,000 of them, instead of
        those that the network was learnt from. Only for the recipe "weighted".
    max_parents : int
        Largest number of parents of a feature besides the class.
    recipe : "weighted" or "thesis"
        How a member is learnt.
    max_bins : int or "auto"
        Largest number of bins of a numeric feature in the weighted recipe; "auto" chooses from 8,
        16, 32, 64 and 255 by the log-loss of two members, one below six, on rows of one fold.
    smoothing : str or Smoother
        How counts become probabilities in the thesis recipe: "hdp" (default), "hgs", "m-branch",
        "m-estimate", "laplace", "mle", or a smoother. The weighted recipe shrinks level by level.
    max_contexts : int
        Largest number of contexts of a member, which bounds its memory: a context is a node of a
        count tree, such as a class with one value of each parent. More raise a ValueError.
    max_seconds : float or None
        After `max_seconds` no further member is started. At least one member is always learnt.
        Which members are learnt depends on the machine: such a fit is not reproducible.
    verbose : int
        Above 0, members learnt are reported on the error stream.

    Attributes
    ----------
    estimators_ : list of NetworkMember
        The networks with their cut points, and the fold that each was learnt without.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of the training rows by members that have not seen them; NaN for a row that
        every member has seen, and for rows of weight zero. Only after `fit` with the weighted
        recipe.
    folds_ : list of int or None
        The fold that each network was learnt without; only its tables may have counted it. Folds
        of the second dealing have numbers from 5, and so on.
    max_bins_ : int
        Largest number of bins of a numeric feature. Only with the weighted recipe.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ESKDBClassifier(5, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> model.oof_proba_.shape
    (150, 3)
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **StreamedClassifier.learnt,
        "folds_": list,
        "max_bins_": int,
    }
    reductions: ClassVar[Mapping[str, Any]] = {**FEWER_THREADS, "max_parents": take_one(0)}
    step_: Networks
    folds_: list[int | None]

    def __init__(
        self,
        n_estimators: int = 30,
        *,
        max_estimators: int | None = None,
        n_dealings: int = 1,
        recount: bool = True,
        max_parents: int = 4,
        recipe: str = "weighted",
        max_bins: int | str = "auto",
        smoothing: str | Smoother = "hdp",
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
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        max_seconds: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.n_dealings = n_dealings
        self.recount = recount
        self.max_parents = max_parents
        self.recipe = recipe
        self.max_bins = max_bins
        self.smoothing = smoothing
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
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.max_seconds = max_seconds
        self.verbose = verbose

    @property
    def estimators_(self) -> list[NetworkMember]:
        """The networks, each with cut points of its own."""
        step, names = self._find_step(), self.feature_labels_
        levels = step.levels or (None,) * len(step.products)
        return [
            NetworkMember(names, _core.CutNetwork(product, cuts.points, cuts.n_points), *others)
            for product, cuts, *others in zip(
                step.products, step.cuts, self.folds_, levels, strict=True
            )
        ]

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        # A thread learns one member at a time, and counts one feature of it at a time.
        n_parents = min(int(self.max_parents), size.n_features - 1)
        contexts = size.context_bytes(n_parents)
        if self.recipe == "thesis":
            contexts *= size.n_features
        per_row = size.n_classes * (n_parents + 1) * min(size.n_features, MAX_FEATURES)
        scores = 12.0 * min(size.n_rows, count_scored(per_row)) * per_row
        per_member = 20.0 * size.n_rows * size.n_features + scores + size.pair_bytes + contexts
        distinct_values = 76.0 * size.n_rows * size.n_numeric
        return size.table_bytes + distinct_values + self.n_threads * per_member

    def check_parameters(self) -> None:
        check_choice("recipe", self.recipe, ("weighted", "thesis"))
        check_number("n_estimators", self.n_estimators, least=1, whole=True)
        if self.max_estimators is not None:
            check_number("max_estimators", self.max_estimators, least=self.n_estimators, whole=True)
        check_number("n_dealings", self.n_dealings, least=1, whole=True)
        check_number("max_parents", self.max_parents, least=0)
        check_number("max_contexts", self.max_contexts, least=1)
        check_smoothing(self.smoothing)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0.0)
        if isinstance(self.max_bins, str):
            check_choice("max_bins", self.max_bins, ("auto",))
        else:
            check_number("max_bins", self.max_bins, least=2)

    def _learn(self, table: TrainingTable | RowStream, seed: int | None = None) -> dict[str, Any]:
        seed = draw_seed(self.random_state) if seed is None else seed
        in_memory = isinstance(table, TrainingTable)
        if not in_memory and self.max_seconds is not None:
            raise ValueError(
                "max_seconds must be None for fit_dataset, since members share passes, "
                f"got {self.max_seconds!r}"
            )
        rows = TableRows(table, self.n_threads) if isinstance(table, TrainingTable) else table
        n_members, deadline = int(self.n_estimators), Deadline.after(self.max_seconds)
        most = n_members if self.max_estimators is None else int(self.max_estimators)
        progress = Progress(n_members, in_memory and self.verbose > 0, unit="members")
        seeds = np.random.SeedSequence(seed).spawn(max(most, N_FOLDS) + 1)
        options: dict[str, Any] = {
            "max_parents": int(self.max_parents),
            "max_contexts": int(self.max_contexts),
            "feature_names": rows.feature_names,
        }
        if self.recipe == "thesis":
            smoother, values = as_smoother(self.smoothing), rows.count_values()
            n_rows = len(rows.y) if len(smoother.candidates()) > 1 else None
            begun = (
                learn_thesis_member(values, n_rows, smoother, np.random.default_rng(one), **options)
                for one in seeds[:n_members]
            )
            # The first member is learnt, whatever the time.
            timed = [
                _learn_in_time(one, deadline if i > 0 else None, progress)
                for i, one in enumerate(begun)
            ]
            learnt = [one for one in rows.learn(timed, n_members) if one is not None]
            progress.close()
            step = join_members(learnt, table.encoder)
            return {"step_": step, "folds_": [None] * len(learnt)}

        dealings = Dealings(rows, int(self.n_dealings), seed)
        options["recount"] = bool(self.recount)

        def begin(place: int, max_bins: int) -> Recipe[NetworkMember]:
            group, generator = dealings.group_of(place), np.random.default_rng(seeds[place])
            return learn_weighted_member(group, rows.n_classes, max_bins, generator, **options)

        bins = self._list_max_bins(rows, dealings.deal(0))
        first = dealings.list_first_group(n_members)
        max_bins, tried = self._choose_max_bins(rows, bins, first[:MAX_TRIED], begin, deadline)
        members = dict(zip(first, tried, strict=False))
        progress.step(count=len(members))

        held = HeldOut(dealings, table) if isinstance(table, TrainingTable) else None
        judging = first if n_members < most else []

        def settle(place: int, member: NetworkMember) -> NetworkMember:
            return member if held is None or place in judging else held.settle(place, member)

        def learn(places: list[int], n_sharing: int) -> None:
            for together in dealings.split(places):
                timed = [
                    _learn_in_time(
                        begin(i, max_bins),
                        deadline if members or i > 0 else None,
                        progress,
                        partial(settle, i),
                    )
                    for i in together
                ]
                learnt = zip(together, rows.learn(timed, n_sharing), strict=True)
                members.update((i, one) for i, one in learnt if one is not None)
            progress.close()

        learn([i for i in range(n_members) if i not in members], n_members)
        judges = [members[i] for i in first if i in members]
        if n_members < most and _are_clear(judges, rows, dealings.deal(0)):
            progress = Progress(most - n_members, progress.shown, unit="further members")
            learn(list(range(n_members, most)), most)
        members = dict(sorted(members.items()))
        fitted = {
            "step_": join_members(list(members.values()), table.encoder),
            "folds_": dealings.list_folds(list(members)),
            "max_bins_": max_bins,
        }
        if held is not None:
            fitted["oof_proba_"] = held.average(members)
        return fitted

    def _choose_max_bins(
        self,
        rows: Rows,
        bins: list[int],
        places: list[int],
        begin: Callable[[int, int], Recipe[NetworkMember]],
        deadline: Deadline,
    ) -> tuple[int, list[NetworkMember]]:
        """Return the best number of bins, and the members that were tried, those at `places`."""
        if len(bins) == 1:
            return bins[0], []
        n_together = max(1, rows.max_together // len(places))
        losses, learnt = dict[int, float](), dict[int, list[NetworkMember]]()
        trials = Trials[int, list[NetworkMember]](bins, patience=CLEARLY_WORSE)
        for max_bins in trials:
            if losses and deadline.half_over:
                break
            if max_bins not in learnt:
                first = bins.index(max_bins)
                some = bins[first : first + n_together]
                begun = [begin(place, one) for one in some for place in places]
                members = rows.learn(begun, int(self.n_estimators))
                for i, one in enumerate(some):
                    learnt[one] = members[i * len(places) : (i + 1) * len(places)]
                tried = TrialLosses([learnt[one] for one in some], rows.encoder)
                summed = rows.sum_losses(tried, fold=0).tolist()
                losses.update(zip(some, summed, strict=True))
                # Others are not to take memory while further members are learnt.
                del begun, members, tried
            trials.tell(losses[max_bins], learnt.pop(max_bins))
        return trials.best.setting, trials.best.model

    def _list_max_bins(self, rows: Rows, folds: NDArray[np.int32]) -> list[int]:
        """Return the numbers of bins to choose from, in ascending order.

        They are tried on the rows of the first fold.
        """
        if not isinstance(self.max_bins, str):
            return [int(self.max_bins)]
        finest = int(np.diff(rows.count_values().starts).max(initial=0))
        min_rows = max(MIN_ROWS_PER_BIN, MIN_ROWS_PER_CELL * rows.n_classes)
        most = min(finest, len(folds) // min_rows) if (folds == 0).any() else 0
        return [MAX_BINS[0], *(b for b in MAX_BINS[1:] if b <= most)]

    def _new_encoder(self) -> TableEncoder:
        # Members cut numeric features in their own ways; the encoder's own cuts are not used.
        return TableEncoder.for_model(self, "equal-width")


def _learn_in_time(
    member: Recipe[NetworkMember],
    deadline: Deadline | None,
    progress: Progress,
    settle: Callable[[NetworkMember], NetworkMember] = lambda learnt: learnt,
) -> Recipe[NetworkMember | None]:
    """Learn a member, and settle it, unless the time is over when its turn comes."""
    if deadline is not None and deadline.over:
        return None
    learnt = yield from member
    progress.step()
    return settle(learnt)


def _are_clear(members: list[NetworkMember], rows: Rows, folds: NDArray[np.int32]) -> bool:
    """Whether members leave at most `CLEAR_SHARE` of the entropy of the classes in the first fold.

    They have not seen this fold.
    """
    if not members:
        return False
    weight = np.ones(len(folds)) if rows.draw_weight is None else rows.draw_weight
    count = np.bincount(rows.y, weight, minlength=rows.n_classes)
    share = count / count.sum()
    entropy = -(share @ safe_log(share)) * weight[folds == 0].sum()
    (loss,) = rows.sum_losses(TrialLosses([members], rows.encoder), fold=0)
    return bool(loss * LOSS_UNIT <= CLEAR_SHARE * entropy)
