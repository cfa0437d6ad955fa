"""Files of every released format stay readable."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import priorwise
from priorwise.common import container
from priorwise.common.container import FORMAT
from priorwise.common.records import Record
from priorwise.steps.pool import Foreign
from priorwise.steps.step import Step
from storage.golden_files import FOLDER, families, rows_to_predict

FILES = sorted(FOLDER.glob("*.model"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_that_was_written_once_predicts_what_it_did_then(path: Path) -> None:
    expected = np.loadtxt(path.with_suffix(".csv"))
    proba = priorwise.load(path).predict_proba(rows_to_predict())
    np.testing.assert_allclose(proba, expected, rtol=0.0, atol=1e-12)


def test_every_family_has_a_file_of_the_present_format() -> None:
    names = {path.stem for path in FILES}
    assert {f"{name}-{FORMAT}" for name in families()} <= names
    assert all(path.stat().st_size < 30_000 for path in FILES)


def test_every_kind_of_step_is_in_a_file_of_the_present_format() -> None:
    kinds = {
        name
        for name, kind in Record.kinds.items()
        if issubclass(kind, Step) and kind.__module__.startswith("priorwise.")
    }
    stored: set[str] = set()
    for path in FOLDER.glob(f"*-{FORMAT}.model"):
        header, arrays = container._unpack(path.read_bytes())
        if "packed" not in header:
            stored |= _list_states(json.loads(arrays["structure"].tobytes()))
    # Models of other libraries are not stored.
    assert kinds - stored == {Step.__name__, Foreign.__name__}


def _list_states(value: Any) -> set[str]:
    """Return the names of all classes in the JSON of a file."""
    if isinstance(value, list):
        return set().union(*map(_list_states, value))
    if not isinstance(value, dict):
        return set()
    names = {value["state"][0]} if "state" in value else set()
    return names.union(*map(_list_states, value.values()))
