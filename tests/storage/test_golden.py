"""Files of every released format stay readable."""

from pathlib import Path

import numpy as np
import pytest

import priorwise
from priorwise.common.container import FORMAT
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
