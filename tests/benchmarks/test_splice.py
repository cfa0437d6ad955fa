import numpy as np
import pandas as pd
import pytest
from benchmarks.problems import splice
from benchmarks.problems.splice import write_splice_like
from sklearn.metrics import mutual_info_score


def test_rows_do_not_depend_on_how_they_are_spread_over_files(tmp_path, monkeypatch):
    monkeypatch.setattr(splice, "CHUNK_ROWS", 300)
    write_splice_like(tmp_path / "one.parquet", 1000, n_features=12)
    files = write_splice_like(tmp_path / "many", 1000, n_features=12, n_files=7)
    (fewer,) = write_splice_like(tmp_path / "fewer.parquet", 450, n_features=12)
    whole = pd.read_parquet(tmp_path / "one.parquet")
    joined = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    pd.testing.assert_frame_equal(joined, whole)
    pd.testing.assert_frame_equal(pd.read_parquet(fewer), whole.iloc[:450])
    assert whole.shape == (1000, 13)
    (later,) = write_splice_like(tmp_path / "later.parquet", 400, n_features=12, first_row=450)
    pd.testing.assert_frame_equal(
        pd.read_parquet(later), whole.iloc[450:850].reset_index(drop=True)
    )
    other = write_splice_like(tmp_path / "other.parquet", 1000, n_features=12, seed=1)
    assert not pd.read_parquet(other[0]).equals(whole)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("splice") / "rows.parquet"
    write_splice_like(path, 60_000, n_features=60, positives=0.3)
    return pd.read_parquet(path).astype("category")


def test_positives_are_as_frequent_as_asked(rows):
    share = (rows["label"] == "positive").mean()
    assert share == pytest.approx(0.3, abs=4 * np.sqrt(0.3 * 0.7 / len(rows)))
    assert sorted(rows["x010"].unique()) == ["A", "C", "G", "T"]


def test_positions_at_the_site_tell_the_class_and_others_do_not(rows):
    # Twice n times the information is chi-squared with 3 degrees of freedom where there is none.
    statistic = {
        j: 2 * len(rows) * information(rows["label"], rows[f"x{j:03d}"]) for j in range(45)
    }
    assert statistic[30] > 1000
    assert max(statistic[j] for j in range(2, 17)) < 25


def test_long_arcs_are_stronger_than_those_to_the_neighbour(rows):
    far = information(rows["x059"], rows["x000"])
    assert far > 0.02
    assert far > 20 * information(rows["x059"], rows["x058"])
    assert information(rows["x010"], rows["x009"]) > 0.02


def information(first, second):
    return mutual_info_score(first.cat.codes, second.cat.codes)


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("n_rows", 0, "n_rows must be a number at least 1, got 0"),
        ("n_features", 3, "n_features must be a number at least 4, got 3"),
        ("n_values", 1, "n_values must be a number at least 2 and at most 100, got 1"),
        ("n_values", 200, "n_values must be a number at least 2 and at most 100, got 200"),
        ("positives", 0.0, "positives must be a number above 0 and below 1, got 0.0"),
        ("n_files", 0, "n_files must be a number at least 1, got 0"),
    ],
)
def test_wrong_options_are_named(option, value, rule, tmp_path):
    with pytest.raises(ValueError, match=rule):
        write_splice_like(tmp_path / "rows.parquet", **{"n_rows": 10, option: value})
