"""The same fit gives the same bytes in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import priorwise
from storage import same_bytes


def test_every_way_out_gives_the_same_bytes_whatever_the_seed_of_hashes(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    digests = same_bytes.write_all(here)
    # Without a number each process, this one too, draws its own.
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    command = [sys.executable, same_bytes.__file__, str(there)]
    ended = subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert digests == json.loads(ended.stdout)
    assert len(digests) >= 17


def test_a_file_has_marks_of_every_type_and_not_the_seconds_of_the_fit(tmp_path: Path) -> None:
    X, y = same_bytes.make_table()
    marks = same_bytes.MARKS
    members = [("bayes", priorwise.NaiveBayesClassifier(missing_values=marks))]
    model = priorwise.LogLinearPool(members, missing_values=marks, random_state=0)
    model.fit(X[["town", "size"]], y)
    model.save(tmp_path / "model")
    loaded = priorwise.load(tmp_path / "model")
    assert loaded.missing_values == marks
    assert loaded.feature_schema_ == model.feature_schema_
    assert "bayes" in repr(loaded.score_report())
    assert {line.fit_seconds for line in loaded.score_report().lines} == {None}
    assert all((line.fit_seconds or 0.0) > 0.0 for line in model.score_report().lines)
