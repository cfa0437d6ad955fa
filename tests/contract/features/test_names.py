"""Names of classes, values and columns are names: the answer follows them and nothing else."""

import numpy as np
import pandas as pd

from contract.laws import assert_same_quality, assert_valid
from contract.rows.tables import CLASSES, LABELS, mixed, nominal
from contract.settings import Setting, each_setting


def renamed(X: pd.DataFrame, names: dict[str, list[str]]) -> pd.DataFrame:
    """Return X with other labels, in the order of `LABELS`."""
    return X.assign(
        **{
            column: X[column].map(dict(zip(LABELS[column], labels, strict=True)))
            for column, labels in names.items()
        }
    )


@each_setting()
def test_new_names_in_the_same_order_change_no_bit(setting: Setting) -> None:
    X, y = mixed()
    other = renamed(X, {"colour": ["p", "q", "r", "s"], "shape": ["one", "other"]})
    other = other.rename(columns=lambda name: f"the {name}")
    classes = dict(zip(CLASSES, ["x", "y", "z"], strict=True))
    named = setting.fit(other, np.array([classes[c] for c in y]))
    np.testing.assert_array_equal(named.predict_proba(other), setting.proba)
    assert named.classes_.tolist() == ["x", "y", "z"]


@each_setting(smoothers=False)
def test_classes_may_be_numbers_booleans_or_text(setting: Setting) -> None:
    X, y = mixed()
    yes = y == "yes"
    plain = setting.fit(X, yes.astype(int)).predict_proba(X)
    for labels in (yes, yes.astype(float), np.where(yes, "b", "a")):
        np.testing.assert_array_equal(setting.fit(X, labels).predict_proba(X), plain)


@each_setting(draws=False)
def test_classes_in_another_order_permute_the_answer(setting: Setting) -> None:
    X, y = mixed()
    turned = {"maybe": "c", "no": "a", "yes": "b"}
    other = setting.fit(X, np.array([turned[c] for c in y])).predict_proba(X)
    np.testing.assert_allclose(other[:, [2, 0, 1]], setting.proba, rtol=1e-7, atol=1e-9)


@each_setting(draws=True)
def test_classes_in_another_order_give_a_model_of_the_same_quality(setting: Setting) -> None:
    # Folds are dealt class by class: the model is another one of the same kind.
    X, y = mixed(200)
    turned = {"maybe": "c", "no": "a", "yes": "b"}
    other = setting.fit(X, np.array([turned[c] for c in y])).predict_proba(X)[:, [2, 0, 1]]
    assert_valid(other)
    assert_same_quality(setting.fit(X, y).predict_proba(X), other, y)


@each_setting(draws=False)
def test_values_in_another_order_change_nothing(setting: Setting) -> None:
    X, y = nominal()
    turned = {"v0": "v2", "v1": "v3", "v2": "v0", "v3": "v1"}
    other = X.map(turned.get)
    np.testing.assert_allclose(
        setting.fit(other, y).predict_proba(other),
        setting.fit(X, y).predict_proba(X),
        rtol=1e-7,
        atol=1e-9,
    )


@each_setting(draws=True)
def test_values_in_another_order_give_a_model_of_the_same_quality(setting: Setting) -> None:
    # Rows are drawn in an order that follows their codes.
    X, y = mixed(200)
    other = renamed(X, {"colour": ["d", "b", "a", "c"], "shape": ["z", "a"]})
    proba = setting.fit(other, y).predict_proba(other)
    assert_valid(proba)
    assert_same_quality(setting.fit(X, y).predict_proba(X), proba, y)


@each_setting(draws=False)
def test_a_column_of_numbers_may_be_scaled_by_a_power_of_two(setting: Setting) -> None:
    X, y = mixed()
    # Exact in floating point, and monotone: cuts and splits stay between the same rows.
    scaled = X.assign(age=X["age"] * 4.0, size=X["size"] * 0.5)
    np.testing.assert_allclose(
        setting.fit(scaled, y).predict_proba(scaled), setting.proba, atol=1e-9
    )
