"""What a page needs, beside the model, to say how far its probabilities may be from the truth.

intervals.js follows the rules that steps give of themselves (`Step.spread_rule`): the twin of
`Step.spread`. Most rules need little, since the model itself has what they read. Pools need of
their members only how much the parts of each differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from priorwise.export.json_file import as_json
from priorwise.steps.intervals import tabulate_beta_ends

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels of intervals that a page offers; the third is shown at first."""


def describe_spread(model: Any) -> dict[str, Any]:
    """Return levels, and the rule of a fitted classifier, as values that `json.dumps` takes."""
    step = model.step_
    deviations = step.calibration.stretch(ndtri((1.0 + np.array(LEVELS)) / 2.0))
    levels = [
        {
            "level": level,
            "deviations": z,
            "beta_ends": tabulate_beta_ends(z).astype(np.float32),
        }
        for level, z in zip(LEVELS, deviations.tolist(), strict=True)
    ]
    rule = {**step.spread_rule(), **step.calibration.scale_rule()}
    return as_json({"levels": levels, "rule": rule})
