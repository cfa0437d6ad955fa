"""Scores of predicted probabilities, statistical comparison, and cross-validation."""

from priorwise.evaluation.calibration import (
    ReliabilityCurve,
    ScoreDecomposition,
    consistency_band,
    decompose,
    reliability_curve,
)
from priorwise.evaluation.compare import (
    TTest,
    WinDrawLoss,
    corrected_t_test,
    sign_test,
    win_draw_loss,
)
from priorwise.evaluation.plots import (
    plot_cost,
    plot_critical_difference,
    plot_reliability,
    plot_scatter,
)
from priorwise.evaluation.protocol import Protocol, cross_validate
from priorwise.evaluation.ranks import (
    FriedmanTest,
    PairTest,
    bergmann_hommel,
    critical_difference,
    friedman_test,
    nemenyi,
    rank_models,
)
from priorwise.evaluation.results import Results, read_results
from priorwise.evaluation.scores import (
    HIGHER_IS_BETTER,
    SCORERS,
    SCORES,
    brier,
    conditional_log_likelihood,
    cross_entropy,
    hand_till_auc,
    kl_divergence,
    probability_scorer,
    rmse,
    zero_one_loss,
)

__all__ = [
    "HIGHER_IS_BETTER",
    "SCORERS",
    "SCORES",
    "FriedmanTest",
    "PairTest",
    "Protocol",
    "ReliabilityCurve",
    "Results",
    "ScoreDecomposition",
    "TTest",
    "WinDrawLoss",
    "bergmann_hommel",
    "brier",
    "conditional_log_likelihood",
    "consistency_band",
    "corrected_t_test",
    "critical_difference",
    "cross_entropy",
    "cross_validate",
    "decompose",
    "friedman_test",
    "hand_till_auc",
    "kl_divergence",
    "nemenyi",
    "plot_cost",
    "plot_critical_difference",
    "plot_reliability",
    "plot_scatter",
    "probability_scorer",
    "rank_models",
    "read_results",
    "reliability_curve",
    "rmse",
    "sign_test",
    "win_draw_loss",
    "zero_one_loss",
]
