"""The order of rows changes nothing, that of columns nothing that is not drawn at random."""

import numpy as np

from contract.laws import assert_same_quality, assert_valid
from contract.rows.tables import mixed
from contract.settings import Setting, each_setting


@each_setting()
def test_the_order_of_rows_does_not_matter(setting: Setting) -> None:
    X, y = mixed()
    order = np.random.default_rng(1).permutation(len(y))
    plain, shuffled = setting.fitted, setting.fit(X.iloc[order], y[order])
    np.testing.assert_allclose(shuffled.predict_proba(X), setting.proba, rtol=1e-9, atol=1e-9)
    if hasattr(plain, "oof_proba_"):
        np.testing.assert_allclose(shuffled.oof_proba_, plain.oof_proba_[order], atol=1e-9)


@each_setting()
def test_the_order_of_weighted_rows_does_not_matter(setting: Setting) -> None:
    X, y = mixed()
    weight = np.random.default_rng(2).choice([0.0, 1.0, 2.0, 40.0], len(y))
    order = np.random.default_rng(1).permutation(len(y))
    plain = setting.fit(X, y, sample_weight=weight)
    shuffled = setting.fit(X.iloc[order], y[order], sample_weight=weight[order])
    np.testing.assert_allclose(
        shuffled.predict_proba(X), plain.predict_proba(X), rtol=1e-9, atol=1e-9
    )


# The columns of a conditional table are named in the order of their influence, and of two arcs of
# the same accuracy, which is a whole number of rows, a search takes the first.
@each_setting("ConditionalTable", "SuperParent accuracy", draws=False)
def test_the_order_of_columns_does_not_matter(setting: Setting) -> None:
    X, y = mixed(200)
    moved = X[["age", "shape", "colour", "size"]]
    np.testing.assert_allclose(
        setting.fit(moved, y).predict_proba(moved), setting.fit(X, y).predict_proba(X), atol=1e-9
    )


@each_setting(draws=True)
def test_columns_in_another_order_give_a_model_of_the_same_quality(setting: Setting) -> None:
    # Draws follow the numbers of the features: the model is another one of the same kind.
    X, y = mixed(200)
    moved = X[["age", "shape", "colour", "size"]]
    plain, other = setting.fit(X, y).predict_proba(X), setting.fit(moved, y).predict_proba(moved)
    assert_valid(other)
    assert_same_quality(plain, other, y)
