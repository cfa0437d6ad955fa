"""Choosing settings by trial."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from priorwise.common.numeric import Trials, pick


def try_places(losses: Sequence[float], **options: Any) -> tuple[int, list[int]]:
    """Return the place that is chosen, and those that were tried."""
    tried: list[int] = []
    trials = Trials[int, str](range(len(losses)), **options)
    for place in trials:
        tried.append(place)
        trials.tell(losses[place], f"model {place}")
    best = trials.best
    assert best.place == best.setting
    assert best.loss == losses[best.place]
    assert best.model == f"model {best.place}"
    return best.place, tried


@pytest.mark.parametrize(
    ("losses", "first", "tried"),
    [
        ([0.700, 0.701, 0.500, 0.400, 0.450, 0.440], 0, [0, 1, 2, 3, 4]),
        ([0.700, 0.720, 0.500, 0.400, 0.450, 0.440], 0, [0, 1]),
        ([0.600, 0.500, 0.400, 0.401, 0.500, 0.300], 2, [2, 3, 4, 1]),
    ],
    ids=["flat at first", "worse at once", "flat after a good one"],
)
def test_a_search_goes_on_where_the_loss_is_flat(
    losses: list[float], first: int, tried: list[int]
) -> None:
    assert try_places(losses, first=first, patience=1.005)[1] == tried


def test_a_search_finds_the_least_of_losses_with_one_valley(rng: np.random.Generator) -> None:
    for _ in range(200):
        n, lowest = int(rng.integers(1, 9)), int(rng.integers(0, 9))
        distance = np.abs(np.arange(n) - lowest)
        losses = 1.0 + np.cumsum(rng.random(9))[distance]
        first = int(rng.integers(n))
        place, tried = try_places(losses.tolist(), first=first)
        assert place == np.argmin(losses)
        assert len(set(tried)) == len(tried)
        if place != first:
            # Nothing is tried behind the neighbour of the least on the far side.
            assert max(tried) - min(tried) <= abs(place - first) + 2


def test_of_equal_losses_the_simpler_setting_is_chosen() -> None:
    assert try_places([0.5, 0.5, 0.5], first=1)[0] == 0
    assert try_places([0.5, 0.5, 0.5])[0] == 0
    assert pick([0.7, 0.5, 0.5]) == 1


def test_with_all_patience_everything_is_tried_unless_a_better_one_ends_it() -> None:
    assert try_places([0.5, 0.9, 0.7, 0.6], patience=np.inf) == (0, [0, 1, 2, 3])
    assert try_places([np.inf, np.inf, 0.7], patience=np.inf) == (2, [0, 1, 2])


def test_a_known_loss_is_not_found_again() -> None:
    assert try_places([0.5, 0.4, 0.6], known=(0.5, "model 0")) == (1, [1, 2])
    assert try_places([0.5], known=(0.5, "model 0")) == (0, [])


def test_without_a_trial_there_is_no_best() -> None:
    with pytest.raises(ValueError, match="must have been tried"):
        _ = Trials[int, None](range(3)).best


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
def test_the_simplest_of_nearly_equal_losses_is_picked(
    rng: np.random.Generator, tolerance: float
) -> None:
    for _ in range(100):
        losses = rng.random(6) + 0.5
        good = [place for place in range(6) if losses[place] <= (1 + tolerance) * min(losses)]
        assert pick(losses, tolerance) == good[0]
