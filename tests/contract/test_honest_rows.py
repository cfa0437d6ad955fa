"""Out-of-fold probabilities know nothing of the rows they are for."""

import numpy as np
import pytest

from contract.settings import BY_NAME, Setting, each_setting

NO_FOLDS = (
    "NaiveBayes", "TAN", "KDB", "SelectiveKDB", "SuperParent", "AODE", "KDF", "ESKDB thesis",
    "ProbabilityTree", "ProbabilityForest no bootstrap", "ProbabilityForest random, no bootstrap",
    "ConditionalTable",
)  # fmt: skip
"""Classes and settings that have no out-of-fold probabilities."""


@pytest.mark.parametrize("name", NO_FOLDS)
def test_models_without_folds_have_no_out_of_fold_probabilities(name: str) -> None:
    assert not hasattr(BY_NAME[name].fitted, "oof_proba_")


@each_setting(*NO_FOLDS, smoothers=False)
def test_wide_noise_is_not_predicted_out_of_fold(setting: Setting) -> None:
    """Features that are screened with the labels of all rows would give a row's class away."""
    X = np.random.default_rng(3).normal(size=(60, 700))
    y = np.arange(60) % 2
    own = setting.fit(X, y).oof_proba_[np.arange(60), y]
    known = np.isfinite(own)
    assert known.any()
    # Sixty coins show a share of heads above .75 in one of ten thousand runs.
    assert np.mean(own[known] > 0.5) < 0.75
