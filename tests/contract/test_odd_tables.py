"""Probabilities are positive and sum to one, whatever the table."""

import numpy as np
import pytest

from contract.laws import assert_valid
from contract.rows.odd_tables import (
    N_TABLES,
    OddTable,
    make_many_classes,
    make_many_labels,
    make_odd_table,
)
from contract.settings import BY_NAME, Setting, TargetLast, each_setting
from priorwise import (
    GaussianNetworkClassifier,
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
)


def assert_answers_or_refuses(setting: Setting, table: OddTable) -> None:
    """The table is learnt from and answered, or refused for what is named."""
    # Infinity is a label like any other to a conditional table.
    is_label = isinstance(setting.model, TargetLast) and table.refusal == "infinity"
    options = {} if table.weight is None else {"sample_weight": table.weight}
    if table.refusal and not is_label:
        with pytest.raises(ValueError, match=table.refusal):
            setting.fit(table.X, table.y, **options)
        return
    model = setting.fit(table.X, table.y, **options)
    proba = model.predict_proba(table.X)
    assert proba.shape == (len(table.X), len(model.classes_))
    assert_valid(proba)
    # Frequencies may be zero.
    if getattr(setting.model, "smoothing", "") not in (None, "mle"):
        assert (proba > 0.0).all()
    assert_valid(model.predict_proba(table.X.iloc[:1]))


pytestmark = [
    # Tiny weights warn, as another law says; scikit-learn warns of many classes for few rows.
    pytest.mark.filterwarnings("ignore:sample_weight has a sum:UserWarning"),
    pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning"),
]


@each_setting()
def test_odd_tables_get_probabilities_or_a_reason(setting: Setting) -> None:
    # One setting of each class learns from every eighth table, the others from every twentieth;
    # where they begin differs, so that some settings learn from every table.
    place, name = next((i, name) for i, name in enumerate(BY_NAME) if BY_NAME[name] is setting)
    step = 20 if " " in name else 8
    faults = []
    for seed in range(place % step, N_TABLES, step):
        try:
            assert_answers_or_refuses(setting, make_odd_table(seed))
        except Exception as error:
            faults.append(f"table {seed}: {type(error).__name__}: {str(error)[:80]}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "model", [NaiveBayesClassifier(), GaussianNetworkClassifier("naive", random_state=0)]
)
def test_many_features_that_agree_leave_every_class_possible(model, rng) -> None:
    y = np.arange(60) % 3
    X = y[:, None] + 0.2 * rng.normal(size=(60, 1_000))
    if isinstance(model, NaiveBayesClassifier):
        X = np.array(list("abcde"))[X.round().astype(int) + 1]
    proba = model.fit(X, y).predict_proba(X)
    assert 0.0 < proba.min() < 1e-300
    assert_valid(proba)


@pytest.mark.filterwarnings("ignore:.*tell nothing of the class")
@each_setting(smoothers=False)
def test_ten_thousand_labels_are_no_trouble(setting: Setting) -> None:
    # Random splits take labels off one by one, in a time that grows with their square.
    kinds = (LogLinearPool, PriorwiseClassifier)
    one_by_one = isinstance(setting.model, kinds) or "random" in str(setting.model)
    assert_answers_or_refuses(setting, make_many_labels(1_000 if one_by_one else 10_000))


@pytest.mark.filterwarnings("ignore:target 'the class' has 200 different numbers")
@each_setting(smoothers=False)
def test_two_hundred_classes_are_no_trouble(setting: Setting) -> None:
    assert_answers_or_refuses(setting, make_many_classes(200))
