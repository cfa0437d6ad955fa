"""The slices that sanitizers watch."""

from pathlib import Path

import pytest

import sanitize

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", sanitize.SLICE)
def test_a_slice_names_tests_that_there_are(kind: str) -> None:
    assert sanitize.SLICE[kind]
    for path in sanitize.SLICE[kind]:
        assert (ROOT / path).exists(), path
