"""The check of docstrings covers the public names and reports what they lack."""

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from check_docstrings import check_docstrings, public_names
from priorwise import KDBClassifier
from priorwise.models.base import TableClassifier


def test_public_names_include_inherited_methods_under_the_class_that_defines_them() -> None:
    names = public_names()
    assert f"{KDBClassifier.__module__}.KDBClassifier" in names
    assert f"{TableClassifier.__module__}.TableClassifier.fit" in names
    assert f"{TableClassifier.__module__}.TableClassifier.fit_table" not in names
    assert "priorwise.evaluation.scores.rmse" in names
    assert len(names) == len(set(names))
    assert all(part[0] != "_" for name in names for part in name.split("."))


def test_methods_that_the_library_did_not_write_are_left_out() -> None:
    assert not [name for name in public_names() if not name.startswith("priorwise.")]


def bare(x: int) -> int:
    return x


def half(x: int) -> int:
    """Return x.

    Returns
    -------
    int
        The number x.
    """
    return x


@pytest.mark.parametrize(("function", "code"), [(bare, "GL08"), (half, "PR01")])
def test_a_missing_part_is_reported_if_its_check_is_chosen(
    function: Callable[[int], int], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = ModuleType("sample")
    sample.function = function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sample", sample)
    (error,) = check_docstrings(["sample.function"], {code})
    assert f"sample.function: {code}" in error
    assert check_docstrings(["sample.function"], {"RT01"}) == []
