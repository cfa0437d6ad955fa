import json
import sys
import time

import pandas as pd
import pytest
from benchmarks.problems.games import make_balance_scale, make_monks
from sklearn.datasets import load_iris, load_wine

import children
from priorwise.cli import main
from priorwise.evaluation import read_results

MODELS = ["nb=sklearn:GaussianNB", "prior=sklearn:DummyClassifier"]


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    sets = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "balance": make_balance_scale(),
        "monks": make_monks(1),
    }
    for name, (X, y) in sets.items():
        pd.DataFrame(X).assign(label=y).to_csv(data / f"{name}.csv", index=False)
    return data


def bench(folder, out, *more, models=MODELS):
    command = ["bench", "--data", str(folder), "--out", str(out), "--quiet", "--models", *models]
    return [*command, *more]


def test_bench_writes_results_that_compare_reads(folder, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert main(bench(folder, out, "--protocol", "2x2")) == 0
    assert "32 cells" in capsys.readouterr().out
    results = read_results(out)
    assert results.errors == ()
    assert results.datasets == ("balance", "iris", "monks", "wine")
    pictures = tmp_path / "pictures"
    arguments = ["compare", str(out), "--per-dataset", "--pictures", str(pictures)]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    _, table = results.score_table("rmse")
    mean = sum(table["nb"]) / 4
    assert f"| nb    | {mean:.4f} |" in text
    assert "Friedman (Iman-Davenport): F = " in text
    assert "## log-loss (lower is better), 4 data sets" in text
    kinds = ("ranks", "nb-against-prior")
    expected = {f"{score}-{kind}.png" for score in results.scores for kind in kinds}
    assert {path.name for path in pictures.iterdir()} == expected


def test_a_baseline_limits_the_pairs(folder, tmp_path, capsys):
    out = tmp_path / "out.csv"
    models = [*MODELS, "tree=sklearn:DecisionTreeClassifier(max_depth=2)"]
    assert main(bench(folder, out, "--protocol", "2x2", models=models)) == 0
    assert main(["compare", str(out), "--scores", "rmse", "--baseline", "prior"]) == 0
    text = capsys.readouterr().out
    assert text.count("| prior   |") == 2
    assert "| tree  | nb " not in text
    assert main(["compare", str(out), "--baseline", "nobody"]) == 2


def test_data_sets_are_chosen_by_name_and_pattern(folder, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert main(bench(folder, out, "--datasets", "iris", "w*")) == 0
    assert read_results(out).datasets == ("iris", "wine")
    assert main(bench(folder, out, "--datasets", "irs")) == 2
    assert "no data set of 4 is called 'irs'; near: ['iris']" in capsys.readouterr().err


def test_the_target_may_be_named_or_counted(folder, tmp_path):
    out = tmp_path / "out.csv"
    assert main(bench(folder, out, "--datasets", "monks", "--target", "0")) == 0
    assert {row["n_classes"] for row in read_results(out).rows} == {"3"}
    other = tmp_path / "other.csv"
    assert main(bench(folder, other, "--datasets", "monks", "--target", "label")) == 0
    assert {row["n_classes"] for row in read_results(other).rows} == {"2"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "nowhere.csv"], "nowhere.csv"),
        (["bench", "--data", "nowhere", "--models", "x", "--out", "o"], "no class 'x'"),
        (["bench", "--data", "nowhere", "--models", MODELS[0], "--out", "o"], "directory"),
        (["bench", "--models", MODELS[0], "--out", "o"], "either --data or --suite"),
        (["bench", "--data", ".", "--models", MODELS[0], MODELS[0], "--out", "o"], "two models"),
    ],
)
def test_a_wrong_argument_is_explained_in_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_failed_cells_are_reported_and_their_data_sets_left_out(folder, tmp_path, capsys):
    (folder / "broken.arff").write_text("not arff")
    out = tmp_path / "out.csv"
    assert main(bench(folder, out, "--protocol", "1x2")) == 0
    captured = capsys.readouterr()
    assert "4 failed, see the column error" in captured.out
    assert "note: 4 of 20 cells failed; the first: ArffError:" in captured.err
    assert "Means over 4 data sets:" in captured.out
    assert main(["compare", str(out)]) == 0
    text = capsys.readouterr().out
    assert "4 cells failed; the first: ArffError:" in text
    assert "Left out: 1 data set" in text


def test_a_bench_in_which_every_cell_failed_is_no_success(tmp_path, capsys):
    broken = tmp_path / "broken.arff"
    broken.write_text("not arff")
    assert main(bench(broken, tmp_path / "out.csv", "--protocol", "1x2")) == 1
    assert "4 of 4 cells failed" in capsys.readouterr().err


def test_bench_takes_one_file_prints_scores_and_counts_rows_without_a_label(tmp_path, capsys):
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X).assign(label=[None, None, *map(str, y[2:])])
    table.to_csv(tmp_path / "iris.csv", index=False)
    out = tmp_path / "out.csv"
    assert main([*bench(tmp_path / "iris.csv", out, "--protocol", "1x2"), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "iris.csv: left out 2 rows without a target" in captured.err
    scores = json.loads(captured.out)["scores"]
    assert scores["nb"]["rmse"] < scores["prior"]["rmse"]
    assert {int(row["n_train"]) + int(row["n_test"]) for row in read_results(out).rows} == {148}


def test_models_that_all_data_sets_rank_alike_have_a_finite_statistic(folder, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert main(bench(folder, out, "--protocol", "1x2", "--datasets", "iris", "wine")) == 0
    capsys.readouterr()
    assert main(["compare", str(out), "--scores", "rmse"]) == 0
    text = capsys.readouterr().out
    assert "Friedman: all 2 data sets rank the models alike, chi2 = 2.0000, p = 0.1573" in text
    assert "inf" not in text
    assert main(["compare", str(out), "--scores", "rmse", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["scores"]["rmse"]
    assert values["pairs"][0]["wins"] == 2
    assert values["average_ranks"] == {"nb": 1.0, "prior": 2.0}


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_bench_goes_on_to_the_same_file(folder, tmp_path, jobs):
    for name in ("wine", "monks"):
        (folder / f"{name}.csv").unlink()
    models = ["forest=sklearn:RandomForestClassifier(n_estimators=30)", *MODELS]
    whole, killed = tmp_path / "whole.csv", tmp_path / "killed.csv"
    assert main(bench(folder, whole, "--protocol", "2x2", models=models)) == 0
    arguments = bench(folder, killed, "--protocol", "2x2", models=models)
    with children.start(main, [*arguments, "--jobs", jobs]) as process:
        _wait_for_rows(process, killed, more_than=1)
        assert process.is_alive()
        process.kill()
        process.join()
    assert 1 < _count_lines(killed) < _count_lines(whole)
    assert main(arguments) == 0
    assert killed.read_bytes() == whole.read_bytes()


def _count_lines(path):
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def _wait_for_rows(process, path, more_than):
    deadline = time.monotonic() + 300
    while process.is_alive() and time.monotonic() < deadline:
        if _count_lines(path) > more_than:
            return
        time.sleep(0.005)
