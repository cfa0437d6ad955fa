"""What notebooks show of a classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from browser import list_errors, open_page
from priorwise import NaiveBayesClassifier, PriorwiseClassifier

HOSTILE = "<img src=x onerror=\"document.title='run'\">'&amp;"


@pytest.fixture(scope="module")
def model() -> PriorwiseClassifier:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 12)), columns=[f"{HOSTILE}{i}" * 30 for i in range(12)])
    y = np.array([f"{HOSTILE}{k}" * 30 for k in range(10)])[np.arange(60) % 10]
    return PriorwiseClassifier("fast", random_state=0).fit(X, y)


@pytest.mark.xdist_group("browser")
def test_names_are_no_code_and_the_card_fits_a_phone(driver, model, tmp_path):
    card = model._repr_mimebundle_()["text/html"]
    assert len(card) < 30_000
    page = tmp_path / "card.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><div style="width:360px">{card}</div>')
    open_page(driver, page)
    assert driver.title == ""
    assert list_errors(driver) == []
    shown = driver.find_element("css selector", ".priorwise-box")
    assert shown.size["width"] <= 360
    for text in (
        "PriorwiseClassifier",
        "60 rows of 12 features",
        "10 classes",
        "networks",
        HOSTILE[:39],
    ):
        assert text in shown.text
    assert driver.execute_script("return arguments[0].scrollWidth <= 362", shown)


def test_the_card_respects_the_display_of_scikit_learn(model):
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")
    assert model._repr_html_() == model._repr_mimebundle_()["text/html"]


def test_before_fit_the_diagram_is_that_of_scikit_learn():
    assert "sk-top-container" in NaiveBayesClassifier()._repr_html_()
