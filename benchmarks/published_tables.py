"""The papers' tables that docs/results.md sets ours beside: records and means as printed."""

from __future__ import annotations

from dataclasses import dataclass, field

SCORES = {
    "rmse": "RMSE",
    "cross_entropy": "log-loss",
    "log_loss": "log-loss",
    "zero_one_loss": "error",
}
"""Columns of result files, and how the page calls them."""


@dataclass(frozen=True)
class Pair:
    """Two of our models, and the paper's wins-draws-losses of the first, by score."""

    first: str
    second: str
    published: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table of a paper: pairs of models by row label, and means by model and score."""

    file: str
    title: str
    note: str
    pairs: dict[str, Pair]
    means: dict[str, dict[str, str]] = field(default_factory=dict)
    remark: str = ""
    """Where a significant result has another direction than the paper's, and why."""

    @property
    def models(self) -> list[str]:
        return sorted(
            {model for pair in self.pairs.values() for model in (pair.first, pair.second)}
        )


@dataclass(frozen=True)
class Ranking:
    """A table of a paper that ranks models by a score of which more is better."""

    file: str
    score: str
    title: str
    note: str
    reference: str
    means: dict[str, tuple[str, str]]
    """By model: the paper's mean and average rank over the data sets we use."""
    records: dict[str, tuple[str, str]]
    """By rival: the paper's significant wins-ties-losses, on the sets we use and on its 36."""
    remark: str = ""


def hdp_pair(network: str, record: str) -> Pair:
    return Pair(network, f"{network}-m", {"rmse": record})


def eskdb_pair(network: str, record: str = "") -> Pair:
    return Pair("eskdb-thesis", network, {"rmse": record} if record else {})


def hgs_pair(smoother: str, rmse: str, error: str) -> Pair:
    return Pair("hgs-published", smoother, {"rmse": rmse, "zero_one_loss": error})


ESKDB_NOTE = (
    "5 x 2-fold cross-validation on data sets of up to 5,000 rows; classes with a single row are "
    "left out, and so are three data sets for their time (plant-species-leaves-margin, "
    "plant-species-leaves-shape and cnae-9). The thesis recipe of ESKDB with 10 members; HDP is "
    "the fixed point with the diffuse prior (the thesis: 1,000 sweeps, Gamma(2, 1)); the "
    "m-estimate has back-off and m = 1. The thesis writes M = 1/C for C classes, which can be read "
    "as m = 1 shared among them; on trees m = 1 was closer than m = 1/C to its figures on 11 of 16 "
    "data sets."
)
TREE_NOTE = (
    "10-fold cross-validation of one C4.5 tree without pruning on data sets of up to 10,000 rows; "
    "log-loss takes probabilities below 1e-15 as 1e-15. HGS is as published. In brackets the "
    "thesis' own figures on the same data sets."
)
SUPERPARENT_NOTE = (
    "3 x 10-fold cross-validation (the paper: 10 x 10) on 23 of the paper's 36 data sets: those at "
    "hand but letter, left out for its time. Data are prepared as in the paper; candidates are "
    "judged by leave-one-out. Significant wins, ties and losses are by the corrected t-test at "
    "5 %, as in the paper; the paper's means and ranks are those of the same data sets."
)

TABLES = [
    Table(
        file="priorwise_against_rivals",
        title="PriorwiseClassifier, beside a random forest and XGBoost",
        note=(
            "No table of a paper: what the library recommends. 5 x 2-fold cross-validation on data "
            "sets of up to 5,000 rows; classes with a single row are left out. scikit-learn's "
            "forest of 100 trees and XGBoost with its defaults, as in the next tables. The pool's "
            "penalties and floor, the forest's shares, the kernel member and the settings of "
            "boosting were chosen among a few on these sets (all but the forest's on two folds), "
            "so the margins flatter it a little."
        ),
        pairs={
            f"{first} against {second}": Pair(first, second)
            for first in ("priorwise", "priorwise-fast")
            for second in ("forest", "xgboost", "eskdb-thesis")
        }
        | {"priorwise against priorwise-fast": Pair("priorwise", "priorwise-fast")},
    ),
    Table(
        "hdp_against_m_estimate",
        "HDP against m-estimates (Petitjean et al. 2018, Table 1)",
        "5 x 2-fold cross-validation, MDLP cut points learnt on the training fold. HDP: the "
        "fixed point with the diffuse prior; the paper sampled 50,000 sweeps. m of the m-estimate "
        "by a hold-out of min(N / 10, 5000) rows, with back-off; m = 0 is a candidate, so "
        "estimates can be zero.",
        {
            "naive Bayes": hdp_pair("nb", "40-0-28"),
            "TAN": hdp_pair("tan", "52-1-15"),
            "kDB-1": hdp_pair("kdb1", "50-1-17"),
            "kDB-2": hdp_pair("kdb2", "54-0-14"),
            "kDB-3": hdp_pair("kdb3", "53-2-13"),
            "kDB-4": hdp_pair("kdb4", "56-0-12"),
            "kDB-5": hdp_pair("kdb5", "60-2-6"),
            "SkDB": hdp_pair("skdb", "54-0-14"),
        },
        remark="No significant result has another direction.",
    ),
    Table(
        "hdp_against_forest",
        "TAN and SkDB with HDP against random forest (Petitjean et al. 2018, Table 2)",
        "As above; the forest, scikit-learn's with 100 trees, sees the same MDLP bins, one column "
        "for each value, and tries log2(n) + 1 of them at a split.",
        {
            "TAN : forest": Pair("tan", "forest-mdlp", {"rmse": "42-0-26"}),
            "SkDB : forest": Pair("skdb", "forest-mdlp", {"rmse": "44-0-24"}),
        },
        remark="No significant result has another direction.",
    ),
    Table(
        "eskdb_against_networks",
        "ESKDB against single networks (thesis, Table 5)",
        "5 x 2-fold cross-validation on data sets of up to 5,000 rows; classes with a single row "
        "are left out. The thesis recipe, 10 members smoothed by HDP, against single networks "
        "smoothed by HDP (the thesis: by m-estimates); last, the default recipe against it.",
        {
            "naive Bayes": eskdb_pair("nb", "63-0-9"),
            "TAN": eskdb_pair("tan", "64-0-8"),
            "kDB-1": eskdb_pair("kdb1"),
            "kDB-2": eskdb_pair("kdb2"),
            "kDB-3": eskdb_pair("kdb3"),
            "kDB-4": eskdb_pair("kdb4"),
            "kDB-5": eskdb_pair("kdb5", "64-0-8"),
            "SkDB": eskdb_pair("skdb", "60-0-12"),
            "default : thesis recipe": Pair("eskdb", "eskdb-thesis"),
        },
        remark="No significant result has another direction. The default recipe was measured with "
        "10 networks of at most 5 parents; it has 30 of at most 4 now.",
    ),
    Table(
        "eskdb_against_ensembles",
        "ESKDB against AODE and KDF (thesis, Table 5)",
        "5 x 2-fold cross-validation, on the folds of the table above. Of its 68 data sets the 12 "
        "with the most rows x attributes^2 are left out for the time of KDF. AODE has defaults, "
        "KDF at most 5 parents, as in the thesis; both are smoothed by HDP (the thesis: by "
        "m-estimates).",
        {
            "AODE": Pair("eskdb-thesis", "aode", {"rmse": "62-1-9", "zero_one_loss": "60-0-12"}),
            "KDF": Pair("eskdb-thesis", "kdf5", {"rmse": "71-0-1", "zero_one_loss": "67-2-3"}),
        },
        {
            "aode": {"rmse": "0.2498", "zero_one_loss": "0.1821"},
            "kdf5": {"rmse": "0.2512", "zero_one_loss": "0.1858"},
        },
        "No significant result has another direction.",
    ),
    Table(
        "eskdb_against_rivals",
        "ESKDB: HDP against m-estimates (thesis, Table 6)",
        ESKDB_NOTE,
        {
            "HDP : m-estimate": Pair(
                "eskdb-thesis", "eskdb-thesis-m", {"rmse": "48-1-23", "zero_one_loss": "38-7-27"}
            )
        },
        {
            "eskdb-thesis": {"rmse": "0.2227", "zero_one_loss": "0.1536"},
            "eskdb-thesis-m": {"rmse": "0.2252", "zero_one_loss": "0.1559"},
        },
        "No significant result has another direction.",
    ),
    Table(
        "eskdb_against_rivals",
        "ESKDB against random forest and XGBoost (thesis, Tables 8 and 9)",
        f"{ESKDB_NOTE} The forest is scikit-learn's with 100 trees to pure leaves, log2(n) + 1 "
        "attributes tried at a split; XGBoost has the objective softprob, 100 rounds and depth 6. "
        "Both see numbers as they are and nominal attributes one-hot.",
        {
            "HDP : forest": Pair(
                "eskdb-thesis", "forest", {"rmse": "42-0-30", "zero_one_loss": "36-2-34"}
            ),
            "HDP : XGBoost": Pair(
                "eskdb-thesis", "xgboost", {"rmse": "44-0-28", "zero_one_loss": "36-1-35"}
            ),
            "m-estimate : forest": Pair(
                "eskdb-thesis-m", "forest", {"rmse": "40-0-32", "zero_one_loss": "30-2-40"}
            ),
            "m-estimate : XGBoost": Pair(
                "eskdb-thesis-m", "xgboost", {"rmse": "38-1-33", "zero_one_loss": "30-3-39"}
            ),
        },
        {
            "forest": {"rmse": "0.2314", "zero_one_loss": "0.1563"},
            "xgboost": {"rmse": "0.2288", "zero_one_loss": "0.1565"},
            "eskdb-thesis-m": {"rmse": "0.2252", "zero_one_loss": "0.1559"},
            "eskdb-thesis": {"rmse": "0.2227", "zero_one_loss": "0.1536"},
        },
        "One significant result has another direction than the thesis' insignificant one: the "
        "error of m-estimates against XGBoost. Small data sets make it, 30-0-14 below 1,000 rows "
        "and 11-0-10 from there; of the thesis' 72 data sets 23 have more than 5,000 rows, of ours "
        "none. 24 of ours are among the 72.",
    ),
    Table(
        "eskdb_against_tuned_xgboost",
        "ESKDB against tuned XGBoost (thesis, Tables 8 and 9)",
        "As above, on the data sets of at most 700 rows and at most 4 classes. Depth (2, 4, 6 or "
        "8) and rounds (10, 50 or 100) are chosen by log-loss in a 3-fold cross-validation of the "
        "training rows (the thesis: 10-fold).",
        {
            "HDP : tuned XGBoost": Pair(
                "eskdb-thesis", "xgboost-tuned", {"rmse": "33-1-38", "zero_one_loss": "29-2-41"}
            ),
            "m-estimate : tuned XGBoost": Pair(
                "eskdb-thesis-m", "xgboost-tuned", {"rmse": "27-0-45", "zero_one_loss": "26-2-44"}
            ),
            "tuned XGBoost : XGBoost": Pair("xgboost-tuned", "xgboost"),
        },
        {
            "xgboost": {"rmse": "0.2288", "zero_one_loss": "0.1565"},
            "eskdb-thesis-m": {"rmse": "0.2252", "zero_one_loss": "0.1559"},
            "eskdb-thesis": {"rmse": "0.2227", "zero_one_loss": "0.1536"},
            "xgboost-tuned": {"rmse": "0.2179", "zero_one_loss": "0.1496"},
        },
        "One significant result has another direction than the thesis' insignificant one: the "
        "error of HDP. ESKDB does not outperform XGBoost on larger data sets, says the thesis; 41 "
        "of its 72 have more than 700 rows, of these 25 none.",
    ),
    Table(
        "tree_against_forests",
        "One tree: ProbabilityTreeClassifier beside forests",
        "No table of a paper: the tree with its defaults, which imitates a forest where that is "
        "more accurate, beside forests of the library of 10 trees, with frequencies and smoothed, "
        "scikit-learn's forest of 100 trees and HGS as published. 10-fold cross-validation on data "
        "sets of up to 1,500 rows and 70 features; log-loss takes probabilities below 1e-15 as "
        "1e-15. How the tree imitates was chosen on other folds of these sets.",
        {
            f"default against {second}": Pair("default", second)
            for second in ("forest10", "forest10-smoothed", "rf100", "hgs-published")
        },
    ),
    Table(
        "tree_smoothers",
        "One tree: HGS against MLE, Laplace and m-estimates (thesis, Tables 16 and 17)",
        f"{TREE_NOTE} The m-estimate has m = 1, that is 1/K of a row for each class.",
        {
            "HGS : MLE": hgs_pair("mle", "108-2-33 (63-1-16)", "69-22-52 (41-13-26)"),
            "HGS : Laplace": hgs_pair("laplace", "111-4-28 (62-2-16)", "68-22-53 (41-13-26)"),
            "HGS : m-estimate": hgs_pair("m-estimate", "98-4-41 (59-2-19)", "66-23-54 (40-13-27)"),
        },
        {
            "mle": {"rmse": "0.2596 (0.2719)", "zero_one_loss": "0.2093 (0.2272)"},
            "laplace": {"rmse": "0.2499 (0.2594)", "zero_one_loss": "0.2093 (0.2271)"},
            "m-estimate": {"rmse": "0.2485 (0.2606)", "zero_one_loss": "0.2068 (0.2270)"},
            "hgs-published": {"rmse": "0.2410 (0.2502)", "zero_one_loss": "0.2059 (0.2224)"},
        },
        "No significant result has another direction.",
    ),
    Table(
        "tree_smoothers",
        "One tree: HGS against M-branch and HDP (thesis, Tables 18 and 19)",
        f"{TREE_NOTE} HDP has one concentration, as in the thesis, at the fixed point (the thesis: "
        "1,000 sweeps); hdp-single has the diffuse prior, hdp-single-thesis Gamma(2, 1).",
        {
            "HGS : M-branch": hgs_pair("m-branch", "96-3-44 (58-1-21)", "59-32-52 (37-17-26)"),
            "HGS : HDP, thesis prior": hgs_pair(
                "hdp-single-thesis", "92-1-50 (55-1-24)", "64-21-58 (39-12-29)"
            ),
            "HGS : HDP, diffuse prior": Pair("hgs-published", "hdp-single"),
        },
        {
            "hdp-single-thesis": {"rmse": "0.2436 (0.2562)", "zero_one_loss": "0.2078 (0.2251)"},
            "m-branch": {"rmse": "0.2428 (0.2524)", "zero_one_loss": "0.2062 (0.2232)"},
            "hgs-published": {"rmse": "0.2410 (0.2502)", "zero_one_loss": "0.2059 (0.2224)"},
        },
        "No significant result has another direction.",
    ),
    Table(
        "tree_smoothers",
        "One tree: HGS with weights chosen on held-out rows",
        'No table of a paper: tree-hgs is `ProbabilityTreeClassifier("hgs")`, whose splits and '
        "weights are chosen by cross-validation of the training rows, beside C4.5 trees with other "
        "smoothers and HGS as published. 10-fold cross-validation on data sets of up to 10,000 "
        "rows; log-loss takes probabilities below 1e-15 as 1e-15.",
        {
            f"tree-hgs against {second}": Pair("tree-hgs", second)
            for second in ("hgs-published", "m-branch", "hdp-single", "mle")
        },
    ),
]

RANKINGS = [
    Ranking(
        "superparent",
        "cll",
        "Superparent classifiers: conditional log likelihood (Qiu et al. 2015, Table 2)",
        f"{SUPERPARENT_NOTE} In bits, summed over a test fold.",
        "CLL-SP",
        {
            "CLL-SP": ("-45.05", "1.78"),
            "NB": ("-80.17", "3.80"),
            "TAN": ("-51.46", "3.52"),
            "SP": ("-51.95", "3.04"),
            "AUC-SP": ("-48.59", "2.85"),
        },
        {
            "NB": ("12-10-1", "20-15-1"),
            "TAN": ("7-16-0", "13-23-0"),
            "SP": ("7-15-1", "13-22-1"),
            "AUC-SP": ("5-18-0", "8-28-0"),
        },
        "No significant result has another direction. That CLL-SP leads SP and AUC-SP, significant "
        "in the paper by the post hoc test on 36 data sets, is not on 23.",
    ),
    Ranking(
        "superparent",
        "accuracy",
        "Superparent classifiers: accuracy in per cent (Qiu et al. 2015, Table 7)",
        SUPERPARENT_NOTE,
        "CLL-SP",
        {
            "CLL-SP": ("87.49", "2.30"),
            "NB": ("84.71", "3.65"),
            "TAN": ("85.63", "3.83"),
            "SP": ("87.09", "2.83"),
            "AUC-SP": ("87.67", "2.39"),
        },
        {
            "NB": ("8-14-1", "14-21-1"),
            "TAN": ("6-17-0", "7-29-0"),
            "SP": ("2-20-1", "3-32-1"),
            "AUC-SP": ("1-22-0", "1-35-0"),
        },
        "No significant result has another direction.",
    ),
    Ranking(
        "superparent",
        "auc",
        "Superparent classifiers: area under the ROC curve (Qiu et al. 2015, Table 12)",
        SUPERPARENT_NOTE,
        "CLL-SP",
        {
            "CLL-SP": ("94.00", "2.57"),
            "NB": ("93.23", "3.46"),
            "TAN": ("92.91", "3.89"),
            "SP": ("93.94", "2.91"),
            "AUC-SP": ("94.30", "2.17"),
        },
        {
            "NB": ("9-13-1", "15-20-1"),
            "TAN": ("7-15-1", "13-21-2"),
            "SP": ("3-19-1", "7-28-1"),
            "AUC-SP": ("1-20-2", "1-32-3"),
        },
        "No significant result has another direction. The paper names the M measure, which ours "
        "is; its figures for data sets of classes of unequal size are rather areas of one class "
        "against the rest, weighted by size: naive Bayes has by these, over ten folds, 96.6 on "
        "balance-scale and 95.4 on anneal.ORIG (the paper: 96.2 and 95.4), by the M measure 85.6 "
        "and 97.3. That explains the paper's higher means.",
    ),
]
