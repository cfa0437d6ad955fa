"""Values that training did not have, and missing ones."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from contract.laws import assert_valid
from contract.rows.tables import mixed, nominal
from contract.settings import Setting, each_setting

STRANGE = pd.DataFrame(
    {
        "colour": ["violet", None, "amber", "violet", "blue"],
        "size": [0.0, np.nan, 1e12, np.nan, -1e300],
        "shape": ["flat", None, "square", "square", "round"],
        "age": [0.5, np.nan, -1e12, 1e300, 0.0],
    }
)


@each_setting()
def test_unseen_and_missing_values_get_probabilities(setting: Setting) -> None:
    assert_valid(setting.fitted.predict_proba(STRANGE))


@each_setting(draws=False)
def test_which_unseen_label_it_is_does_not_matter(setting: Setting) -> None:
    model = setting.fitted
    other = STRANGE.replace({"violet": "grey", "square": "a"})
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(STRANGE))


@each_setting()
def test_a_row_of_unseen_labels_is_answered_near_the_prior(setting: Setting) -> None:
    X, y = nominal(200)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.7, "no", y)
    strange = pd.DataFrame([["?"] * X.shape[1]], columns=X.columns)
    proba = setting.fit(X, y).predict_proba(strange)[0]
    assert_valid(proba[None])
    assert proba.argmax() == 1


@each_setting("ConditionalTable", smoothers=False)
def test_unseen_labels_are_an_error_on_request(setting: Setting) -> None:
    X, y = mixed()
    model = clone(setting.model).set_params(unseen="error").fit(X, y)
    with pytest.raises(ValueError, match="column 'colour' holds 'violet', which training did not"):
        model.predict_proba(STRANGE)


@each_setting()
def test_missing_values_of_every_kind_are_the_same(setting: Setting) -> None:
    X, y = mixed()
    for missing in (None, np.nan, pd.NA):
        other = X.astype({"colour": object})
        other["colour"] = [missing if pd.isna(c) else c for c in X["colour"]]
        np.testing.assert_array_equal(setting.fit(other, y).predict_proba(other), setting.proba)


@each_setting("ConditionalTable", smoothers=False)
def test_codes_are_the_same_labels_whatever_their_type(setting: Setting) -> None:
    rng = np.random.default_rng(0)
    codes = rng.choice([1, 2, 3, 10, 11, 100], size=(80, 2))
    y = np.where((codes % 5 == 0).sum(axis=1) + rng.normal(size=80) > 1, "yes", "no")
    proba = []
    for read in (int, float, str, lambda code: str(float(code)), Decimal):
        X = pd.DataFrame({f"x{i}": [read(int(code)) for code in codes[:, i]] for i in range(2)})
        model = clone(setting.model).set_params(categorical_features=["x0", "x1"])
        proba.append(model.fit(X, y).predict_proba(X))
    for other in proba[1:]:
        np.testing.assert_array_equal(other, proba[0])


@each_setting()
def test_a_column_of_missing_values_brings_no_trouble(setting: Setting) -> None:
    X, y = mixed()
    for nothing in (np.nan, None):
        frame = X.assign(nothing=nothing)
        model = setting.fit(frame, y)
        assert_valid(model.predict_proba(frame))
        if nothing is not None:
            assert_valid(model.predict_proba(frame.assign(nothing=X["age"])))


@each_setting("ConditionalTable", smoothers=False)
def test_infinite_numbers_are_refused(setting: Setting) -> None:
    X, y = mixed()
    model = setting.fitted
    for value in (np.inf, -np.inf):
        bad = X.assign(age=np.where(np.arange(len(y)) == 7, value, X["age"]))
        with pytest.raises(ValueError, match="infinity"):
            setting.fit(bad, y)
        with pytest.raises(ValueError, match="infinity"):
            model.predict_proba(bad)
