"""Networks asked for many rows, which go by a layout of their own."""

import numpy as np
import pytest

from priorwise import _core
from priorwise.counts import CodedRows
from priorwise.models.networks.network_model import smooth_network
from priorwise.smoothing import MLE, Laplace, LevelShrinkage, MBranch, Smoother
from priorwise.steps.networks.contributions import log_joint
from priorwise.structure import Network
from priorwise.structure.networks import NetworkCounts
from reference.networks import DictNetwork

N_CLASSES = 3
NETWORK = Network(((), (0,), (1, 0), (0, 1, 2)), (0, 1, 2, 3))
ARITIES = {"dense": (3, 4, 2, 4), "sparse": (9, 90, 70, 100), "between": (9, 5, 3, 8)}
"""Beyond 4 outcomes a node lists only those seen below it."""


def draw_rows(
    arities: tuple[int, ...], n_rows: int, rng: np.random.Generator, power: int = 3
) -> CodedRows:
    """Codes of which the low ones are frequent, so that some contexts have many values."""
    columns = [(arity * rng.random(n_rows) ** power).astype(np.int32) for arity in arities]
    y = rng.integers(0, N_CLASSES, n_rows).astype(np.int32)
    return CodedRows(columns, np.array(arities, dtype=np.int32), y, N_CLASSES)


def spoil(columns: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    """Some values unknown."""
    return [np.where(rng.random(len(c)) < 0.05, np.int32(-1), c) for c in columns]


@pytest.mark.parametrize("kind", ARITIES)
@pytest.mark.parametrize(
    "smoother",
    [MLE(), Laplace(), Laplace(backoff=False), MBranch(), LevelShrinkage()],
    ids=repr,
)
def test_many_rows_get_the_bits_that_few_get(
    kind: str, smoother: Smoother, rng: np.random.Generator
) -> None:
    counts = NetworkCounts.count(NETWORK, draw_rows(ARITIES[kind], 400, rng))
    model = smooth_network(counts, smoother)
    assert all(tree.is_dense for tree in counts.trees) == (kind == "dense")
    new = spoil(draw_rows(ARITIES[kind], 9_000, rng).columns, rng)
    many = log_joint(model, new, n_threads=2)
    few = [log_joint(model, [c[at : at + 5] for c in new]) for at in range(0, 9_000, 5)]
    np.testing.assert_array_equal(many, np.concatenate(few))
    np.testing.assert_array_equal(many, log_joint(model, new, n_threads=1))


@pytest.mark.parametrize("kind", ARITIES)
@pytest.mark.parametrize(
    ("smoother", "rule"), [(MBranch(4.0), ("m-branch", 4.0)), (Laplace(), "laplace")], ids=repr
)
def test_many_rows_get_the_product_of_the_factors(
    kind: str, smoother: Smoother, rule: str | tuple[str, float], rng: np.random.Generator
) -> None:
    seen = draw_rows(ARITIES[kind], 200, rng)
    model = smooth_network(NetworkCounts.count(NETWORK, seen), smoother)
    twin = DictNetwork(
        np.array(seen.columns).T.tolist(), seen.y.tolist(), ARITIES[kind], N_CLASSES,
        NETWORK.parents, NETWORK.order, rule,
    )  # fmt: skip
    new = spoil(draw_rows(ARITIES[kind], 60, rng).columns, rng)
    expected = [twin.log_joint(row) for row in np.array(new).T.tolist()]
    many = log_joint(model, [np.tile(c, 100) for c in new])
    np.testing.assert_allclose(many, np.tile(expected, (100, 1)), rtol=1e-6)


def test_parents_of_scattered_values_are_found(rng: np.random.Generator) -> None:
    """Forty contexts with a tenth of 2,000 codes each are not laid out in little memory."""
    network = Network(((), (), (0, 1)), (0, 1, 2))

    def draw(n_rows: int) -> CodedRows:
        return draw_rows((40, 2_000, 3), n_rows, rng, power=1)

    model = smooth_network(NetworkCounts.count(network, draw(8_000)), Laplace())
    new = draw(9_000).columns
    few = [log_joint(model, [c[at : at + 5] for c in new]) for at in range(0, 9_000, 5)]
    np.testing.assert_array_equal(log_joint(model, new), np.concatenate(few))


def test_a_parent_code_beyond_those_of_training_backs_off(rng: np.random.Generator) -> None:
    model = smooth_network(
        NetworkCounts.count(NETWORK, draw_rows(ARITIES["dense"], 100, rng)), Laplace()
    )
    codes = [np.full(5_000, code, dtype=np.int32) for code in (0, 0, 0, 1)]
    beyond, unknown = [*codes], [*codes]
    beyond[2], unknown[2] = np.full_like(codes[2], 1_000_000), np.full_like(codes[2], -1)
    last = _core.take_factor(model, 3)
    np.testing.assert_array_equal(log_joint(last, beyond), log_joint(last, unknown))
