"""Choosing a smoother's parameters on rows the counts have not seen."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from priorwise.counts import CountTree
from priorwise.models import ConditionalTable
from priorwise.models.candidates import MAX_HELD_ROWS, choose_smoother, squared_error
from priorwise.smoothing import HDP, MEstimate, Smoother
from priorwise.smoothing.additive import M_CANDIDATES


class Recorder:
    """Losses given in advance; remembers the rows it was asked about."""

    def __init__(self, losses: list[float]) -> None:
        self.losses = losses
        self.splits: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(
        self, training: np.ndarray, held: np.ndarray, candidates: Sequence[Smoother]
    ) -> list[float]:
        self.splits.append((training, held))
        return self.losses[: len(candidates)]


def test_the_candidate_with_the_least_loss_is_chosen_and_the_first_of_equals() -> None:
    assert choose_smoother(MEstimate("cv"), 100, Recorder([5, 4, 3, 2, 1, 9])).m == 5.0
    assert choose_smoother(MEstimate("cv"), 100, Recorder([5, 1, 3, 1, 1, 1])).m == 0.05


@pytest.mark.parametrize(
    ("n_rows", "n_held"), [(2, 1), (19, 1), (100, 10), (49_999, 4999), (10**5, 5000)]
)
def test_one_tenth_of_the_rows_is_held_back_but_at_most_five_thousand(
    n_rows: int, n_held: int
) -> None:
    recorder = Recorder([0.0] * 6)
    choose_smoother(MEstimate("cv"), n_rows, recorder)
    ((training, held),) = recorder.splits
    assert len(held) == n_held <= MAX_HELD_ROWS
    assert np.array_equal(np.sort(np.concatenate([training, held])), np.arange(n_rows))


def test_with_folds_every_row_is_held_back_once() -> None:
    recorder = Recorder([0.0] * 6)
    choose_smoother(MEstimate("cv"), 23, recorder, n_folds=5)
    assert len(recorder.splits) == 5
    held = np.concatenate([held for _, held in recorder.splits])
    assert np.array_equal(np.sort(held), np.arange(23))
    for training, held in recorder.splits:
        assert not np.intersect1d(training, held).size
        assert len(training) + len(held) == 23
    many = Recorder([0.0] * 6)
    choose_smoother(MEstimate("cv"), 3, many, n_folds=10)
    assert len(many.splits) == 3


def test_the_same_seed_holds_back_the_same_rows() -> None:
    held = []
    for seed in (1, 1, 2):
        recorder = Recorder([0.0] * 6)
        choose_smoother(MEstimate("cv"), 200, recorder, seed=seed)
        held.append(recorder.splits[0][1].tolist())
    assert held[0] == held[1] != held[2]


def test_a_single_candidate_costs_nothing() -> None:
    hdp, recorder = HDP(), Recorder([])
    assert choose_smoother(hdp, 100, recorder) is hdp
    assert recorder.splits == []


def test_one_row_gets_the_candidate_that_smooths_most() -> None:
    assert choose_smoother(MEstimate("cv"), 1, Recorder([0.0] * 6)).m == 20.0


def test_candidates_of_the_m_estimate_are_the_papers() -> None:
    assert [c.m for c in MEstimate("cv").candidates()] == [0.0, 0.05, 0.2, 1.0, 5.0, 20.0]
    assert all(c.backoff is False for c in MEstimate("cv", backoff=False).candidates())
    with pytest.raises(ValueError, match="m must be a number at least 0 or 'cv', got 'loo'"):
        MEstimate("loo").candidates()


def test_squared_error_is_the_distance_to_the_outcome(rng: np.random.Generator) -> None:
    proba = rng.dirichlet(np.ones(4), 20)
    outcome = rng.integers(0, 4, 20).astype(np.int32)
    expected = ((proba - np.eye(4)[outcome]) ** 2).sum(axis=1)
    np.testing.assert_allclose(squared_error(proba, outcome), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_values", "noise"), [(2, 0.05), (60, 0.9), (30, 0.5)])
def test_a_table_chooses_what_trying_all_candidates_finds(
    n_values: int, noise: float, weighted: bool, rng: np.random.Generator
) -> None:
    n_rows = 300
    x = rng.integers(0, n_values, n_rows)
    y = np.where(rng.random(n_rows) < noise, rng.integers(0, 4, n_rows), x % 4)
    frame = pd.DataFrame({"x": x, "y": y})
    weight = rng.integers(0, 4, n_rows).astype(float) if weighted else None
    table = ConditionalTable(MEstimate("cv"), random_state=7)
    table.fit(frame, target="y", given=["x"], sample_weight=weight)

    # The same split, found by asking the choice for it. Rows of weight zero are not there.
    w = np.ones(n_rows) if weight is None else weight
    x, y, w = x[w > 0.0], y[w > 0.0], w[w > 0.0]
    recorder = Recorder([0.0] * 6)
    choose_smoother(MEstimate("cv"), len(w), recorder, seed=table.seed_)
    ((training, held),) = recorder.splits
    tree = CountTree.from_rows([x[training]], y[training], 4, weight=w[training])
    losses = []
    for m in M_CANDIDATES:
        rows = tree.rows(MEstimate(m).smooth(tree))
        loss = 0.0
        for r in held:
            p = rows[tree.find([[x[r]]])[0]]
            loss += w[r] * sum((p[k] - (y[r] == k)) ** 2 for k in range(4))
        losses.append(loss)
    assert table.smoothing_.m == M_CANDIDATES[int(np.argmin(losses))]


def test_noise_asks_for_more_smoothing_than_order(rng: np.random.Generator) -> None:
    x = rng.integers(0, 200, 2000)
    order = pd.DataFrame({"x": x, "y": x % 4})
    noise = pd.DataFrame({"x": x, "y": rng.integers(0, 4, 2000)})
    chosen = [
        ConditionalTable(MEstimate("cv"), random_state=0)
        .fit(frame, target="y", given=["x"])
        .smoothing_.m
        for frame in (order, noise)
    ]
    assert chosen[0] <= 0.05
    assert chosen[1] >= 5.0
