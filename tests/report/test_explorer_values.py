"""The values that the page of a model begins with, and those that are typed into it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from browser import list_errors, open_page
from priorwise import SplineLogisticClassifier
from report.test_explorer import read

pytestmark = pytest.mark.xdist_group("browser")


def make_texts(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Texts that tell nearly all of a class of a quarter of the rows; some of them are missing."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.26).astype(int)
    words = [f"w{a}{b}" for a in "abcdef" for b in "xyz"]
    said = np.where(rng.random(n_rows) < 0.1 + 0.8 * y, "late broken ", "fine ")
    texts = [one + " ".join(rng.choice(words, 5)) for one in said]
    X = pd.DataFrame({"note": texts, "size": rng.normal(size=n_rows), "town": "Bonn"})
    X.loc[rng.random(n_rows) < 0.3, "town"] = "Kiel"
    for name in X:
        X.loc[rng.random(n_rows) < 0.2, name] = None
    return X, y


@pytest.mark.filterwarnings("ignore:the text of column")
@pytest.mark.parametrize("seed", range(3))
def test_a_page_begins_at_a_whole_row_of_the_data_near_the_shares_of_the_classes(
    driver, tmp_path, seed
):
    X, y = make_texts(400, seed)
    model = SplineLogisticClassifier(random_state=0).fit(X, y)
    model.explorer(tmp_path / "page.html", X, y)
    open_page(driver, tmp_path / "page.html")
    row = int(driver.find_element("css selector", "#row-tools input").get_attribute("value")) - 1
    answer = read(driver)["proba"]
    np.testing.assert_allclose([answer], model.predict_proba(X[row : row + 1]), atol=1e-9)
    assert X.loc[row].notna().all()
    # Of most rows the probability is near zero or one.
    distance = abs(model.predict_proba(X)[X.notna().all(axis=1), 1] - y.mean())
    assert abs(answer[1] - y.mean()) <= np.quantile(distance, 0.2)
    note = driver.find_element("id", "row-note").text
    assert note.startswith(f"Row {row} of the data: its values are common and")
    driver.find_element("xpath", "//button[text()='Next']").click()
    assert driver.find_element("id", "row-note").text.startswith(f"Row {(row + 1) % 400} of the")
    driver.find_element("xpath", "//button[text()='Typical row']").click()
    assert driver.find_element("id", "row-note").text == note
    assert list_errors(driver) == []


TYPED: dict[str, float | str | None] = {
    "13,5": 13.5, "13.5": 13.5, " -,5": -0.5, "1e1": 10.0, "1234,56": 1234.56, "": None,
    "0,125": 0.125, "7": 7.0, "1,500": "1500 or 1.5", "1.234,5": "not a number",
    "abc": "not a number", "1,234,567": "not a number", "1e999": "not a number",
    "12 5": "not a number",
}  # fmt: skip
"""What is typed, and the number that it is in every language; a text is a part of the refusal,
which leaves the number before."""


@pytest.mark.parametrize("locale", ["en-US", "de-DE"])
def test_a_number_is_read_alike_in_every_language(driver, locale, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=300)})
    y = (X["size"] + rng.normal(size=300) > 0).astype(int)
    X.loc[:20, "size"] = None
    model = SplineLogisticClassifier().fit(X, y)
    model.explorer(tmp_path / "page.html", X)
    driver.execute_cdp_cmd("Emulation.setLocaleOverride", {"locale": locale})
    open_page(driver, tmp_path / "page.html")
    assert driver.execute_script("return Intl.NumberFormat().resolvedOptions().locale") == locale
    field = driver.find_element("css selector", "[aria-label='size, exact value']")
    for text, number in TYPED.items():
        field.send_keys("\ue009a\ue000\ue017", text, "\ue007")
        note = driver.find_element("css selector", ".feature [role=status]").text
        is_refused = isinstance(number, str)
        assert (number in note) if is_refused else note == ""
        row = pd.DataFrame({"size": [7.0 if is_refused else number]}, dtype=float)
        expected = model.predict_proba(row)[0]
        np.testing.assert_allclose(read(driver)["proba"], expected, atol=1e-9, err_msg=text)
    threshold = driver.find_element("id", "threshold")
    for text, problem in (("2,5", ""), ("1,500", "1500 or 1.5"), ("130", "at most 100")):
        threshold.send_keys("\ue009a\ue000\ue017", text, "\ue007")
        assert threshold.get_attribute("value") == "2.5"
        assert problem in driver.find_element("id", "threshold-note").text
    assert list_errors(driver) == []
    driver.execute_cdp_cmd("Emulation.setLocaleOverride", {})
