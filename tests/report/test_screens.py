"""The pages in a browser, wide, on a phone, dark and printed: nothing is cut off or overlaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from browser import list_errors, list_requests, open_page
from priorwise import ProbabilityForestClassifier

pytestmark = pytest.mark.xdist_group("browser")

A4 = 794 - 2 * 49
"""Width of a page within its margins of 13 mm, in pixels of 1 / 96 inch."""

SCREENS = {
    "wide": (1400, "screen", "light"),
    "phone": (390, "screen", "light"),
    "dark": (1400, "screen", "dark"),
    "dark phone": (390, "screen", "dark"),
    "print": (A4, "print", "light"),
}

MEASURE = Path(__file__).with_name("measure.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of two and of five classes, with long names and many labels."""
    rng = np.random.default_rng(0)
    n_rows, folder = 400, tmp_path_factory.mktemp("screens")
    X = pd.DataFrame(
        {
            "MAX.LENGTH RECTANGULARITY OF THE_MAJOR_AXIS": rng.normal(size=n_rows),
            "income": rng.lognormal(10, 1, n_rows).round(2),
            "tiny": rng.normal(size=n_rows) * 1e-6,
            "town": [f"town number {k} by the sea" for k in rng.integers(0, 40, n_rows)],
            "job": rng.choice(["nurse", "clerk", "a rather long name of a profession"], n_rows),
            "ELONGATEDNESS": rng.normal(size=n_rows),
            "made": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), "D"),
        }
    )
    score = X.iloc[:, 0] + (X["job"] == "nurse") + rng.normal(size=n_rows)
    targets = {
        "two": np.where(score > 1.9, "has left the company", "stays"),
        "five": np.array([f"class of quality {k}" for k in "ABCDE"])[
            np.digitize(score, [-0.8, 0.0, 0.7, 1.5])
        ],
    }
    result = {}
    for name, y in targets.items():
        model = ProbabilityForestClassifier(10, numeric_features=["made"], random_state=0)
        model.fit(X[::2], y[::2])
        for page in ("report", "explorer"):
            result[f"{page} of {name}"] = folder / f"{page} {name}.html"
        model.report(X[1::2], pd.Series(y[1::2], name="outcome"), result[f"report of {name}"])
        model.explorer(result[f"explorer of {name}"], X[1::2], y[1::2], fixed=["job"])
    return result


@pytest.fixture
def look(driver: Any) -> Any:
    """A function that opens a page on a screen; the browser is as before afterwards."""

    def open_on(path: Path, screen: str) -> None:
        width, media, colours = SCREENS[screen]
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 700}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": colours}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": scheme})
        open_page(driver, path)

    yield open_on
    size = {"width": 1300, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_cut_off_and_nothing_overlaps(
    driver: Any, look: Any, pages: dict[str, Path], screen: str
) -> None:
    for name, path in pages.items():
        look(path, screen)
        script = "return document.querySelector('[aria-busy]') === null"
        for _ in range(200):
            if driver.execute_script(script):
                break
        problems = driver.execute_script(MEASURE, screen == "print")
        assert not problems, f"{name}: {problems}"
        assert list_errors(driver) == []
        assert list_requests(driver) == []


def test_the_measure_sees_what_is_wrong(driver: Any, look: Any, pages: dict[str, Path]) -> None:
    look(pages["report of two"], "phone")
    spoil = """
    document.querySelector("#verdict p").style.cssText = "white-space: nowrap";
    document.querySelector("#thresholds figure svg text").setAttribute("x", 330);
    document.querySelector("#scores").style.cssText = "margin-top: -5rem";
    """
    driver.execute_script(spoil)
    found = " ".join(driver.execute_script(MEASURE, False))
    for problem in ("the page is", "cut off: P", "text outside its picture", "overlap: SECTION"):
        assert problem in found


def test_the_measure_sees_dates_without_room(
    driver: Any, look: Any, pages: dict[str, Path]
) -> None:
    look(pages["explorer of two"], "wide")
    driver.execute_script("document.querySelector('input[type=date]').style.width = '6.5rem'")
    assert "cut off: date" in " ".join(driver.execute_script(MEASURE, False))


def test_typed_costs_move_the_threshold_and_its_sentences(
    driver: Any, look: Any, pages: dict[str, Path]
) -> None:
    look(pages["report of two"], "wide")

    def read() -> dict[str, str]:
        script = """
        const parts = document.querySelectorAll(".decision:not([hidden]) [data-fill]");
        return Object.fromEntries([...parts].map((one) => [one.dataset.fill, one.textContent]));
        """
        return driver.execute_script(script)

    def type_in(name: str, text: str) -> None:
        script = """
        const field = document.getElementById(arguments[0]);
        field.value = arguments[1];
        field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input"));
        """
        driver.execute_script(script, name, text)

    written = read()
    type_in(
        "alarm-cost", driver.execute_script("return document.getElementById('alarm-cost').value")
    )
    assert read() == written  # the page and Python write the same
    type_in("miss-cost", "9,5")
    type_in("alarm-cost", "0.5")
    assert read()["threshold"] == "5%"
    type_in("miss-cost", "1,500")  # 1500 or 1.5: changes nothing, and the field says why
    script = "return document.querySelector('input:invalid').validationMessage"
    assert "1500 or 1.5" in driver.execute_script(script)
    assert read()["threshold"] == "5%"
    type_in("miss-cost", "19")
    type_in("alarm-cost", "1")
    assert read()["threshold"] == "5%"
    type_in("threshold", "100")
    verdict = driver.find_element("id", "verdict").text
    assert "at 100% or more. If a miss costs 19 and a false alarm 1, 5% is the best" in verdict
    none = read()
    assert none["cost"] == none["none-cost"]
    assert none["found"] == "0"
    type_in("threshold", "0")
    assert read()["cost"] == read()["all-cost"]
    other = driver.execute_script("return document.querySelectorAll('#event option')[1].value")
    type_in("event", other)
    assert (
        driver.execute_script(
            "return document.querySelector('.decision:not([hidden])').dataset.class"
        )
        == other
    )


def test_a_long_menu_is_searched(driver: Any, look: Any, pages: dict[str, Path]) -> None:
    look(pages["explorer of two"], "wide")
    field = driver.find_element("css selector", "input[list]")
    field.click()
    field.send_keys("Number 17\t")
    assert field.get_attribute("value") == "town number 17 by the sea"
    field.click()
    field.send_keys("town\t")
    assert field.get_attribute("value") == "town number 17 by the sea"
    assert (
        "several" in driver.find_element("css selector", "input[list] ~ .soft, .menu + .soft").text
    )


def test_fixed_features_are_left_as_they_are(
    driver: Any, look: Any, pages: dict[str, Path]
) -> None:
    look(pages["explorer of two"], "wide")
    boxes = """
    document.querySelector("#change details").open = true;
    return new Promise((done) => setTimeout(() => done(
      [...document.querySelectorAll("#may-change label")].filter((one) => !one.control.checked)
        .map((one) => one.textContent.trim())), 50));
    """
    assert driver.execute_script(boxes) == ["job"]


def test_pictures_of_trees_can_be_enlarged(driver: Any, look: Any, pages: dict[str, Path]) -> None:
    look(pages["report of two"], "wide")
    width = "return document.querySelector('.zoom svg').clientWidth"
    before = driver.execute_script(width)
    driver.find_element("css selector", "button[data-zoom]").click()
    assert driver.execute_script(width) > before
