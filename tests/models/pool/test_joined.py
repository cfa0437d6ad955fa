from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from priorwise.common.runtime import Deadline
from priorwise.models.correction import BoostingPlan
from priorwise.models.linear.spline import SplineLogisticClassifier
from priorwise.models.pool.members import JoinedMembers
from priorwise.models.pool.plan import PoolPlan
from priorwise.models.training_table import TrainingTable

PLAN = PoolPlan((), 5.0, 5.0, BoostingPlan(3, 0.3, 20, 2), optional="optional")
N_ROWS = 600


def join(optional_knows: float, rng: np.random.Generator) -> JoinedMembers:
    """Join a member that knows nothing and an optional one that knows the class of some rows."""
    X = rng.normal(size=(N_ROWS, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    table = TrainingTable.read_uncut(SplineLogisticClassifier(), X, y)
    nothing = np.full((N_ROWS, 2), 0.5)
    something = np.where(rng.random((N_ROWS, 1)) < optional_knows, np.eye(2)[table.y], 0.5)
    held_out = {"plain": nothing, "optional": something}
    options: dict[str, Any] = {"monotone": (), "seed": 0, "n_threads": 1}
    return JoinedMembers.choose(held_out, table, PLAN, deadline=Deadline.after(None), **options)


def test_an_optional_member_that_helps_is_kept(rng: np.random.Generator) -> None:
    assert join(1.0, rng).names == ("plain", "optional")


def test_an_optional_member_is_left_out_if_the_loss_is_lower_without(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        JoinedMembers, "loss", lambda self, table: len(self.names) - 9.0 * bool(self.boosting)
    )
    joined = join(0.5, rng)
    assert joined.names == ("plain",)
    assert joined.boosting is not None


def test_boosting_without_it_is_not_tried_if_it_lowers_the_loss_more_than_boosting(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        JoinedMembers, "loss", lambda self, table: -len(self.names) - 0.5 * bool(self.boosting)
    )
    boosted: list[bool] = []
    fit = vars(JoinedMembers)["fit"].__func__

    def count(cls: Any, held_out: Any, *arguments: Any, **options: Any) -> JoinedMembers:
        joined: JoinedMembers = fit(cls, held_out, *arguments, **options)
        boosted.append(joined.boosting is not None)
        return joined

    monkeypatch.setattr(JoinedMembers, "fit", classmethod(count))
    assert join(0.5, rng).names == ("plain", "optional")
    assert boosted == [True, False]
