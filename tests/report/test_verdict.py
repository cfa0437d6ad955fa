"""What a report says for a decision: is the model good, for whom is it wrong, which threshold."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from export.cases import fit, make_table
from priorwise import NaiveBayesClassifier
from priorwise.evaluation import hand_till_auc
from priorwise.report.explorer import FeatureValues
from priorwise.report.groups import find_groups
from priorwise.report.report import choose_probabilities
from priorwise.report.thresholds import GRID, Decisions
from priorwise.report.verdict import find_trust, verdict_section

SETS = {"rare": (1500, 0.1), "common": (600, 0.45), "three classes": (600, 0.3)}


def draw(name: str, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Draw rows of classes with known shares; in the city of Oz nothing can be known of them."""
    n_rows, share = SETS[name]
    rng = np.random.default_rng(seed)
    is_ill = rng.random(n_rows) < share
    city = rng.choice(["Ulm", "Oz", "Rom"], n_rows)
    age = rng.normal(40, 10, n_rows) + 14 * is_ill * (city != "Oz")
    ill, well = "ill", np.array(["well"] * n_rows)
    if name == "three classes":
        well = np.where(rng.random(n_rows) < 0.5, "well", "tired")
    y = pd.Series(np.where(is_ill, ill, well), name="state")
    return pd.DataFrame({"age": age, "city": city, "size": rng.normal(size=n_rows)}), y


def read_verdict(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    part = re.findall(r'<section id="verdict">(.*?)</section>', text, re.S)[0]
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", "", part)))


@pytest.mark.parametrize("name", SETS)
def test_a_person_can_decide_from_the_verdict(name: str, tmp_path: Path) -> None:
    model = NaiveBayesClassifier(discretizer="equal-frequency").fit(*draw(name, 0))
    X, y = draw(name, 1)
    model.report(X, y, tmp_path / "report.html", event="ill", source="clinic.csv")
    text = read_verdict(tmp_path / "report.html")
    proba = model.predict_proba(X)
    auc = hand_till_auc(y, proba, labels=model.classes_)
    assert re.search(rf"It ranks [a-z ]+ \(AUC {auc:.2f}, 95%".replace("0.", r"\."), text)
    assert "Its probabilities" in text
    assert "choose a threshold" in text or name != "rare"
    assert re.search(
        r"Is it good\?.*Its log-loss of [\d.]+ is \d+% less than the [\d.]+ of always", text
    )
    assert re.search(r"For whom is it wrong\?Worst where \w+ .* rows, \d+% of them “ill”\)", text)
    # Both classes weigh the same at first: a miss costs as much as the other rows of each.
    p, event = proba[:, 0], (y == "ill").to_numpy()
    miss = round((~event).sum() / event.sum())
    threshold = 1 / (1 + miss)
    said = re.search(r"Which threshold\?Say “ill” at ([\d.]+)% or more", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(100 * threshold, abs=0.1)
    yes = p >= float(said[1]) / 100
    assert f"finds {(yes & event).sum()} of {event.sum()} rows" in text
    cost = miss * (~yes & event).sum() + (yes & ~event).sum()
    assert f"If a miss costs {miss} and a false alarm 1, the mistakes cost {cost} in all" in text
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "predictions of “state”" in page
    assert "clinic.csv, " in page


def test_a_ranking_with_one_mistake_is_not_called_perfect() -> None:
    y = np.repeat([0, 1], 200)
    p = np.linspace(0.01, 0.99, 400)
    p[[199, 200]] = p[[200, 199]]
    proba = np.column_stack([1 - p, p])
    decisions = Decisions.count(["no", "yes"], 1, y, proba)
    own = -np.log(proba[np.arange(400), y])
    text = verdict_section(
        ["no", "yes"], y, proba, 1, decisions, [], (own, np.full(400, np.log(2))), ""
    )
    assert "It ranks very well (AUC over .99, 95% interval over .99 to over .99)" in text
    assert "the right one first in more than 99% of the cases" in text


def judge(y: Any, p: Any, labels: tuple[str, ...] = ("no", "yes")) -> str:
    """Return the verdict on rows whose probability of the last class, or of all, is p."""
    proba = np.column_stack([1 - p, p]) if np.ndim(p) == 1 else p
    own = -np.log(np.maximum(proba[np.arange(len(y)), y], 1e-9))
    shares = -np.log((np.bincount(y, minlength=len(labels)) / len(y))[y])
    page = verdict_section([*labels], y, proba, len(labels) - 1, None, [], (own, shares), "")
    return html.unescape(re.sub("<[^>]*>", " ", page))


@pytest.mark.parametrize("n_rows", [10, 30, 200])
def test_noise_is_not_praised(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    praised = good = 0
    for _ in range(100):
        y = rng.permutation(np.arange(n_rows) % 5 == 0).astype(np.intp)
        text = judge(y, rng.beta(1, 4, n_rows))
        praised += bool(re.search("It ranks (at least |very |fairly |better|well)", text))
        good += " less than the " in text
    assert praised <= 7
    assert good <= 7


def test_few_rows_are_not_judged(tmp_path: Path) -> None:
    model = NaiveBayesClassifier(discretizer="equal-frequency").fit(*draw("common", 0))
    X, y = draw("common", 1)
    rows = [*np.flatnonzero(y == "ill")[:2], *np.flatnonzero(y == "well")[:8]]
    model.report(X.iloc[rows], y.iloc[rows], tmp_path / "page.html")
    text = read_verdict(tmp_path / "page.html")
    assert "10 rows, 2 of them “ill”, are too few to judge the model" in text
    assert "The rows are too few to say more" in text
    assert "needs at least 20 rows of the class and 20 others; there are 2 of “ill”" in text
    for word in ("ranks", "can be trusted", "If a miss costs", "less than"):
        assert word not in text
    assert 'id="thresholds"' not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_classes_that_are_never_found_are_named() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [120, 60, 25, 3])
    proba = rng.dirichlet([4, 2, 1, 1], len(y))
    proba[:, 2:] *= 0.1
    proba[np.arange(len(y)), y] += 0.3 * (y < 2)
    proba /= proba.sum(axis=1, keepdims=True)
    text = judge(y, proba, ("a", "b", "c", "d"))
    assert "It finds no row of “c” (25 rows), “d” (3 rows)." in text
    few = [*range(6), 120, 121, 180, 181, 205]
    text = judge(y[few], np.tile([0.4, 0.3, 0.2, 0.1], (11, 1)), ("a", "b", "c", "d"))
    assert "11 rows are too few to judge the model" in text
    assert "It finds no row of “b” (2 rows), “c” (2 rows), “d” (1 row)." in text
    assert "finds no row" not in judge(y[:180], proba[:180], ("a", "b", "c", "d"))


def test_thresholds_are_for_classes_with_rows_enough(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = pd.Series(np.repeat(["a", "b", "c", "d"], [150, 100, 30, 2]), name="kind")
    X = pd.DataFrame({"x": rng.normal(size=len(y)) + y.map({"a": 0, "b": 2, "c": 4, "d": 6})})
    model = NaiveBayesClassifier().fit(X, y)
    test = rng.permutation(len(y))
    model.report(X.iloc[test], y.iloc[test], tmp_path / "page.html")
    assert "Say “c” at" in read_verdict(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.findall(r'<option value="(\d)">', page) == ["2", "0", "1"]
    model.report(X.iloc[test], y.iloc[test], tmp_path / "page.html", event="d")
    text = read_verdict(tmp_path / "page.html")
    assert "there are 2 of “d” and 280 others" in text
    assert "If a miss costs" not in text


def test_what_rows_cannot_show_of_probabilities_is_said() -> None:
    rng = np.random.default_rng(0)
    points = []
    for n_rows in (300, 3000, 30_000):
        p = rng.beta(2, 3, n_rows)
        text = judge((rng.random(n_rows) < p).astype(np.intp), p)
        found = re.search(r"can be trusted.*but for errors below (\d+) points?", text)
        assert found is not None
        points.append(int(found[1]))
    assert points[0] > 2 * points[1] > 4 * points[2]
    p = rng.beta(2, 3, 41)
    text = judge((rng.random(41) < p).astype(np.intp), p)
    assert "Too few rows are uncertain to judge its probabilities" in text


def test_rows_of_other_classes_are_counted_and_left_out(tmp_path: Path) -> None:
    model = NaiveBayesClassifier().fit(*draw("common", 0))
    X, y = draw("common", 1)
    model.report(X, y, tmp_path / "plain.html")
    more = pd.concat([X, X[:3], X[:1]]), pd.concat([y, pd.Series(["odd"] * 3 + ["new"])])
    model.report(*more, tmp_path / "more.html", keys=np.arange(604))
    text, plain = (read_verdict(tmp_path / f"{name}.html") for name in ("more", "plain"))
    said = "4 rows of classes that training did not have are left out: 'odd' (3), 'new' (1). "
    assert said in text
    assert text.replace(said, "") == plain
    with pytest.raises(ValueError, match=r"y must hold classes of the model.*got 'odd'"):
        model.report(X[:2], ["odd", "odd"], tmp_path / "page.html")


@pytest.mark.filterwarnings("ignore:.* holds texts that are no numbers")
def test_a_text_among_numbers_is_missing_for_a_report_too(tmp_path: Path) -> None:
    model = NaiveBayesClassifier().fit(*draw("common", 0))
    X, y = draw("common", 1)
    texts = {}
    for odd in (">3", None):
        X["age"] = [odd, *X["age"].astype(object)[1:]]
        model.report(X, y, tmp_path / "page.html")
        texts[odd] = read_verdict(tmp_path / "page.html")
    assert texts[">3"] == texts[None]


def test_a_page_takes_dicts_and_the_name_of_the_target(tmp_path: Path) -> None:
    X, y = draw("common", 0)
    table = X.assign(state=y)[["state", *X]]
    model = NaiveBayesClassifier().fit(table, "state")
    for name, rows in (("frame", table), ("dicts", table.to_dict("records")), ("plain", X)):
        classes: Any = y if name == "plain" else "state"
        model.report(rows, classes, tmp_path / f"{name}.html")
        model.explorer(tmp_path / f"{name} explorer.html", rows, classes)
    for page in ("", " explorer"):
        plain, frame, dicts = (
            (tmp_path / f"{name}{page}.html")
            .read_text(encoding="utf-8")
            .replace("Rows have the names of the table's index.", "Rows count from 0.")
            .replace("Rows have the names of the table&#x27;s index.", "Rows count from 0.")
            for name in ("plain", "frame", "dicts")
        )
        assert frame == dicts == plain


def test_counts_of_thresholds_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    p, y = rng.random(500).round(2), (rng.random(500) < 0.2).astype(np.intp)
    counted = Decisions.count(["no", "yes"], 1, y, np.column_stack([1 - p, p]))
    for at in (0, 57, 400, len(GRID) - 1):
        said = p >= GRID[at]
        assert counted.found[at] == (said & (y == 1)).sum()
        assert counted.alarms[at] == (said & (y == 0)).sum()
    texts = counted.describe()
    cost = counted.costs[0] * (counted.n_event - counted.found) + counted.alarms
    assert texts["best-cost"] == f"{cost.min():,}"


@pytest.mark.parametrize("seed", range(3))
def test_calibrated_probabilities_are_trusted_and_others_are_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 6, 5000)
    trust = find_trust(p, rng.random(5000) < p)
    assert trust.said is None
    assert trust.most == np.sort(p)[-20]
    event = rng.random(5000) < np.where(p > 0.3, 0.5 * p, p)
    trust = find_trust(p, event)
    assert trust.said is not None
    assert trust.happened is not None
    assert trust.happened < trust.said
    assert 0.2 < trust.most < 0.45


def test_differences_that_do_not_matter_are_no_reason_for_mistrust() -> None:
    """With enough rows every model is wrong by more than chance."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 6, 200_000)
    assert find_trust(p, rng.random(len(p)) < p + 0.004).said is None
    trust = find_trust(p, rng.random(len(p)) < p + 0.03)
    assert trust.most == 0.0
    assert trust.said is not None
    assert trust.happened is not None
    assert trust.happened - trust.said == pytest.approx(0.03, abs=0.01)


def test_a_group_that_is_predicted_worse_is_found_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    n_rows = 2000
    codes = rng.integers(0, 5, (n_rows, 8))
    features = [
        FeatureValues(f"f{i}", True, False, list("abcde"), None, codes[:, i]) for i in range(8)
    ]
    p = rng.beta(1, 4, n_rows)

    def find(p_true: Any) -> list[Any]:
        event = rng.random(n_rows) < p_true
        return find_groups(features, "ill", event, p, -np.log(np.where(event, p, 1 - p)))

    assert not any(group.is_marked or group.is_biased for group in find(p))
    worst = find(np.where(codes[:, 3] == 2, 0.6, p))[0]
    assert worst.name == "f3 = c"
    assert worst.is_marked
    assert worst.is_biased
    assert worst.happened > worst.said


def test_rows_of_training_in_their_order_are_told_from_others() -> None:
    X, y = make_table(300, 0)
    model = fit("flagship")
    truth = np.searchsorted(model.classes_, y)
    proba, note = choose_probabilities(model, X, truth)
    assert proba is model.oof_proba_
    assert "out of fold" in note
    order = np.random.default_rng(0).permutation(len(y))
    proba, note = choose_probabilities(model, X.iloc[order], truth[order])
    np.testing.assert_array_equal(proba, model.predict_proba(X.iloc[order]))
    assert "has not seen" in note


def test_rows_have_the_names_that_they_are_given(tmp_path: Path) -> None:
    X, y = draw("common", 0)
    model = NaiveBayesClassifier().fit(X, y)
    X.index = pd.Index(np.arange(5000, 5600), name="customer")
    model.report(
        X, y, tmp_path / "page.html", keys=pd.Series([f"k{i}" for i in range(600)], name="key")
    )
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r'data-head="key">k\d+<', text)
    model.report(X, y, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r'data-head="customer">5\d\d\d<', text)
    with pytest.raises(ValueError, match="keys must name each of the 600 rows of X, got 3 keys"):
        model.report(X, y, tmp_path / "page.html", keys=[1, 2, 3])
    with pytest.raises(ValueError, match=r"event must be one of the classes .*got 'dead'"):
        model.report(X, y, tmp_path / "page.html", event="dead")
