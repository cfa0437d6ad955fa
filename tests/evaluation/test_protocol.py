import csv
import os
import random

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import children
from priorwise.evaluation import Protocol, corrected_t_test, cross_validate, read_results, rmse

IRIS = load_iris(return_X_y=True)
MODELS = {"bayes": GaussianNB(), "forest": RandomForestClassifier(n_estimators=3)}


class FailsOnSomeFolds(ClassifierMixin, BaseEstimator):
    """A naive Bayes that raises where the first training row has a long sepal."""

    def fit(self, X, y):
        if X[0, 0] > 5:
            raise RuntimeError("no luck\nat all")
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


class TakesItsProcessDown(GaussianNB):
    def fit(self, X, y):
        train, _ = Protocol(1, 2).split(IRIS[1], 0)[0]
        if (IRIS[0][train] == X).all():
            os._exit(1)
        return super().fit(X, y)


class Refuses(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise AssertionError("this cell was already done")


def run(models=MODELS, datasets=None, protocol="2x2", **options):
    return cross_validate(
        models, datasets or {"iris": IRIS}, protocol=protocol, progress=False, **options
    )


def test_a_cell_is_the_score_of_a_clone_on_the_documented_fold():
    X, y = IRIS
    results = run({"bayes": GaussianNB()}, protocol="3x2")
    assert [(row["repeat"], row["fold"]) for row in results.rows] == [
        (str(r), str(f)) for r in range(3) for f in range(2)
    ]
    for repeat in range(3):
        folds = StratifiedKFold(2, shuffle=True, random_state=repeat).split(X, y)
        for fold, (train, test) in enumerate(folds):
            proba = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
            row = results.rows[repeat * 2 + fold]
            assert float(row["rmse"]) == rmse(y[test], proba)
            assert row["n_train"] == str(len(train))


@pytest.fixture
def warm_processes(monkeypatch):
    """Let joblib fork its processes from one that has imported the library."""
    children.start_server()
    monkeypatch.setattr(context, "_DEFAULT_START_METHOD", children.START_METHOD)
    yield
    get_reusable_executor().shutdown()


@pytest.mark.usefixtures("warm_processes")
def test_two_runs_and_any_number_of_processes_give_the_same_rows(tmp_path):
    first = run(out=tmp_path / "one.csv")
    second = run(out=tmp_path / "two.csv", n_jobs=2)
    assert first == second
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert read_results(tmp_path / "one.csv") == first


def test_models_given_are_not_fitted_or_changed():
    forest = RandomForestClassifier(n_estimators=2)
    run({"forest": forest})
    assert forest.random_state is None
    assert not hasattr(forest, "classes_")


@pytest.mark.parametrize("cut", range(12))
def test_a_file_cut_off_anywhere_is_completed_to_the_same_bytes(tmp_path, cut):
    whole, part = tmp_path / "whole.csv", tmp_path / "part.csv"
    run({"bayes": GaussianNB()}, protocol="2x3", out=whole)
    content = whole.read_bytes()
    at = random.Random(cut).randrange(content.index(b"\n") + 1, len(content))
    lines = content[:at].splitlines(keepends=True)
    body = lines[1:-1]
    random.Random(cut).shuffle(body)  # cells end in any order
    part.write_bytes(b"".join([lines[0], *body, lines[-1]] if len(lines) > 1 else lines))
    run({"bayes": GaussianNB()}, protocol="2x3", out=part)
    assert part.read_bytes() == content


def test_rows_on_disk_are_not_computed_again(tmp_path):
    out = tmp_path / "out.csv"
    done = run({"bayes": GaussianNB()}, out=out)
    assert run({"bayes": Refuses()}, out=out) == done
    grown = run({"bayes": Refuses(), "prior": DummyClassifier()}, out=out)
    assert grown.models == ("bayes", "prior")
    assert grown.errors == ()


def test_every_row_is_on_disk_before_the_next_cell_starts(tmp_path):
    out, seen = tmp_path / "out.csv", []

    class Watches(GaussianNB):
        def fit(self, X, y):
            seen.append(len(out.read_text().splitlines()))
            return super().fit(X, y)

    run({"watch": Watches()}, out=out)
    assert seen == [1, 2, 3, 4]


def test_a_failing_cell_is_recorded_and_the_others_go_on(tmp_path):
    out = tmp_path / "out.csv"
    results = run({"fails": FailsOnSomeFolds(), "bayes": GaussianNB()}, protocol="4x2", out=out)
    assert 0 < len(results.errors) < 8
    assert {row["error"] for row in results.errors} == {"RuntimeError: no luck at all"}
    assert len(results.rows) == 16
    assert results.score_table("rmse")[0] == []
    assert results.score_table("rmse", ["bayes"])[0] == ["iris"]
    with out.open() as file:
        assert len(list(csv.DictReader(file))) == 16
    again = run({"fails": GaussianNB(), "bayes": Refuses()}, protocol="4x2", out=out)
    assert len(again.errors) == len(results.errors)
    retried = run(
        {"fails": GaussianNB(), "bayes": Refuses()}, protocol="4x2", out=out, retry_errors=True
    )
    assert retried.errors == ()


@pytest.mark.usefixtures("warm_processes")
def test_a_cell_that_takes_its_process_down_is_recorded_alone():
    models = {"dies": TakesItsProcessDown(), "bayes": GaussianNB()}
    results = run(models, protocol="1x2", n_jobs=2)
    (dead,) = results.errors
    assert (dead["model"], dead["fold"]) == ("dies", "0")
    assert "the process died" in dead["error"]
    assert len(results.rows) == 4


def test_a_data_set_that_cannot_be_read_fails_alone():
    def broken():
        raise OSError("no such file")

    results = run(datasets={"iris": lambda: IRIS, "broken": broken})
    assert {row["dataset"] for row in results.errors} == {"broken"}
    assert len(results.errors) == 8
    assert results.score_table("rmse")[0] == ["iris"]


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, None])
def test_frames_give_the_rows_that_arrays_give(convert):
    X, y = IRIS
    names = ["a", "b", "c", "d"]
    frame = (
        convert(dict(zip(names, X.T, strict=True)))
        if convert
        else pa.table(dict(zip(names, X.T, strict=True)))
    )

    class TakesAnyFrame(GaussianNB):
        def fit(self, X, y):
            return super().fit(self._plain(X), y)

        def predict_proba(self, X):
            return super().predict_proba(self._plain(X))

        def _plain(self, X):
            return np.column_stack([np.asarray(X[name]) for name in names])

    expected = run({"m": GaussianNB()})
    assert run({"m": TakesAnyFrame()}, {"iris": (frame, y)}).rows == expected.rows


def draw_with_rare_class():
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 20 + ["b"] * 20 + ["c"], dtype=object)
    return rng.normal(size=(41, 2)), y


def test_a_class_smaller_than_the_folds_is_kept_dropped_or_refused():
    data = {"rare": draw_with_rare_class()}
    kept = run({"m": GaussianNB()}, data)
    assert {row["n_classes"] for row in kept.rows} == {"3"}
    assert not kept.errors
    assert np.isinf(kept.fold_scores("rare", "m", "cross_entropy")).any()
    dropped = run({"m": GaussianNB()}, data, small_classes="drop")
    assert {(row["n_classes"], row["n_dropped"]) for row in dropped.rows} == {("2", "1")}
    assert np.isfinite(dropped.fold_scores("rare", "m", "cross_entropy")).all()
    refused = run({"m": GaussianNB()}, data, small_classes="error")
    assert "classes with fewer rows than 2 folds: {'c': 1}" in refused.errors[0]["error"]


def test_a_score_of_ones_own_is_used():
    def count_rows(y, proba, labels):
        return len(y)

    results = run({"m": GaussianNB()}, scores={"rows": count_rows})
    assert results.fold_scores("iris", "m", "rows").tolist() == [75.0] * 4


def test_another_protocol_or_other_scores_do_not_mix_in_one_file(tmp_path):
    out = tmp_path / "out.csv"
    run(out=out)
    with pytest.raises(ValueError, match=r"holds results of protocol \['2x2'\], not '1x2'"):
        run(out=out, protocol="1x2")
    with pytest.raises(ValueError, match="choose another file"):
        run(out=out, scores=["brier"])
    out.write_text("name,age\nx,1\n")
    with pytest.raises(ValueError, match="choose another file"):
        run(out=out)
    with pytest.raises(ValueError, match="is not a result file"):
        read_results(out)


@pytest.mark.parametrize("text", ["5", "x2", "0x2", "5x1", "5x0", "5 x 2", "axb", "-1x2", "5x2x2"])
def test_a_protocol_is_repeats_times_folds(text):
    with pytest.raises(ValueError, match="protocol must be repeats x folds"):
        Protocol.parse(text)
    assert Protocol.parse("10x10") == Protocol(10, 10)


def test_a_protocol_may_be_an_object_and_the_classes_a_column():
    X, y = load_iris(return_X_y=True, as_frame=True)
    plain = run(datasets={"iris": (X, y)})
    named = run(datasets={"iris": (X.assign(kind=y), "kind")}, protocol=Protocol(2, 2))
    assert named == plain
    with pytest.raises(ValueError, match=r"protocol must be repeats x folds .* got '0x2'"):
        run(protocol=Protocol(0, 2))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_results_are_a_frame(backend):
    results = run(MODELS | {"fails": FailsOnSomeFolds()})
    frame = nw.from_native(results.to_frame(backend), eager_only=True)
    assert frame.implementation.value == backend
    assert frame.columns == [*list(results.rows[0])]
    for name in ("rmse", "cross_entropy"):
        bayes = frame.filter(nw.col("model") == "bayes")[name].to_numpy()
        np.testing.assert_array_equal(bayes, results.fold_scores("iris", "bayes", name))
    assert frame["repeat"].to_list() == [int(row["repeat"]) for row in results.rows]
    failed = frame.filter(nw.col("error") != "")
    assert len(failed) == len(results.errors) > 0
    assert failed["rmse"].is_null().all() or np.isnan(failed["rmse"].to_numpy()).all()


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="models must not be empty"):
        run({})
    with pytest.raises(ValueError, match="scores must be among"):
        run(scores=["accuracy"])
    with pytest.raises(ValueError, match="scores must be a list"):
        run(scores="rmse")
    with pytest.raises(ValueError, match="small_classes must be one of"):
        run(small_classes="merge")
    with pytest.raises(ValueError, match="score must be one of"):
        run().score_table("auc")
    with pytest.raises(ValueError, match="models must be among"):
        run().score_table("rmse", ["nobody"])


def test_significant_wins_are_those_of_the_corrected_t_test():
    models = {"bayes": GaussianNB(), "prior": DummyClassifier(), "again": GaussianNB()}
    results = run(models, protocol="5x2")
    assert results.significant_record("bayes", "prior", "rmse") == (1, 0, 0)
    assert results.significant_record("prior", "bayes", "rmse") == (0, 0, 1)
    assert results.significant_record("bayes", "prior", "rmse", higher_is_better=True)[2] == 1
    assert results.significant_record("bayes", "again", "rmse") == (0, 1, 0)
    assert results.significant_record("bayes", "prior", "rmse", datasets=[]) == (0, 0, 0)
    a, b = (results.fold_scores("iris", model, "rmse") for model in ("bayes", "prior"))
    p = corrected_t_test(a, b, test_train_ratio=1).p_value
    assert results.significant_record("bayes", "prior", "rmse", alpha=p * 0.99) == (0, 1, 0)


def test_times_are_kept_beside_the_results(tmp_path):
    out = tmp_path / "out.csv"
    run(out=out)
    with (tmp_path / "out.csv.times.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert all(float(row["fit_seconds"]) > 0 for row in rows)
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.csv.times.csv"]


def test_progress_is_shown_on_the_error_stream(capsys):
    cross_validate(MODELS, {"iris": IRIS}, protocol="2x2")
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("8/8 cells, ")
    run()
    assert capsys.readouterr().err == ""
