"""What training had, and how other tables differ from it."""

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import KDBClassifier, NaiveBayesClassifier, ProbabilityTreeClassifier, load

N = 60


def make_table() -> tuple[pd.DataFrame, list[int]]:
    frame = pd.DataFrame(
        {
            "size": np.arange(N, dtype=float),
            "zip": pd.Categorical(["10115", "20095", "80331"] * (N // 3)),
            "sky": pd.Series(["blue", "grey", None] * (N // 3), dtype=object),
            "member": [True, False] * (N // 2),
        }
    )
    return frame, [0] * (N // 2) + [1] * (N // 2)


@pytest.fixture
def model() -> NaiveBayesClassifier:
    return NaiveBayesClassifier().fit(*make_table())


@pytest.mark.parametrize(
    "change",
    [
        {"zip": np.array([10115, 20095, 80331] * (N // 3))},
        {"zip": np.array([10115.0, 20095.0, 80331.0] * (N // 3))},
        {"zip": pd.Series(["10115 ", " 20095", "80331.0"] * (N // 3), dtype=object)},
        {"sky": ["blue ", " grey", "NA"] * (N // 3)},
        {"member": ["True", "false"] * (N // 2)},
        {"member": [1, 0] * (N // 2)},
        {"member": pd.Categorical(["TRUE", "FALSE"] * (N // 2))},
        {"size": [f"{i}.0" for i in range(N)]},
    ],
    ids=str,
)
def test_another_type_of_the_same_values_changes_nothing(model: Any, change: Any) -> None:
    frame, _ = make_table()
    asked = frame.assign(**change)
    np.testing.assert_array_equal(model.predict_proba(asked), model.predict_proba(frame))
    one = [model.predict_proba(asked[i : i + 1])[0] for i in range(6)]
    np.testing.assert_array_equal(one, model.predict_proba(frame)[:6])
    assert not [p for p in model.check(asked).problems if "never seen" in p]


def test_most_values_never_seen_are_warned_of_once_with_column_share_and_values(model: Any) -> None:
    frame, _ = make_table()
    asked = frame.assign(zip=frame["zip"].cat.codes)
    rule = r"NaiveBayesClassifier: 100% of 60 values of column 'zip' .* such as 0, 1, 2; .*check"
    with pytest.warns(UserWarning, match=rule):
        model.predict_proba(asked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba(asked)
    with pytest.warns(UserWarning, match="'zip'"):
        copy.deepcopy(model).predict_proba(asked)


def test_rows_asked_one_by_one_are_counted_together(model: Any) -> None:
    frame, _ = make_table()
    asked = frame.assign(sky="?!")
    for i in range(9):
        model.predict_proba(asked[i : i + 1])
    with pytest.warns(UserWarning, match=r"100% of 10 values of column 'sky' .* such as '\?!'"):
        model.predict_proba(asked[9:10])


def test_a_few_values_never_seen_are_no_reason_to_warn(model: Any) -> None:
    frame, _ = make_table()
    frame.loc[:20, "sky"] = "green"
    model.predict_proba(frame)


def test_asking_changes_no_byte_of_a_model(model: Any) -> None:
    frame, _ = make_table()
    model.predict_proba(frame)
    before = pickle.dumps(model)
    with pytest.warns(UserWarning, match="'sky'"):
        model.predict_proba(frame.assign(sky="other"))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", [NaiveBayesClassifier, ProbabilityTreeClassifier])
def test_the_schema_says_what_each_column_was_taken_for(kind: Any) -> None:
    size, zip_code, sky, member = kind().fit(*make_table()).feature_schema_
    assert (size.name, size.kind, size.least, size.largest) == ("size", "numeric", 0.0, N - 1.0)
    assert (zip_code.kind, zip_code.labels) == ("nominal", ("10115", "20095", "80331"))
    assert (sky.labels, round(sky.missing_share, 3)) == (("blue", "grey"), 0.333)
    assert member.labels == (False, True)
    assert [column.dtype for column in (size, member)] == ["Float64", "Boolean"]


@pytest.mark.parametrize("missing", ["value", "impute", "ignore"])
def test_the_schema_has_the_share_of_missing_values(missing: str, tmp_path: Path) -> None:
    frame, y = make_table()
    frame.loc[: N // 4 - 1, "size"] = np.nan
    model = NaiveBayesClassifier(missing=missing).fit(frame, y)
    model.save(tmp_path / "model")
    for one in (model, copy.deepcopy(model), load(tmp_path / "model")):
        shares = [column.missing_share for column in one.feature_schema_]
        assert shares == pytest.approx([0.25, 0.0, 1 / 3, 0.0])
        assert one.check(frame).is_ok
    weight = np.where(frame["sky"].isna(), 1.0, 2.0)
    weighted = NaiveBayesClassifier(missing=missing).fit(frame, y, sample_weight=weight)
    assert weighted.feature_schema_[2].missing_share == pytest.approx(0.2)


@pytest.mark.parametrize("missing", ["value", "impute", "ignore"])
def test_streamed_training_has_the_same_schema(missing: str) -> None:
    frame, y = make_table()
    fitted = NaiveBayesClassifier(missing=missing).fit(frame, y).feature_schema_
    rows, model = frame.assign(label=y), NaiveBayesClassifier(missing=missing)
    streamed = model.fit_dataset(rows, "label", batch_rows=7).feature_schema_
    for a, b in zip(fitted, streamed, strict=True):
        assert (a.name, a.kind, a.labels, a.least, a.largest) == (
            (b.name, b.kind, b.labels, b.least, b.largest)
        )
        assert a.missing_share == pytest.approx(b.missing_share)


def test_a_check_names_what_differs(model: Any) -> None:
    frame, _ = make_table()
    assert model.check(frame).is_ok
    asked = frame.drop(columns="member").assign(
        size=[100.0] * 6 + [np.nan] * 54, sky=["pink"] * 15 + ["blue"] * 45, other=1
    )
    report = model.check(asked)
    assert not report.is_ok
    assert report.columns[0].outside_share == 1.0
    assert report.columns[0].missing_share == pytest.approx(0.9)
    assert report.columns[2].unseen_share == pytest.approx(0.25)
    assert str(report).splitlines() == [
        "column 'size': 100.0% of its numbers lie outside of training's 0 to 59, such as 100",
        "column 'size': 90.0% of its values are missing; 0.0% were in training",
        "column 'sky': 25.0% of its values were never seen in training, such as 'pink'",
        "column 'member' is missing",
        "columns ['other'] are not among those of training",
    ]
    words = model.check(frame.assign(size="many", sky=7.5)).problems
    assert "column 'size' must hold numbers, as it does in training, got 'many'" in words[0]
    assert "column 'sky' holds numbers; training had labels" in words


def test_a_check_of_an_array_goes_by_places() -> None:
    model = KDBClassifier().fit(np.arange(40.0).reshape(20, 2), [0, 1] * 10)
    assert model.check([[0.0, 1.0]]).is_ok
    problems = model.check([[99.0]] * 9).problems
    assert problems[0].startswith("column '0': 100.0% of its numbers lie outside")
    assert problems[1] == "column '1' is missing"
    one = model.check([[99.0, 1.0]])
    assert one.is_ok, "one row beyond the range of 20 may be chance"
    assert one.notes[0].startswith("column '0': 100.0% of its numbers lie outside")


def test_messages_at_prediction_name_the_classifier(model: Any) -> None:
    with pytest.raises(ValueError, match="expecting 2 features"):
        NaiveBayesClassifier().fit([[1.0, 2.0]] * 4, [0, 1] * 2).predict([[1.0]])
    fitted = NaiveBayesClassifier().fit(np.ones((4, 1)), [0, 1] * 2)
    with pytest.warns(UserWarning, match="NaiveBayesClassifier was fitted without feature names"):
        fitted.predict(pd.DataFrame({"a": [1.0]}))
