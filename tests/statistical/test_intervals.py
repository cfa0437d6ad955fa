"""Intervals of contexts hold the true probability as often as they say, seen or not."""

import numpy as np
import pandas as pd
import pytest

from priorwise import ConditionalTable
from priorwise.common.numeric import draw_dirichlet
from priorwise.smoothing.hdp import PRIORS, ROOT_CONCENTRATION

N_FIRST, N_SECOND, N_ROWS, N_TABLES = 5, 8, 30, 60
LEVEL = 0.9


def draw_table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """The true probabilities of two outcomes in 40 contexts, drawn from the prior, and rows."""
    prior = PRIORS["diffuse"]
    upper, lower = rng.gamma(prior.shape, 1.0 / prior.rate, 2)
    root = rng.dirichlet(np.full(2, ROOT_CONCENTRATION / 2))
    first = draw_dirichlet(np.tile(upper * root, (N_FIRST, 1)), rng)
    truth = draw_dirichlet(np.repeat(lower * first, N_SECOND, axis=0), rng)
    context = rng.integers(0, len(truth), N_ROWS)
    outcome = (rng.random(N_ROWS) > truth[context, 0]).astype(int)
    rows = contexts().iloc[context].assign(x=pd.Categorical.from_codes(outcome, ["no", "yes"]))
    return truth, context, rows


def contexts() -> pd.DataFrame:
    pairs = [(f"a{i}", f"b{j}") for i in range(N_FIRST) for j in range(N_SECOND)]
    return pd.DataFrame(pairs, columns=["a", "b"])


def test_intervals_of_contexts_without_rows_cover_as_those_of_contexts_with_rows() -> None:
    rng = np.random.default_rng(0)
    covered: dict[bool, list[bool]] = {False: [], True: []}
    for _ in range(N_TABLES):
        truth, context, rows = draw_table(rng)
        table = ConditionalTable(random_state=0).fit(rows, target="x", given=["a", "b"])
        lower, upper = table.predict_interval(contexts(), level=LEVEL)
        inside = (lower[:, 0] <= truth[:, 0]) & (truth[:, 0] <= upper[:, 0])
        for place, is_inside in enumerate(inside):
            covered[bool((context == place).any())].append(bool(is_inside))
    for seen in (False, True):
        assert len(covered[seen]) > 1_000
        # Contexts of a table go together: the standard deviation is about 0.015.
        assert np.mean(covered[seen]) == pytest.approx(LEVEL, abs=0.045), f"seen: {seen}"
