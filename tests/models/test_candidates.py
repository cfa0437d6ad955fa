"""Choosing a smoother's parameters on rows the counts have not seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import ConditionalTable
from priorwise.counts import CodedRows, CountTree
from priorwise.counts.draws import MAX_HELD_BACK
from priorwise.models.candidates import choose_smoother, squared_error
from priorwise.smoothing import HDP, MEstimate, Smoother
from priorwise.smoothing.additive import M_CANDIDATES


def make_rows(n_rows: int, weight: np.ndarray | None = None) -> CodedRows:
    """Distinct rows of one feature."""
    x = np.arange(n_rows, dtype=np.int32)
    return CodedRows([x], np.array([n_rows], np.int32), np.zeros(n_rows, np.int32), 1, weight)


class Recorder:
    """Losses given in advance; remembers the rows it was asked about."""

    def __init__(self, losses: list[float]) -> None:
        self.losses = losses
        self.splits: list[tuple[CodedRows, CodedRows]] = []

    def __call__(
        self, training: CodedRows, held: CodedRows, candidates: Sequence[Smoother]
    ) -> list[float]:
        self.splits.append((training, held))
        return self.losses[: len(candidates)]


def test_the_candidate_with_the_least_loss_is_chosen_and_the_first_of_equals() -> None:
    def chosen(losses: list[float]) -> Any:
        return choose_smoother(MEstimate("cv"), make_rows(100), Recorder(losses))

    assert chosen([5, 4, 3, 2, 1, 9]).m == 5.0
    assert chosen([5, 1, 3, 1, 1, 1]).m == 0.05


@pytest.mark.parametrize(
    ("n_rows", "n_held"), [(2, 1), (19, 1), (100, 10), (49_999, 4999), (10**5, 5000)]
)
def test_one_tenth_of_the_rows_is_held_back_but_at_most_five_thousand(
    n_rows: int, n_held: int
) -> None:
    recorder = Recorder([0.0] * 6)
    choose_smoother(MEstimate("cv"), make_rows(n_rows), recorder)
    ((training, held),) = recorder.splits
    assert held.n_rows == n_held <= MAX_HELD_BACK
    rows = np.concatenate([training.columns[0], held.columns[0]])
    assert np.array_equal(np.sort(rows), np.arange(n_rows))


def test_the_same_seed_holds_back_the_same_rows() -> None:
    held = []
    for seed in (1, 1, 2):
        recorder = Recorder([0.0] * 6)
        choose_smoother(MEstimate("cv"), make_rows(200), recorder, seed=seed)
        held.append(recorder.splits[0][1].columns[0].tolist())
    assert held[0] == held[1] != held[2]


def split(rows: CodedRows) -> list[list[tuple[int, float]]]:
    """Weight of each row among those to learn from and those held back."""
    halves = rows.hold_back(seed=3)
    assert halves is not None
    return [
        sorted((int(x), float(part.weights[part.columns[0] == x].sum())) for x in set(
            part.columns[0].tolist()
        ))
        for part in halves
    ]  # fmt: skip


def test_rows_held_back_do_not_depend_on_order(rng: np.random.Generator) -> None:
    repeated = make_rows(60).take(np.repeat(np.arange(60), rng.integers(1, 40, 60)))
    assert split(repeated) == split(repeated.take(rng.permutation(repeated.n_rows)))


def test_a_row_is_held_back_with_all_its_weight(rng: np.random.Generator) -> None:
    weight = rng.integers(1, 40, 60).astype(float)
    halves = split(make_rows(60, weight))
    assert sorted(row for half in halves for row in half) == list(enumerate(weight))


def test_a_single_candidate_costs_nothing() -> None:
    hdp, recorder = HDP(), Recorder([])
    assert choose_smoother(hdp, make_rows(100), recorder) is hdp
    assert recorder.splits == []


def test_one_row_gets_the_candidate_that_smooths_most() -> None:
    chosen: Any = choose_smoother(MEstimate("cv"), make_rows(1), Recorder([0.0] * 6))
    assert chosen.m == 20.0


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

    # The same split, found by asking the rows for it. Rows of weight zero are not there.
    kept = np.flatnonzero(np.ones(n_rows) if weight is None else weight)
    values, x = np.unique(x[kept], return_inverse=True)
    rows = CodedRows(
        [x.astype(np.int32)], np.array([len(values)], np.int32), y[kept].astype(np.int32), 4,
        None if weight is None else weight[kept],
    )  # fmt: skip
    halves = rows.hold_back(table.seed_)
    assert halves is not None
    training, held = halves
    tree = CountTree.from_rows(training.columns, training.y, 4, weight=training.weights)
    losses = []
    for m in M_CANDIDATES:
        smoothed = MEstimate(m).rows(tree)
        loss = 0.0
        for value, label, weight_of_row in zip(held.columns[0], held.y, held.weights, strict=True):
            p = smoothed[tree.find([[value]])[0]]
            loss += weight_of_row * sum((p[k] - (label == k)) ** 2 for k in range(4))
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
