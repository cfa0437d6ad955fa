"""Summaries and model cards say what a model is made of, in every setting."""

import numpy as np
import pandas as pd
import pytest

import priorwise
from contract.rows.tables import mixed
from contract.settings import BY_NAME, Setting, TargetLast, each_setting
from priorwise import data, smoothing
from priorwise.cli.main import main
from priorwise.storage.summary import format_bytes


@each_setting("LogLinearPool foreign members", smoothers=False)
def test_every_model_has_a_summary_and_a_card(setting: Setting) -> None:
    if isinstance(setting.model, TargetLast):
        return
    summary, card = setting.fitted.summary(), setting.fitted.card()
    assert summary.n_rows == len(mixed()[1])
    assert summary.class_counts.keys() == {"maybe", "no", "yes"}
    assert [column.name for column in summary.features] == ["colour", "size", "shape", "age"]
    assert summary.parts
    assert all(0 < part.n_bytes <= summary.n_bytes for part in summary.parts)
    assert "learnt from 80 rows of 4 features: 2 nominal, 2 numeric" in str(summary)
    for title in ("Training data", "Scores out of fold", "Features", "Limits", "How to reproduce"):
        assert f"\n## {title}\n" in card
    assert "| colour | nominal | amber, blue, cyan, dun |" in card


def test_the_example_of_a_card_gives_the_model_again() -> None:
    X, y = mixed()
    model = priorwise.KDBClassifier(1, smoothing=smoothing.HDP(tying="single"), random_state=3)
    code = model.fit(X, y).card().split("```python")[1].split("```")[0]
    names = {"X": X, "y": y, "HDP": smoothing.HDP}
    exec(code, names)
    np.testing.assert_array_equal(names["model"].predict_proba(X), model.predict_proba(X))


def test_shared_arrays_are_counted_once() -> None:
    model = BY_NAME["LogLinearPool"].fitted
    pool = model.summary()
    n_bytes = pool.n_bytes - model.set_scores_.nbytes
    assert n_bytes < 2 * sum(part.n_bytes for part in pool.parts)
    assert [part.name for part in pool.parts] == ["bayes", "forest"]


def test_what_is_no_classifier_says_whether_it_is_fitted() -> None:
    X = mixed()[0]
    for fitted in (
        priorwise.ConditionalTable().fit(X, target="shape", given=["colour"]),
        priorwise.BayesianNetwork([("colour", "shape")]).fit(X[["colour", "shape"]]),
        data.EqualWidthDiscretizer(3).fit(X[["age"]]),
    ):
        assert "\nfitted\n" in str(fitted.summary())
        assert "has not learnt" not in fitted.card()
    assert "not fitted" in str(priorwise.TANClassifier().summary())
    assert "has not learnt" in smoothing.MLE().card()


def test_a_card_keeps_its_table_whatever_the_names() -> None:
    X = pd.DataFrame({"a|b\nc": ["x|y", "z"] * 10})
    card = priorwise.NaiveBayesClassifier().fit(X, ["no", "yes"] * 10).card()
    assert "| a\\|b c | nominal | x\\|y, z | 0.0% |" in card


def test_the_command_line_tells_what_is_inside(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "x.model")
    BY_NAME["TAN"].fitted.save(path)
    assert main(["info", path]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("TANClassifier()\nlearnt from 80 rows")
    assert f"bytes of format 5, written by priorwise {priorwise.__version__}" in printed
    assert main(["info", "--card", path]) == 0
    assert capsys.readouterr().out.startswith("# TANClassifier\n")
    (tmp_path / "x.model").write_bytes(b"nothing")
    assert main(["info", path]) == 2
    assert "cannot be used" in capsys.readouterr().err


def test_sizes_are_readable() -> None:
    assert format_bytes(999) == "1.0 kB"


def test_a_summary_says_what_it_holds_of_training() -> None:
    X = [["anna" if i == 0 else "other", i % 17 + 0.5] for i in range(60)]
    y = ["a", "b", "b"] * 20
    summary = priorwise.NaiveBayesClassifier().fit(X, y).summary()
    assert (summary.n_labels, summary.n_rare_labels, summary.n_kept_rows) == (2, 1, 0)
    assert "holds 2 labels of training, 1 of them of fewer than 5 rows" in str(summary)
    kernel = priorwise.KernelLogisticClassifier(n_landmarks=20, random_state=0).fit(X, y)
    assert 0 < kernel.summary().n_kept_rows <= 20
    pool = priorwise.LogLinearPool([("kernel", kernel)], random_state=0).fit(X, y)
    assert pool.summary().n_kept_rows > 0
