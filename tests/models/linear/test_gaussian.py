"""Gaussians of numbers given the class, shrunk towards their ancestors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from priorwise import GaussianNetworkClassifier, _core
from priorwise.models.linear.gaussian_search import fit_table
from priorwise.models.linear.shrunken_gaussians import Moments, Shrinkage


def draw(n_rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Classes that differ in the correlation of two numbers, which a label turns round."""
    y = rng.integers(0, 2, n_rows)
    side = rng.integers(0, 2, n_rows)
    first = rng.normal(size=n_rows)
    sign = np.where((y == 1) ^ (side == 1), 1.0, -1.0)
    second = 0.8 * sign * first + 0.6 * rng.normal(size=n_rows)
    frame = {"a": first, "b": second, "side": np.array(["left", "right"])[side]}
    return pd.DataFrame(frame), y


def log_loss(model: Any, X: Any, y: Any) -> float:
    return float(-np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean())


def test_kernel_is_the_quadratic_form(rng: np.random.Generator) -> None:
    values = rng.normal(size=(7, 3))
    root = rng.normal(size=(4, 3, 3))
    precision = root @ root.transpose(0, 2, 1)
    mean = rng.normal(size=(4, 3))
    place = rng.integers(0, 4, (7, 2)).astype(np.int32)
    score = _core.predict_gaussians(values, place, mean, precision, False, 2)
    terms = _core.predict_gaussians(values, place, mean, precision, True, 2).reshape(7, 3, 2)
    for row in range(7):
        for y, g in enumerate(place[row]):
            step = values[row] - mean[g]
            assert score[row, y] == pytest.approx(-0.5 * step @ precision[g] @ step)
    np.testing.assert_allclose(terms.sum(axis=1), score)


@pytest.mark.parametrize("structure", ["full", "naive"])
def test_densities_are_those_of_scipy(structure: str, rng: np.random.Generator) -> None:
    values, y = rng.normal(size=(60, 3)), (np.arange(60) % 2).astype(np.int32)
    values[:, 1] += values[:, 0] * y
    moments = Moments.sum_up(values, y, 2, None, [], [])
    gaussians = moments.shrink(Shrinkage(0.0, 0.0), structure)
    score = gaussians.score(values, gaussians.place([], 60), 1)
    for k in range(2):
        own = values[y == k]
        mean = (own.sum(axis=0) + moments.mean[0]) / (len(own) + 1.0)
        covariance = (own - mean).T @ (own - mean) / len(own)
        if structure == "naive":
            covariance = np.diag(np.diag(covariance))
        expected = multivariate_normal(mean, covariance).logpdf(values)
        np.testing.assert_allclose(score[:, k] - 1.5 * np.log(2.0 * np.pi), expected, atol=1e-9)


def test_a_tree_keeps_all_of_a_chain(rng: np.random.Generator) -> None:
    first = rng.normal(size=5000)
    second = first + rng.normal(size=5000)
    values = np.stack([first, second, second + rng.normal(size=5000)], axis=1)
    moments = Moments.sum_up(values, np.zeros(5000, dtype=np.int32), 1, None, [], [])
    tree, full = (moments.shrink(Shrinkage(0.0, 0.0), one) for one in ("tree", "full"))
    assert tree.precision[0, 0, 2] == 0.0
    np.testing.assert_allclose(tree.precision, full.precision, atol=0.05)
    np.testing.assert_allclose(tree.log_constant, full.log_constant, atol=0.05)


def test_strong_shrinkage_gives_every_context_the_common_covariance(
    rng: np.random.Generator,
) -> None:
    values, y = rng.normal(size=(200, 2)), rng.integers(0, 3, 200).astype(np.int32)
    parent = rng.integers(0, 2, 200).astype(np.int32)
    moments = Moments.sum_up(values, y, 3, None, [parent], [2])
    gaussians = moments.shrink(Shrinkage(np.inf, 0.0), "full")
    assert len(gaussians.mean) == 3 + 6
    np.testing.assert_allclose(gaussians.precision, gaussians.precision[:1].repeat(9, axis=0))


@pytest.mark.parametrize("structure", ["full", "tree", "naive"])
def test_joined_moments_are_shrunk_as_each_table_alone(
    structure: str, rng: np.random.Generator
) -> None:
    parts = []
    for n_rows in (60, 90):
        values, y = rng.normal(size=(n_rows, 3)), rng.integers(0, 2, n_rows).astype(np.int32)
        parent = rng.integers(0, 3, n_rows).astype(np.int32)
        parts.append(Moments.sum_up(values, y, 2, None, [parent], [3]))
    joined, places = Moments.join(parts)
    together = joined.shrink(Shrinkage(1.0, 0.1), structure)
    for part, place in zip(parts, places, strict=True):
        alone = part.shrink(Shrinkage(1.0, 0.1), structure)
        np.testing.assert_array_equal(together.mean[place], alone.mean)
        np.testing.assert_allclose(together.precision[place], alone.precision)
        np.testing.assert_allclose(together.log_constant[place], alone.log_constant)


def test_rare_and_unknown_labels_have_the_gaussian_of_their_class() -> None:
    y = np.zeros(30, dtype=np.int32)
    parent = np.r_[np.zeros(25), np.ones(5)].astype(np.int32)
    moments = Moments.sum_up(
        np.random.default_rng(0).normal(size=(30, 2)), y, 1, None, [parent], [3]
    )
    place = moments.shrink(Shrinkage(1.0, 0.0), "full").place(
        [np.array([0, 1, 2, -1], dtype=np.int32)], 4
    )
    assert place.ravel().tolist() == [1, 0, 0, 0]


def test_a_parent_is_found_where_the_class_depends_on_it(rng: np.random.Generator) -> None:
    X, y = draw(1200, rng)
    train, test = slice(0, 600), slice(600, 1200)
    with_parent = GaussianNetworkClassifier(random_state=0).fit(X[train], y[train])
    without = GaussianNetworkClassifier(max_parents=0, random_state=0).fit(X[train], y[train])
    naive = GaussianNetworkClassifier("naive", random_state=0).fit(X[train], y[train])
    assert with_parent.parents_ == [0]
    assert log_loss(with_parent, X[test], y[test]) < 0.6 * log_loss(without, X[test], y[test])
    assert log_loss(naive, X[test], y[test]) > 0.65


def test_tables_are_frequencies_when_rows_are_many(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 50_000).astype(np.int32)
    codes = (rng.random(50_000) < np.where(y == 1, 0.8, 0.3)).astype(np.int32)
    table = np.exp(fit_table(codes, y, 2, 2, None))
    np.testing.assert_allclose(table[1], [0.3, 0.8], atol=0.02)
    np.testing.assert_allclose(table.sum(axis=0), 1.0)


def test_labels_alone_are_enough(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 200)
    X = pd.DataFrame({"a": np.array(["no", "yes"])[np.where(rng.random(200) < 0.9, y, 1 - y)]})
    model = GaussianNetworkClassifier(random_state=0).fit(X, y)
    assert log_loss(model, X, y) < 0.4
    ignoring = GaussianNetworkClassifier(nominal="ignore", random_state=0).fit(X, y)
    assert np.ptp(ignoring.predict_proba(X)[:, 0]) == 0.0


def test_of_very_many_numbers_the_most_telling_are_used(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(60, 230)), np.arange(60) % 2
    X[:, 7] += 3.0 * y
    model = GaussianNetworkClassifier("naive", random_state=0).fit(X, y)
    assert len(model.values_) == 200
    assert 7 in model.values_
    assert model.gaussians_.precision.shape == (2, 200, 200)
