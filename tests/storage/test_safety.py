"""No part of the library reads a pickle, and a file can name nothing but the classes listed."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import priorwise
from priorwise import data, smoothing
from priorwise.common import container
from priorwise.common.container import ContainerError, to_bytes
from priorwise.storage.model_file import KIND, list_states

SOURCES = Path(priorwise.__file__).parent
READS_PICKLES = re.compile(
    r"pickle\.loads?\b|\bUnpickler\b|joblib\.load\b|allow_pickle|read_pickle|\bshelve\b"
    r"|\bmarshal\b|\beval\(|\bexec\("
)


SENT_BY_TASKS = SOURCES / "streaming" / "runners" / "spark.py"
"""Reads sums that tasks of the same job have sent, by the means that Spark sends the tasks by."""


def test_no_source_reads_a_pickle() -> None:
    files = sorted(SOURCES.rglob("*.py"))
    assert len(files) > 100
    assert [file for file in files if READS_PICKLES.search(file.read_text())] == [SENT_BY_TASKS]


def test_every_public_estimator_can_be_saved() -> None:
    public = [getattr(package, name) for package in (priorwise, data, smoothing)
              for name in package.__all__]  # fmt: skip
    estimators = {kind for kind in public if hasattr(kind, "get_params")} - {smoothing.Smoother}
    assert len(estimators) > 30
    assert estimators <= {state.type for state in list_states().values()}
    assert all(hasattr(kind, "save") for kind in estimators)


def test_a_file_has_the_names_of_classes_and_no_others() -> None:
    for name, state in list_states().items():
        own = state.type.__module__.startswith("priorwise.") or name == "RandomState"
        full_name = f"{state.type.__module__}.{state.type.__qualname__}"
        assert name == (state.type.__name__ if own else full_name)


def refused(path: Path, content: bytes, match: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match) as refusal:
        priorwise.load(path)
    assert str(path) in str(refusal.value)


def test_what_is_no_model_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    refused(path, b"", "cannot be used")
    refused(path, b"PK\x03\x04" + bytes(100), "cannot be used")
    refused(path, to_bytes([1, 2], kind=KIND), "no estimator")
    refused(path, to_bytes({"a": np.arange(3)}, kind="checkpoint"), "must hold a model")
    with pytest.raises(FileNotFoundError):
        priorwise.load(tmp_path / "absent")
    with pytest.raises(OSError, match="must be a regular file, got a folder"):
        priorwise.load(tmp_path)


def test_a_header_is_read_without_the_model(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    priorwise.TANClassifier().save(path)
    header = priorwise.read_header(path)
    assert header["class"] == "TANClassifier"
    assert (header["format"], header["version"]) == (5, priorwise.__version__)
    assert header["parameters"]["unseen"] == "backoff"
    path.write_bytes(path.read_bytes()[:-10])
    assert priorwise.read_header(path) == header
    priorwise.TANClassifier().save(path, compress=True)
    header = priorwise.read_header(path)
    assert header["class"] == "TANClassifier"
    assert header["packed"] in ("zlib", "zstd")
    for content in (b"", b"PK\x03\x04" + bytes(100), to_bytes([1], kind="checkpoint")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"cannot be used|no model") as refusal:
            priorwise.read_header(path)
        assert str(path) in str(refusal.value)


def test_a_header_lists_features_and_classes_and_must_be_right(tmp_path: Path) -> None:
    path, X = tmp_path / "x.model", np.array([["a", 1.5], ["b", 2.5], [None, 3.5]], dtype=object)
    model = priorwise.TANClassifier(categorical_features=[0], numeric_features=[1])
    model.fit(X, ["no", "yes", "no"])
    for compress in (True, False):
        model.save(path, compress=compress)
        header = priorwise.read_header(path)
        nominal = {"name": 0, "kind": "nominal", "n_categories": 3, "categories": ["a", "b", None]}
        assert header["features"] == [nominal, {"name": 1, "kind": "numeric"}]
        assert (header["classes"], header["n_features"]) == (["no", "yes"], 2)
        header, arrays = container._unpack(path.read_bytes())
        forged = container._pack({**header, "classes": ["no", "no"]}, arrays)
        refused(path, forged, "header")
    # A file of a version that did not know a parameter, which has its default now.
    del header["parameters"]["unseen"]
    path.write_bytes(container._pack(header, arrays))
    np.testing.assert_array_equal(priorwise.load(path).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (priorwise.NaiveBayesClassifier(discretizer=print), "discretizer: .*builtin"),
        (priorwise.KDBClassifier(random_state=np.random.default_rng(0)), "random_state: .*Gen"),
        (priorwise.LogLinearPool([("mine", DummyClassifier())]), r"estimators\['mine'\]: .*Du"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_parameter(model, match: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=match):
        model.save(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_a_user_has_added_is_refused(tmp_path: Path) -> None:
    model = smoothing.HDP()
    model.note = "mine"
    with pytest.raises(TypeError, match="attribute 'note' that is none of its own"):
        model.save(tmp_path / "x")


def test_a_file_that_is_there_stays_if_saving_fails(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    smoothing.HDP().save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        priorwise.KDBClassifier(discretizer=print).save(path)
    with pytest.raises(OSError, match="the model cannot be written"):
        smoothing.HDP().save(tmp_path / "absent" / "x.model")
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.model"]


def test_a_random_state_comes_back(tmp_path: Path) -> None:
    state = np.random.RandomState(3)
    state.normal(size=5)
    priorwise.KDBClassifier(random_state=state).save(tmp_path / "x")
    other = priorwise.load(tmp_path / "x").random_state
    np.testing.assert_array_equal(other.normal(size=9), state.normal(size=9))


def test_writing_to_a_loaded_array_changes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    model = priorwise.ProbabilityForestClassifier(3, random_state=0)
    model.fit(np.arange(40.0)[:, None], np.arange(40) % 2).save(path)
    before = path.read_bytes()
    loaded = priorwise.load(path)
    loaded.oof_proba_[:] = 0.5
    assert path.read_bytes() == before


def test_a_file_can_be_replaced_while_its_model_is_in_use(tmp_path: Path) -> None:
    path, X = tmp_path / "x.model", np.arange(40.0)[:, None]
    model = priorwise.NaiveBayesClassifier().fit(X, np.arange(40) < 20)
    model.save(path)
    loaded = priorwise.load(path)
    smoothing.HDP().save(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "change",
    [
        lambda step: replace(step, rows=2.0 * step.rows),
        lambda step: replace(step, rows=-step.rows),
        lambda step: replace(step, rows=np.full_like(step.rows, np.nan)),
        lambda step: replace(step, rows=step.rows[:-1].copy()),
        lambda step: replace(step, rows=step.rows[:, :1].copy()),
        lambda step: replace(step, factor=2.0),
        lambda step: replace(step, factor=np.inf),
        lambda step: replace(step, weight=step.weight[:-1]),
    ],
)
def test_trees_that_do_not_hold_probabilities_are_refused(
    change: Callable[[Any], Any], tmp_path: Path
) -> None:
    model = priorwise.ProbabilityTreeClassifier(random_state=0)
    model.fit(np.arange(40.0)[:, None], np.arange(40) // 20)
    model.step_ = change(model.step_)
    model.save(tmp_path / "x.model")
    with pytest.raises(ContainerError):
        priorwise.load(tmp_path / "x.model")
