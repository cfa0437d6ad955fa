"""Out-of-fold probabilities know nothing of the rows they are for."""

import numpy as np
import pytest

from contract.settings import Setting, each_setting


@each_setting(smoothers=False)
def test_wide_noise_is_not_predicted_out_of_fold(setting: Setting) -> None:
    """Features that are screened with the labels of all rows would give a row's class away."""
    if not hasattr(setting.fitted, "oof_proba_"):
        pytest.skip("has no out-of-fold probabilities")
    X = np.random.default_rng(3).normal(size=(60, 700))
    y = np.arange(60) % 2
    own = setting.fit(X, y).oof_proba_[np.arange(60), y]
    known = np.isfinite(own)
    assert known.any()
    # Sixty coins show a share of heads above .75 in one of ten thousand runs.
    assert np.mean(own[known] > 0.5) < 0.75
