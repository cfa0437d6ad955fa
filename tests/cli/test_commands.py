"""The commands that learn, predict, evaluate, explain and describe."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import children
import priorwise
from priorwise.cli import main
from priorwise.evaluation import SCORES

MODEL, TEST = "made/model.priorwise", "made/test.csv"
FEATURES = ["age", "job"]


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def read_test() -> pd.DataFrame:
    return pd.read_csv(TEST, dtype={"id": str})


def test_fit_saves_the_model_that_the_library_learns(work: Path) -> None:
    table = pd.read_csv("made/train.csv").dropna(subset="ill")
    known = priorwise.NaiveBayesClassifier(random_state=0).fit(table[["age", "job"]], table["ill"])
    loaded = priorwise.load(MODEL)
    assert loaded.target_name_ == "ill"
    test = read_test()[FEATURES]
    np.testing.assert_array_equal(loaded.predict_proba(test), known.predict_proba(test))


@pytest.mark.parametrize("scoring", [["--cv", "3"], ["--test-size", "0.3"]])
def test_fit_prints_scores_beside_simple_models(
    scoring: list[str], work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["fit", "made/train.csv", "--target", "ill", "--drop", "id", *scoring]
    scores = run_json(capsys, *arguments, "--model", "KDBClassifier(1)")["scores"]
    assert list(scores) == ["KDBClassifier", "naive Bayes", "class shares"]
    assert scores["KDBClassifier"]["brier"] < scores["class shares"]["brier"]
    assert scores["class shares"]["hand_till_auc"] == 0.5
    assert sorted(os.listdir()) == ["made"]


def test_fit_takes_the_default_model_with_an_effort(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["fit", "made/train.csv", "--target", "-1", "--drop", "id", "-o", "m.priorwise"]
    values = run_json(capsys, *arguments, "--effort", "fast", "--jobs", "1", "--seed", "7")
    assert values["model"] == "PriorwiseClassifier"
    assert values["bytes"] == os.path.getsize("m.priorwise")
    assert values["rows"] == 199
    model = priorwise.load("m.priorwise")
    assert (model.effort, model.random_state, model.verbose) == ("fast", 7, 0)


def test_weights_and_columns_are_chosen(work: Path) -> None:
    table = pd.read_csv("made/train.csv").dropna(subset="ill")
    table["n"] = np.arange(len(table)) % 3
    table.to_csv("weighted.csv", index=False)
    arguments = ["fit", "weighted.csv", "--target", "ill", "--weights", "n", "-o", "m.priorwise"]
    options = ["--features", "age", "job", "--categorical", "age", "--quiet"]
    assert main([*arguments, *options, "--model", "NaiveBayesClassifier()"]) == 0
    model = priorwise.load("m.priorwise")
    assert model.feature_names_in_.tolist() == ["age", "job"]
    assert [column.kind for column in model.feature_schema_] == ["nominal", "nominal"]
    assert model.class_count_.sum() == table["n"].sum()


def test_the_form_of_dates_is_said(work: Path) -> None:
    lines = [f"{1 + i % 9:02}/{1 + i % 11:02}/2019,{'yes' if i % 3 else 'no'}" for i in range(99)]
    Path("dates.csv").write_text("\n".join(["when,ill", *lines]))
    options = ["--target", "ill", "--model", "NaiveBayesClassifier", "--quiet"]
    assert main(["fit", "dates.csv", "-o", "m", *options, "--dates", "when=month-first"]) == 0
    encoder = priorwise.load("m").encoder_
    assert encoder.forms_ == {0: "month-first"}


def test_columns_of_text_are_said(work: Path) -> None:
    lines = [f"{'late' if i % 3 else 'fine'} {i % 7},{'yes' if i % 3 else 'no'}" for i in range(99)]
    Path("texts.csv").write_text("\n".join(["note,ill", *lines]))
    options = ["--target", "ill", "--model", "NaiveBayesClassifier", "--quiet"]
    for more in ([], ["--stream", "--overwrite"]):
        assert main(["fit", "texts.csv", "-o", "m", *options, *more, "--text", "note"]) == 0
        assert "note: late" in priorwise.load("m").feature_labels_
    assert main(["fit", "texts.csv", "-o", "m", *options, "--text", "nota"]) != 0


def test_a_folder_of_files_is_read_whole_or_as_a_stream(work: Path) -> None:
    os.mkdir("parts")
    table = pd.read_csv("made/train.csv").dropna(subset="ill")[["age", "job", "ill"]]
    table[:90].to_parquet("parts/a.parquet")
    table[90:].to_parquet("parts/b.parquet")
    for name, option in (("whole", []), ("stream", ["--stream"])):
        arguments = ["fit", "parts", "--target", "ill", "-o", f"{name}.priorwise", "--quiet"]
        assert main([*arguments, "--model", "TANClassifier", *option]) == 0
    test = read_test()[FEATURES]
    proba = [priorwise.load(f"{n}.priorwise").predict_proba(test) for n in ("whole", "stream")]
    np.testing.assert_array_equal(*proba)


def test_predict_writes_intervals(work: Path) -> None:
    model = priorwise.load("made/model.priorwise")
    rows = pd.read_parquet("made/new.parquet")
    lower, upper = model.predict_interval(rows[["age", "job"]], 0.8)
    for out in ("out.csv", "out.parquet"):
        arguments = ["predict", "made/model.priorwise", "made/new.parquet", "-o", out, "--quiet"]
        assert main([*arguments, "--interval", "0.8"]) == 0
    table = pd.read_csv("out.csv")
    assert list(table)[3:] == ["low(no)", "low(yes)", "high(no)", "high(yes)"]
    expected = np.hstack([lower, upper])
    np.testing.assert_allclose(table.iloc[:, 3:], expected, rtol=1e-14)
    np.testing.assert_array_equal(pd.read_parquet("out.parquet").iloc[:, 3:], expected)


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_predict_writes_keys_classes_and_probabilities(
    ending: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = f"out.{ending}"
    values = run_json(capsys, "predict", MODEL, TEST, "-o", out, "--keep", "id", "--quiet")
    assert values == {"rows": 100, "output": out, "bytes": os.path.getsize(out)}
    read = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out, dtype={"id": str})
    assert list(read) == ["id", "prediction", "p(no)", "p(yes)"]
    assert read["id"].tolist() == read_test()["id"].tolist()
    model = priorwise.load(MODEL)
    np.testing.assert_allclose(
        read[["p(no)", "p(yes)"]], model.predict_proba(read_test()[FEATURES])
    )
    assert read["prediction"].tolist() == model.predict(read_test()[FEATURES]).tolist()


@pytest.mark.parametrize("ending", ["parquet", "csv.gz"])
def test_a_dash_is_standard_input_and_output(ending: str, work: Path) -> None:
    write = read_test().to_parquet if ending == "parquet" else read_test().to_csv
    write(f"in.{ending}", index=False)
    command = ["predict", MODEL, "-", "--keep", "id"]
    done = children.run(main, command, folder=work, stdin=work / f"in.{ending}")
    assert (done.returncode, done.stderr) == (0, "")
    read = pd.read_csv(io.StringIO(done.stdout), dtype={"id": str})
    assert read["id"].tolist() == read_test()["id"].tolist()


def test_a_model_goes_through_standard_output(work: Path) -> None:
    fit = ["fit", "made/train.csv", "--target", "ill", "--drop", "id", "-o", "-", "--quiet"]
    command = [*fit, "--model", "NaiveBayesClassifier"]
    with children.start(main, command, stdout=work / "model") as child:
        child.join()
        assert child.exitcode == 0
    assert Path("model").read_bytes() == Path(MODEL).read_bytes()
    done = children.run(main, ["info", "-"], folder=work, stdin=work / "model")
    assert "NaiveBayesClassifier" in done.stdout


def test_evaluate_prints_the_scores_of_the_library(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = run_json(capsys, "evaluate", MODEL, TEST, "--scores", *SCORES)
    table = read_test().dropna(subset="ill")
    assert values["rows"] == len(table) == 99
    proba = priorwise.load(MODEL).predict_proba(table[FEATURES])
    for name, score in SCORES.items():
        assert values["scores"]["NaiveBayesClassifier"][name] == pytest.approx(
            score(table["ill"], proba)
        )
    assert values["scores"]["class shares"]["hand_till_auc"] == 0.5
    assert main(["evaluate", MODEL, TEST]) == 0
    captured = capsys.readouterr()
    assert "| NaiveBayesClassifier |" in captured.out
    assert captured.err == "priorwise: note: 1 of 100 rows have no 'ill' and are left out\n"


def test_rows_of_a_class_that_training_did_not_have_are_counted_and_left_out(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = read_test().dropna(subset="ill")
    known = run_json(capsys, "evaluate", MODEL, TEST)
    more = pd.concat([table, table[:3].assign(ill="perhaps"), table[:1].assign(ill="never")])
    more.to_csv(work / "more.csv", index=False)
    assert main(["evaluate", MODEL, str(work / "more.csv"), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["scores"] == known["scores"]
    assert "of classes that training did not have are left out: 'perhaps' (3), 'never' (1)" in (
        captured.err
    )
    table.assign(ill="perhaps").to_csv(work / "other.csv", index=False)
    assert main(["evaluate", MODEL, str(work / "other.csv")]) != 0
    assert "got 'perhaps'" in capsys.readouterr().err


def test_explain_prints_contributions_that_add_up(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = run_json(capsys, "explain", MODEL, TEST, "--rows", "4", "--against", "no")
    assert len(values["rows"]) == 4
    row = values["rows"][0]
    total = values["bias"][1] + sum(part[1] for part in row["contributions"])
    assert total == pytest.approx(row["log_odds"][1])
    proba = priorwise.load(MODEL).predict_proba(read_test()[FEATURES][:1])[0]
    assert total == pytest.approx(np.log(proba[1] / proba[0]))
    assert main(["explain", MODEL, TEST, "--rows", "5", "--top", "1"]) == 0
    text = capsys.readouterr().out
    assert text.count("\nrow ") == 5
    assert text.endswith("... (95 more rows; --rows shows them)\n")


def test_info_names_classes_and_features(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = run_json(capsys, "info", MODEL)
    assert values["class_name"] == "NaiveBayesClassifier"
    assert values["target"] == "ill"
    assert list(values["class_counts"]) == ["no", "yes"]
    assert [column["kind"] for column in values["features"]] == ["numeric", "nominal"]
    assert main(["info", MODEL]) == 0
    summary, file = f"{priorwise.load(MODEL).summary()}\ntarget: ill\n", values["file"]
    assert (file["class"], file["bytes"]) == (values["class_name"], Path(MODEL).stat().st_size)
    about = f"file: {file['bytes']:,} bytes of format 5, written by priorwise {file['version']}\n"
    text = capsys.readouterr().out
    assert text.startswith(summary + "  age: numeric\n  job: nominal (")
    assert text.endswith(")\n" + about)


@pytest.mark.parametrize("form", ["json", "c", "sql"])
def test_export_writes_what_the_library_writes(
    form: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = run_json(capsys, "export", MODEL, "--to", form, "-o", f"model.{form}")
    assert values == {
        "format": form,
        "holds": "holds 3 labels of training",
        "output": f"model.{form}",
        "bytes": os.path.getsize(f"model.{form}"),
    }
    write = getattr(priorwise.export, f"export_{form}")
    write(priorwise.load(MODEL), "other")
    assert Path(f"model.{form}").read_bytes() == Path("other").read_bytes()


@pytest.mark.parametrize("command", ["report", "explorer"])
def test_pages_are_written(command: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = run_json(capsys, command, MODEL, TEST, "-o", "page.html", "--quiet")
    assert values["bytes"] == os.path.getsize("page.html")
    assert Path("page.html").read_text().lower().startswith("<!doctype html>")
    assert sorted(os.listdir()) == ["made", "page.html"]


def test_pages_take_a_class_keys_and_fixed_features(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-o", "page.html", "--key", "id", "--overwrite"]
    run_json(capsys, "report", MODEL, TEST, "--event", "no", *options)
    text = Path("page.html").read_text(encoding="utf-8")
    ids = pd.read_csv(TEST, dtype=str).dropna(subset="ill")["id"]
    rows = re.findall('data-head="id">(.*?)<', text)
    assert {row.zfill(4) for row in rows} <= set(ids)
    assert len(rows) > 5
    assert "Report: predictions of \u201cill\u201d" in text
    assert f"{Path(TEST).name}, " in text
    assert "Say \u201cno\u201d at " in text
    run_json(capsys, "explorer", MODEL, TEST, "--fixed", "age, job", *options)
    text = Path("page.html").read_text(encoding="utf-8")
    assert text.count('"is_fixed":true') == 2
    assert main(["explorer", MODEL, "--fixed", "aeg", *options]) == 2
    assert "fixed must hold names or places of features, got 'aeg'" in capsys.readouterr().err
    assert main(["report", MODEL, TEST, "--event", "maybe", *options]) == 2
    assert "--event must be one of no, yes, got 'maybe'" in capsys.readouterr().err


def test_a_file_is_replaced_only_if_asked(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.csv").write_text("old")
    assert main(["predict", MODEL, TEST, "-o", "out.csv", "--quiet"]) == 2
    assert (
        capsys.readouterr().err == "priorwise: --output 'out.csv' exists; --overwrite replaces it\n"
    )
    assert Path("out.csv").read_text() == "old"
    assert main(["predict", MODEL, TEST, "-o", "out.csv", "--quiet", "--overwrite"]) == 0
    assert Path("out.csv").read_text().startswith("prediction,")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"priorwise {priorwise.__version__}\n"


def test_help_loads_no_other_library() -> None:
    code = (
        "import sys\n"
        "from priorwise.cli import main\n"
        "try:\n    main(['fit', '--help'])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "assert not {'numpy', 'sklearn', 'pandas', 'narwhals', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_check_lists_mistakes_as_text_as_json_and_as_a_page(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv("made/train.csv", dtype={"id": str}).dropna(subset="ill")
    table["refund"] = np.where(table["ill"] == "yes", 10.5, 0.0)
    table["cost"] = [*[f"{i}.5" for i in range(len(table) - 1)], "12 EUR"]
    table.to_csv("bad.csv", index=False)
    arguments = ["check", "bad.csv", "--target", "ill"]
    assert main([*arguments, "--html", "page.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 findings in 199 rows of 5 columns"
    assert any("--missing-values, or name the column in --numeric" in line for line in lines)
    assert Path("page.html").read_text().startswith("<!doctype html>")
    values = run_json(capsys, *arguments, "--drop", "id", "--numeric", "cost")
    assert [each["column"] for each in values["findings"]] == ["refund"]
    assert main([*arguments, "--html", "page.html"]) == 2
    assert "--overwrite replaces it" in capsys.readouterr().err


def test_a_table_is_compared_with_a_model(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pd.DataFrame({"size": np.arange(40.0), "sky": ["blue", "grey"] * 20})
    rows.assign(ill=["no", "yes"] * 20, id=range(40)).to_csv("rows.csv", index=False)
    fit = ["fit", "rows.csv", "--target", "ill", "--drop", "id", "-o", "m.priorwise", "--quiet"]
    assert main([*fit, "--model", "NaiveBayesClassifier"]) == 0
    capsys.readouterr()
    assert main(["check", "rows.csv", "--model", "m.priorwise", "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == "no problems"
    rows.assign(sky="pink").to_csv("new.csv", index=False)
    assert main(["predict", "m.priorwise", "new.csv", "--quiet"]) == 0
    assert "'priorwise check DATA --model MODEL' says how" in capsys.readouterr().err
    values = run_json(capsys, "check", "new.csv", "--model", "m.priorwise")
    assert [one[:40] for one in values["problems"]] == ["column 'sky': 100.0% of its values were "]
    assert main(["check", "m.priorwise", "new.csv"]) == 2
    assert "priorwise check new.csv --model m.priorwise" in capsys.readouterr().err
    assert main(["check", "new.csv", "--target", "sky", "--model", "m.priorwise"]) == 2
    assert "--target must not be given with --model" in capsys.readouterr().err
