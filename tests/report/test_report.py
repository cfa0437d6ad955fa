"""The report of a model: what stands in it, and how it looks in a browser."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from export.cases import fit, make_table, predict
from priorwise import (
    KDBClassifier,
    NaiveBayesClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
)
from priorwise.evaluation import brier, cross_entropy, hand_till_auc, zero_one_loss
from priorwise.report.features import permute_features
from priorwise.report.svg import find_ticks

SECTIONS = [
    "verdict", "thresholds", "scores", "calibration", "confusion", "groups", "features", "shapes",
    "pairs", "wrong", "unsure", "values", "structure",
]  # fmt: skip


class Page(HTMLParser):
    """The tables of each section as texts, the tags, and the attributes of pictures."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.tables: dict[str, list[list[str]]] = {}
        self.sections: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self._cell: list[str] | None = None
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self.sections.append(str(dict(attrs)["id"]))
            self.tables[self.sections[-1]] = []
        elif tag == "tr":
            self.tables[self.sections[-1]].append([])
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "svg":
            self.pictures.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.tables[self.sections[-1]][-1].append(" ".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = make_table(300, 1)
    X.loc[:5, "letter"] = "zzz"
    X.loc[6:9, "height"] = None
    return X, y


@pytest.fixture(scope="module")
def path(table: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    fit("flagship").report(*table, path)
    return path


@pytest.fixture(scope="module")
def page(path: Path) -> Page:
    return Page(path)


def test_the_report_has_all_parts_in_order(page: Page) -> None:
    assert page.sections == SECTIONS
    for name in SECTIONS:
        assert f'<a href="#{name}">' in page.text


def test_scores_are_those_of_python(page: Page, table: Any) -> None:
    X, y = table
    model = fit("flagship")
    proba = predict(model, X)
    line = page.tables["scores"][1]
    shown = [float(cell.split(" ")[0]) for cell in line[1:5]]
    expected = [
        score(y, proba, labels=model.classes_)
        for score in (cross_entropy, brier, zero_one_loss, hand_till_auc)
    ]
    assert shown == pytest.approx(expected, abs=5e-4)
    shares = page.tables["scores"][3]
    prior = np.tile(model.class_count_ / model.class_count_.sum(), (len(y), 1))
    assert float(shares[1].split(" ")[0]) == pytest.approx(
        cross_entropy(y, prior, labels=model.classes_), abs=5e-3
    )


def test_members_stand_with_their_weights(page: Page) -> None:
    model = fit("flagship")
    lines = {line[0]: line for line in page.tables["structure"]}
    for name, weight in model.pool_weights_.items():
        assert float(lines[name][1].replace("\u2212", "-")) == pytest.approx(weight, abs=5e-3)


def test_confusion_counts_rows(page: Page, table: Any) -> None:
    X, y = table
    model = fit("flagship")
    best = model.classes_[predict(model, X).argmax(axis=1)]
    for k, label in enumerate(model.classes_):
        line = page.tables["confusion"][1 + k]
        counts = [int(cell.split(" ")[0]) for cell in line[1:]]
        assert counts == [int(((y == label) & (best == other)).sum()) for other in model.classes_]


def test_importance_is_the_mean_size_of_contributions(page: Page, table: Any) -> None:
    overall = fit("flagship").explain_global(table[0])
    names = overall.explanation.feature_names
    lines = page.tables["features"][1:]
    assert [line[0] for line in lines] == [names[i] for i in overall.ranking]
    shown = [float(line[1]) for line in lines]
    assert shown == pytest.approx(overall.importance[overall.ranking], abs=5e-3)


def test_of_many_features_the_less_important_ones_are_folded(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 70)), columns=[f"f{i}" for i in range(70)])
    y = np.where(X["f3"] + X["f5"] > 0, "yes", "no")
    model = KDBClassifier().fit(X, y)
    model.report(X, y, tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert "Of its 70 features the 20 that come first in it are shown." in page.text
    overall = model.explain_global(X)
    ranked = [overall.explanation.feature_names[i] for i in overall.ranking]
    lines = [line[0] for line in page.tables["features"] if line[0] != "feature"]
    assert lines == ranked
    shown, folded = page.text.split("<details>", 1)
    assert f">{ranked[19]}</td>" in shown
    assert folded.startswith("<summary>50 features that matter less</summary>")


def test_the_classifier_beside_the_model_says_nothing_of_the_columns(tmp_path: Path) -> None:
    X = pd.DataFrame({"key": [f"k{i:03}" for i in range(400)], "a": np.arange(400) % 7})
    y = np.where(X["a"] > 3, "yes", "no")
    with pytest.warns(UserWarning, match="'key' has 200 different labels"):
        model = NaiveBayesClassifier().fit(X[:200], y[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.report(X[200:], y[200:], tmp_path / "page.html")


def test_the_worst_rows_come_first(page: Page, table: Any) -> None:
    X, y = table
    model = fit("flagship")
    true = predict(model, X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    rows = [int(line[0]) for line in page.tables["wrong"][1:]]
    assert rows == np.argsort(true, kind="stable")[: len(rows)].tolist()
    assert page.tables["wrong"][1][1] == y[rows[0]]


def test_shares_of_missing_and_unseen_values_are_shown(page: Page) -> None:
    lines = {line[0]: line for line in page.tables["values"][1:]}
    assert lines["letter"][4] == "2.00%"
    assert lines["height"][3] == "1.33%"


def test_ordered_categories_have_labels_in_the_table_of_values(tmp_path: Path) -> None:
    X, y = make_table(40, 1)
    fit("tree, hard").report(X.assign(letter=None), y, tmp_path / "page.html")
    lines = {line[0]: line[1] for line in Page(tmp_path / "page.html").tables["values"][1:]}
    assert lines["letter"] == "10 labels"


ODD_TABLES = {
    "constant": {"a": [1.0] * 40},
    "missing": {"a": [np.nan] * 40, "b": [None] * 40, "c": [1.0, 2.0] * 20},
    "labels that are no text": {"a": [(1, 2), (3,)] * 20, "b": [1.0, 2.0, 3.0, 4.0] * 10},
}


@pytest.mark.parametrize("name", ODD_TABLES)
def test_odd_columns_have_a_report(name: str, tmp_path: Path) -> None:
    X, y = pd.DataFrame(ODD_TABLES[name]), ["x", "y", "x", "y", "y"] * 8
    for model in (NaiveBayesClassifier(), ProbabilityForestClassifier(5, random_state=0)):
        model.fit(X, y).report(X, y, tmp_path / "page.html")
        page = Page(tmp_path / "page.html")
        # Features without anything to tell of are left out.
        named = [line[0] for line in page.tables.get("values", [])[1:]]
        assert named == [name for name in X if X[name].isna().any()]
        assert named or "No value is missing" in page.text


def test_every_picture_has_a_text_and_is_well_formed(page: Page) -> None:
    pictures = re.findall(r"<svg .*?</svg>", page.text, re.S)
    assert len(pictures) == len(page.pictures) > 10
    for picture, attributes in zip(pictures, page.pictures, strict=True):
        ET.fromstring(picture)
        assert attributes["role"] == "img"
        assert len(str(attributes["aria-label"])) > 5
        assert "nan" not in picture.replace("nance", "")


def test_rows_of_training_are_judged_out_of_fold(tmp_path: Path) -> None:
    X, y = make_table(300, 0)
    model = fit("flagship")
    model.report(X, y, tmp_path / "report.html")
    found = Page(tmp_path / "report.html")
    known = ~np.isnan(model.oof_proba_).any(axis=1)
    expected = cross_entropy(y[known], model.oof_proba_[known], labels=model.classes_)
    assert float(found.tables["scores"][1][1].split(" ")[0]) == pytest.approx(expected, abs=5e-3)
    assert "out of fold" in found.text
    rows = [int(line[0]) for line in found.tables["wrong"][1:]]
    true = np.where(known, model.oof_proba_[np.arange(300), np.searchsorted(model.classes_, y)], 2)
    assert rows == np.argsort(true, kind="stable")[: len(rows)].tolist()


def test_rows_of_training_without_probabilities_out_of_fold_warn(tmp_path: Path) -> None:
    X, y = make_table(100, 0)
    NaiveBayesClassifier().fit(X[["height"]], y).report(X[["height"]], y, tmp_path / "page.html")
    assert "its scores are too good" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "model",
    [KDBClassifier(2), ProbabilityTreeClassifier(random_state=0), NaiveBayesClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_two_classes_arrays_and_texts_that_look_like_code(model: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"<b>&": rng.choice(["<i>", "&amp;"], 90), "n": rng.normal(size=90)})
    y = np.where(rng.random(90) < 0.8, X["<b>&"], "<i>").astype(str)
    model.fit(X[::2], y[::2]).report(X[1::2], y[1::2], tmp_path / "frame.html")
    text = (tmp_path / "frame.html").read_text(encoding="utf-8")
    assert "<i>" not in text
    assert "<b>" not in text
    numbers = rng.normal(size=(60, 2))
    codes = (numbers[:, 0] > 0).astype(int)
    model.fit(numbers, codes).report(numbers, codes, tmp_path / "array.html")
    # The table of thresholds says which of two classes are confused.
    expected = [name for name in SECTIONS if name != "confusion"]
    assert Page(tmp_path / "array.html").sections == expected


def test_shuffling_a_feature_of_no_use_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"used": rng.normal(size=400), "one": np.ones(400)}, index=range(5, 405))
    y = (X["used"] + 0.5 * rng.normal(size=400) > 0).to_numpy().astype(int)
    model = NaiveBayesClassifier().fit(X, y)
    rise = permute_features(model, X, y.astype(np.intp), 0)
    assert rise is not None
    assert rise[0] > 0.3
    assert rise[1] == 0.0
    as_array = permute_features(model.fit(X.to_numpy(), y), X.to_numpy(), y.astype(np.intp), 0)
    assert as_array == pytest.approx(rise)


def test_ticks_are_round_and_within_the_range() -> None:
    assert find_ticks(-0.37, 0.93) == [-0.2, 0.0, 0.2, 0.4, 0.6, 0.8]
    assert find_ticks(3.0, 3.0) == [3.0]
