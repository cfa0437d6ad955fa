"""The page that evaluates a model, in a real browser."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from browser import list_errors, list_requests, open_page
from export.cases import ORDERED, fit, list_rows, make_table, predict
from priorwise import NaiveBayesClassifier, SplineLogisticClassifier

pytestmark = pytest.mark.xdist_group("browser")

N_ROWS = 200

READ = """
const read = () => ({
  proba: [...document.querySelectorAll("#bars .bar")].map((bar) => Number(bar.dataset.probability)),
  steps: [...document.querySelectorAll("#steps .step")]
    .filter((step) => step.style.display !== "none")
    .map((step) => [step.querySelector(".what").textContent, Number(step.dataset.size)]),
});
"""


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = make_table(N_ROWS, 1)
    X.loc[:5, "letter"] = "zzz"
    X.loc[6:9, "height"] = None
    return X, y


@pytest.fixture(scope="module")
def page(table: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    fit("flagship").explorer(path, *table)
    return path


def wait_for(driver: Any, script: str) -> Any:
    while not (result := driver.execute_script(script)):
        time.sleep(0.01)
    return result


def read(driver: Any) -> dict[str, Any]:
    wait_for(driver, "return !document.querySelector('#steps[aria-busy]')")
    return driver.execute_script(READ + "return read();")


def take(X: pd.DataFrame, row: int, **changes: Any) -> pd.DataFrame:
    values = {**list_rows(X)[row], **changes}
    return pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in values.items()})


def read_rows(driver: Any) -> list[list[float]]:
    """Probabilities that the open page gives to each of its rows."""
    script = """
    const field = document.querySelector("#row-tools input"), result = [];
    for (let row = 1; row <= arguments[0]; ++row) {
      field.value = row;
      field.dispatchEvent(new Event("change"));
      result.push(read().proba);
    }
    return result;
    """
    return driver.execute_script(READ + script, N_ROWS)


def test_probabilities_of_200_rows_are_those_of_python(driver, page, table):
    open_page(driver, page)
    expected = predict(fit("flagship"), table[0])
    np.testing.assert_allclose(read_rows(driver), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_ordered_categories_are_chosen_by_their_labels(driver, table, tmp_path, name):
    X = table[0].copy()
    X.loc[10:12, "letter"] = None
    model = fit(name)
    model.explorer(tmp_path / "page.html", X)
    text = (tmp_path / "page.html").read_text(encoding="utf-8").split("<template")[0]
    written = [float(p) for p in re.findall(r'data-probability="(.*?)"', text)]
    open_page(driver, tmp_path / "page.html")
    assert read(driver)["proba"] == pytest.approx(written, abs=1e-9)
    np.testing.assert_allclose(read_rows(driver), predict(model, X), rtol=0, atol=1e-9)
    assert list_errors(driver) == []


def test_the_first_answer_is_in_the_page_before_its_script_runs(driver, page):
    text = page.read_text(encoding="utf-8").split("<template")[0]
    written = [float(p) for p in re.findall(r'data-probability="(.*?)"', text)]
    open_page(driver, page)
    assert read(driver)["proba"] == pytest.approx(written, abs=1e-9)


def test_of_many_features_those_in_view_are_drawn(driver, tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 120))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(120)])
    model = NaiveBayesClassifier(discretizer="equal-frequency").fit(frame, X[:, 7] > 0)
    model.explorer(tmp_path / "page.html", frame)
    open_page(driver, tmp_path / "page.html")
    count = "return document.querySelectorAll('#features input[type=range]').length"
    assert 0 < wait_for(driver, count) < 120
    last = driver.find_elements("css selector", "#features label.name")[-1]
    driver.find_element("id", "find").send_keys(last.text)
    script = f"return document.getElementById('{last.get_attribute('for')}')"
    slider = wait_for(driver, script)
    slider.send_keys("\ue011")  # the key Home
    before = read(driver)["proba"]
    slider.send_keys("\ue010")  # the key End
    assert read(driver)["proba"] != before
    assert driver.find_element("id", "find-note").text.endswith("of 120 features")


@pytest.mark.parametrize("level", [0.9, 0.5])
def test_intervals_are_those_of_python(driver, page, table, level):
    place = {0.5: 0, 0.9: 2}[level]
    open_page(driver, page, "#state=" + json.dumps({"level": place, "changed": {}}))
    script = """
    const field = document.querySelector("#row-tools input"), done = arguments[1], result = [];
    const next = (row) => {
      if (row > arguments[0]) return done(result);
      field.value = row;
      field.dispatchEvent(new Event("change"));
      const wait = () => {
        if (document.querySelector("#bars[aria-busy]")) return setTimeout(wait, 1);
        const all = [...document.querySelectorAll("#bars .bar")];
        const ends = (name) => all.map((bar) => Number(bar.dataset[name]));
        result.push([ends("lower"), ends("upper")]);
        next(row + 1);
      };
      wait();
    };
    next(1);
    """
    wait_for(driver, "return document.querySelector('#bars .bar[data-upper]')")
    found = np.swapaxes(driver.execute_async_script(script, 20), 0, 1)
    expected = fit("flagship").predict_interval(table[0][:20], level)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert driver.find_element("id", "level").get_attribute("value") == str(place)


def test_steps_are_the_contributions_of_python_and_add_up(driver, page, table):
    open_page(driver, page, "#state=" + json.dumps({"row": 12, "class": 2, "changed": {}}))
    steps = read(driver)["steps"]
    model = fit("flagship")
    explanation = model.explain(table[0][12:13])
    assert steps[0] == ["before any feature", pytest.approx(explanation.bias[2], abs=1e-9)]
    assert steps[-1] == ["log-odds", pytest.approx(explanation.log_odds[0, 2], abs=1e-9)]
    shown = {text.split(" = ")[0]: size for text, size in steps[1:-1]}
    expected = dict(zip(explanation.feature_names, explanation.contributions[0, :, 2], strict=True))
    assert shown == pytest.approx(expected, abs=1e-9)
    assert sum(size for _, size in steps[:-1]) == pytest.approx(steps[-1][1], abs=1e-9)


def test_a_key_moves_a_slider_and_the_answer(driver, page, table):
    open_page(driver, page, "#state=" + json.dumps({"row": 20, "changed": {}}))
    before = read(driver)["proba"]
    (label,) = driver.find_elements("xpath", "//label[text()='height']")
    slider = driver.find_element("id", label.get_attribute("for"))
    for _ in range(30):
        slider.send_keys("\ue014")  # the right arrow
    moved = float(
        driver.execute_script("return arguments[0].getAttribute('aria-valuetext')", slider)
    )
    field = driver.find_element("css selector", "input[aria-label='height, exact value']")
    assert float(field.get_attribute("value")) == pytest.approx(moved, rel=1e-5)
    field.click()  # shows all digits
    exact = float(field.get_attribute("value"))
    assert exact == pytest.approx(moved, rel=1e-5)
    assert exact > table[0]["height"][20]
    after = read(driver)["proba"]
    assert after != before
    expected = predict(fit("flagship"), take(table[0], 20, height=exact))
    np.testing.assert_allclose([after], expected, rtol=0, atol=1e-9)


def test_all_controls_can_be_reached_and_have_names(driver, page):
    open_page(driver, page)
    script = """
    const hasName = (one) =>
      one.textContent || one.getAttribute("aria-label") || (one.labels && one.labels.length);
    return [...document.querySelectorAll("button, input, select, summary, a")]
      .filter((one) => one.offsetParent && (one.tabIndex < 0 || !hasName(one)))
      .map((one) => one.outerHTML);
    """
    assert driver.execute_script(script) == []


def test_a_link_keeps_the_state(driver, page, table):
    open_page(driver, page, "#state=" + json.dumps({"row": 3, "changed": {}}))
    set_label = """
    const [menu] = [...document.querySelectorAll("label.name")]
      .filter((label) => label.textContent === "letter").map((label) => label.control);
    menu.value = [...menu.options].findIndex((option) => option.textContent.startsWith("c "));
    menu.dispatchEvent(new Event("change"));
    document.getElementById("threshold").value = 30;
    document.getElementById("threshold").dispatchEvent(new Event("change"));
    document.getElementById("link").click();
    return location.href;
    """
    address = driver.execute_script(set_label)
    before = read(driver)
    open_page(driver, page, "#" + address.split("#")[1])
    assert read(driver) == before
    assert driver.find_element("id", "threshold").get_attribute("value") == "30"
    expected = predict(fit("flagship"), take(table[0], 3, letter="c"))
    np.testing.assert_allclose([before["proba"]], expected, rtol=0, atol=1e-9)


def test_changes_that_are_found_flip_the_decision(driver, page):
    open_page(driver, page, "#state=" + json.dumps({"row": 30, "class": 0, "changed": {}}))
    search = """
    const done = arguments[0];
    document.getElementById("search").click();
    const wait = () => document.getElementById("search-note").textContent.startsWith("Searching")
      ? setTimeout(wait, 20) : done(document.getElementById("decision").textContent);
    wait();
    """
    driver.set_script_timeout(60)
    before = driver.execute_async_script(search)
    lines = driver.find_elements("css selector", "#found li")
    assert lines
    is_yes = before.startswith("Now it says")
    # The threshold begins at the share of the class in training.
    model = fit("flagship")
    share = model.class_count_[0] / model.class_count_.sum()
    for line in lines:
        assert (float(line.get_attribute("data-probability")) >= share) != is_yes
    one = sum(" and " not in line.text for line in lines)
    assert all(" and " not in line.text for line in lines[:one])
    promised = float(lines[-1].get_attribute("data-probability"))
    driver.execute_script("arguments[0].click()", lines[-1].find_element("tag name", "button"))
    assert read(driver)["proba"][0] == pytest.approx(promised, abs=1e-12)
    assert driver.find_element("id", "decision").text.startswith("Now it says") != is_yes


def test_no_request_leaves_the_page_and_nothing_is_logged(driver, page):
    open_page(driver, page)
    driver.execute_script(
        "document.querySelectorAll('#row-tools button').forEach((b) => b.click())"
    )
    assert list_requests(driver) == []
    assert list_errors(driver) == []


def test_the_page_allows_no_request_and_names_no_address(page):
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert re.findall(r"(?:src|href)=\"(?!data:|#)", text) == []
    assert "http" not in re.sub(r"http-equiv", "", text.split('<template id="model">')[0])


def test_a_page_without_rows_answers_too(driver, tmp_path, table):
    X, y = table
    model = NaiveBayesClassifier(unseen="error").fit(X[["weight", "letter"]], y)
    model.explorer(tmp_path / "page.html")
    open_page(driver, tmp_path / "page.html")
    assert sum(read(driver)["proba"]) == pytest.approx(1.0)
    menu = driver.find_element("css selector", "select[id^='feature']")
    menu.send_keys("another")
    assert "training did not have" in driver.find_element("id", "problem").text
    assert list_errors(driver) == []


@pytest.mark.filterwarnings("ignore:the text of column")
def test_a_text_is_typed_and_its_words_are_named(driver, tmp_path):
    rng = np.random.default_rng(0)
    y, words = rng.integers(0, 2, 300), [f"w{a}{b}" for a in "abcdef" for b in "xyz"]
    late = np.where(rng.random(300) < 0.2 + 0.6 * y, "late ", "")
    texts = [of + " ".join(rng.choice(words, 5)) for of in late]
    X = pd.DataFrame({"note": texts, "size": rng.normal(size=300)})
    model = SplineLogisticClassifier().fit(X, y)
    model.explorer(tmp_path / "page.html", X, y)
    open_page(driver, tmp_path / "page.html")
    change = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    field = driver.find_element("css selector", "textarea")
    # It begins at a row of the data.
    size = X["size"][X["note"] == field.get_attribute("value")].item()
    steps = {}
    for text in ("Late - late wax?", " ", texts[0]):
        driver.execute_script(change, field, text)
        row = pd.DataFrame({"note": [text], "size": [size]})
        answer = read(driver)
        np.testing.assert_allclose(answer["proba"], model.predict_proba(row)[0], atol=1e-9)
        steps[text] = dict(answer["steps"])
    assert "note: late" in steps["Late - late wax?"]
    assert "note: late" not in steps[" "]
    assert "note = missing" in steps[" "]
    assert list_errors(driver) == []


def test_texts_of_the_data_are_no_code(driver, tmp_path):
    X = pd.DataFrame(
        {"</template><script>boom()</script>": ["<b>", "&amp;", '"'] * 9, "n": range(27)}
    )
    y = ["</script>", "<i>", "'"] * 9
    NaiveBayesClassifier().fit(X, y).explorer(tmp_path / "page.html", X, y)
    open_page(driver, tmp_path / "page.html")
    texts = [
        one.text for one in driver.find_elements("css selector", "#bars .bar span:first-child")
    ]
    assert texts == sorted(set(y))
    assert driver.find_element("css selector", "label.name").text in X.columns
    assert list_errors(driver) == []


def test_y_must_fit_x(tmp_path, table):
    X, y = table
    model = fit("naive Bayes")
    with pytest.raises(ValueError, match=r"y must have the shape \(200,\)"):
        model.explorer(tmp_path / "page.html", X, y[:-1])
    with pytest.raises(ValueError, match=r"y must hold classes of the model.*got 'odd'"):
        model.explorer(tmp_path / "page.html", X, ["odd"] * len(y))
    with pytest.raises(ValueError, match="y must be given with X"):
        model.explorer(tmp_path / "page.html", y=y)
    assert list(tmp_path.iterdir()) == []


def test_a_page_of_no_rows_holds_no_value_of_one(tmp_path):
    X = pd.DataFrame({"x": np.arange(50) + 0.5, "job": ["cook", "nurse"] * 25})
    model = NaiveBayesClassifier().fit(X, ["no", "yes", "no", "no", "yes"] * 10)
    secret = X.assign(x=X["x"] + 0.123456)
    paths = [tmp_path / name for name in ("all.html", "none.html")]
    model.explorer(paths[0], secret)
    model.explorer(paths[1], secret, max_rows=0)
    assert [".623456" in path.read_text(encoding="utf-8") for path in paths] == [True, False]
    with pytest.raises(ValueError, match="max_rows must be a whole number at least 0 and at most"):
        model.explorer(paths[1], secret, max_rows=501)
