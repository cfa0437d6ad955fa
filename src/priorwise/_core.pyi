"""Types of the compiled kernels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts.factor import Factor
from priorwise.counts.tree import CountTree
from priorwise.models.linear.piecewise_score import PiecewiseScore
from priorwise.structure.trees.decision_tree import DecisionTree

_Ints = NDArray[np.int32]
_Longs = NDArray[np.int64]
_Floats = NDArray[np.float64]
_Columns = list[NDArray[Any]]
_Grown = tuple[_Ints, _Ints, _Longs, _Ints, NDArray[np.uint8], _Floats, _Ints, _Floats, _Ints]

class PythonWork:
    def __init__(self, function: Callable[[int], None], n_pieces: int) -> None: ...
    def help(self) -> None: ...
    def run(self) -> None: ...
    def close(self) -> None: ...

def fill_count_trees(
    columns: Sequence[_Ints],
    arity: _Ints,
    targets: Sequence[int],
    paths: Sequence[Sequence[int]],
    weight: _Floats | None,
    max_dense_outcomes: int,
    n_threads: int,
) -> list[tuple[_Ints, _Ints, _Longs, _Longs, _Ints, _Ints, _Floats]]: ...
def add_to_tables(
    columns: Sequence[_Ints],
    arity: _Ints,
    targets: Sequence[int],
    paths: Sequence[Sequence[int]],
    tables: Sequence[_Longs],
    n_threads: int,
) -> None: ...
def find_deepest_nodes(
    value: _Ints, child_start: _Ints, path: Sequence[_Ints], n_rows: int, n_threads: int
) -> _Ints: ...
def shrink(tree: CountTree, weight: _Floats, towards_parent: bool, copy_empty: bool) -> _Floats: ...
def node_heights(tree: CountTree) -> _Ints: ...
def hgs_loss(tree: CountTree, alpha: _Floats, loss: str) -> tuple[float, _Floats]: ...
def optimise_hgs_by_level(tree: CountTree, loss: str, prior_sd: float) -> _Floats: ...
def hgs_estimate(tree: CountTree, alpha: _Floats) -> _Floats: ...
def shrink_hierarchically(tree: CountTree, strength: float) -> _Floats: ...
def average_prunings(
    tree: CountTree, stop: float, pseudo: float, rate: float
) -> tuple[_Floats, _Floats]: ...
def solve_hdp(
    tree: CountTree,
    group: _Ints,
    concentration: _Floats,
    shape: float,
    rate: float,
    root_concentration: float,
    max_passes: int,
    tolerance: float,
) -> tuple[_Floats, _Floats, _Floats, int]: ...
def sample_hdp(
    tree: CountTree,
    group: _Ints,
    passed: _Floats,
    concentration: _Floats,
    shape: float,
    rate: float,
    root_concentration: float,
    n_sweeps: int,
    n_burn_in: int,
    n_draws: int,
    seed: int,
) -> tuple[_Floats, _Floats, _Floats, _Floats]: ...
def stirling_ratio(n: int, t: int) -> float: ...

# Cut points of numeric features.

def rank_values(
    values: NDArray[np.float64], ranks: NDArray[np.int32], n_threads: int
) -> list[NDArray[np.float64]]: ...
def cut_values(
    values: NDArray[np.float64],
    cut_points: Sequence[NDArray[np.float64]],
    missing_codes: NDArray[np.int32],
    positions: NDArray[np.int64],
    codes: NDArray[np.int32],
    n_threads: int,
) -> None: ...
def entropy_cuts(
    ranks: NDArray[np.int32],
    n_distinct: NDArray[np.int32],
    classes: NDArray[np.int32],
    n_classes: int,
    weights: NDArray[np.float64] | None,
    rule: str,
    max_depth: int,
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> list[NDArray[np.int32]]: ...

# Pair counts.

def measure_information(
    codes: NDArray[np.int32],
    arities: NDArray[np.int32],
    classes: NDArray[np.int32],
    n_classes: int,
    whole: NDArray[np.int64] | None,
    real: NDArray[np.float64] | None,
    counting: str,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]: ...
def add_pair_counts(
    codes: NDArray[np.int32],
    arities: NDArray[np.int32],
    classes: NDArray[np.int32],
    n_classes: int,
    whole: NDArray[np.int64] | None,
    real: NDArray[np.float64] | None,
    margins: NDArray[Any],
    cells: NDArray[Any],
    n_threads: int,
) -> None: ...
def information_of_counts(
    margins: NDArray[Any],
    cells: NDArray[Any],
    arities: NDArray[np.int32],
    n_classes: int,
    n_terms: int,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]: ...
def shared_bits(
    kernel: str, left: NDArray[np.uint64], right: NDArray[np.uint64]
) -> NDArray[np.uint64] | None: ...
def index_contexts(tree: CountTree, n_classes: int) -> tuple[_Ints, _Ints, _Ints]: ...
def log_rest_factors(tree: CountTree, p: _Floats, towards_parent: bool) -> _Floats: ...
def predict_joint(
    factors: list[Factor],
    log_prior: _Floats,
    columns: Sequence[_Ints],
    normalise: bool,
    n_threads: int,
) -> _Floats: ...
def normalise_joint(joint: _Floats, log_prior: _Floats) -> _Floats: ...
def leave_one_out_losses(
    factors: list[Factor],
    weights: list[_Floats],
    probabilities: list[_Floats],
    towards_parent: bool,
    class_count: _Floats,
    columns: Sequence[_Ints],
    y: _Ints,
    row_weight: _Floats | None,
    max_parents: int,
    loss: str,
    by_table: bool,
    n_threads: int,
) -> NDArray[Any]: ...
def level_weights(tree: CountTree) -> _Floats: ...
def weigh_levels(tree: CountTree, log_p: _Floats, level_weight: _Floats) -> _Floats: ...
def cross_fit_levels(
    factors: list[Factor],
    weights: list[_Floats],
    columns: Sequence[_Ints],
    y: _Ints,
    row_weight: _Floats | None,
    block: _Ints,
    n_blocks: int,
    n_levels: int,
    n_threads: int,
) -> NDArray[np.float32]: ...
def fit_conditional(
    features: NDArray[np.float32],
    offset: _Floats,
    y: _Ints,
    row_weight: _Floats | None,
    centre: _Floats,
    penalty: _Floats,
) -> _Floats: ...
def fit_logistic(
    index: NDArray[np.int32],
    value: NDArray[np.float32],
    n_indicators: int,
    y: _Ints,
    row_weight: _Floats | None,
    fold: _Ints,
    penalty: float,
    tolerance: float,
    weights: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def predict_pieces(
    pieces: PiecewiseScore, codes: NDArray[np.int32], values: _Floats, n_threads: int
) -> _Floats: ...
def predict_kernel_scores(
    row_index: _Ints,
    row_value: NDArray[np.float32],
    index: _Ints,
    value: NDArray[np.float32],
    rate: float,
    intercept: _Floats,
    coefficient: _Floats,
    n_threads: int,
) -> _Floats: ...
def sort_features(columns: _Columns, n_rows: int, n_threads: int) -> tuple[_Ints, _Ints]: ...
def grow_best_tree(
    columns: _Columns,
    sorted_row: _Ints,
    sorted_rank: _Ints,
    outcome: _Ints,
    n_outcomes: int,
    grow_weight: _Floats | None,
    count_weight: _Floats | None,
    criterion: str,
    min_samples_leaf: float,
    numeric_min_share: float,
    binary_codes: bool,
    mdl_correction: bool,
    max_depth: int,
    max_features: int,
    seed: int,
    n_threads: int,
) -> _Grown: ...
def grow_random_tree(
    columns: _Columns,
    outcome: _Ints,
    n_outcomes: int,
    grow_weight: _Floats | None,
    count_weight: _Floats | None,
    min_samples_leaf: float,
    max_depth: int,
    max_features: int,
    n_random_splits: int,
    seed: int,
) -> _Grown: ...
def grow_random_forest(
    columns: _Columns,
    outcome: _Ints,
    n_outcomes: int,
    grow_weight: _Floats | None,
    count_weight: _Floats | None,
    share: float,
    count_all: bool,
    min_samples_leaf: float,
    max_depth: int,
    max_features: int,
    n_random_splits: int,
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> tuple[_Longs, NDArray[np.uint8], _Floats, _Floats, _Ints, NDArray[np.float32]]: ...
def smooth_forest(
    tree_start: _Longs,
    nodes: NDArray[np.uint8],
    counts: _Floats,
    strength: float,
    n_threads: int,
) -> _Floats: ...
def sum_out_of_bag(
    tree_start: _Longs,
    nodes: NDArray[np.uint8],
    counts: _Floats,
    leaf: _Ints,
    out: NDArray[np.float32],
    outcome: _Ints,
    own: _Floats,
    some: _Longs,
    strengths: _Floats,
    all_outcomes: bool,
    n_threads: int,
) -> tuple[_Floats, _Floats]: ...
def sum_leaf_rows(
    tree_start: _Longs,
    nodes: NDArray[np.uint8],
    proba: _Floats,
    leaf: _Ints,
    out: NDArray[np.float32],
    outcome: _Ints,
    n_threads: int,
) -> tuple[_Floats, _Floats]: ...
def find_forest_leaves(
    tree_start: _Longs,
    nodes: NDArray[np.uint8],
    columns: _Columns,
    n_rows: int,
    n_threads: int,
) -> _Ints: ...
def average_forest(
    tree_start: _Longs,
    nodes: NDArray[np.uint8],
    columns: _Columns,
    n_rows: int,
    proba: _Floats,
    n_threads: int,
) -> _Floats: ...
def contribute_forest(
    tree_start: _Longs,
    nodes: NDArray[np.uint8],
    columns: _Columns,
    n_rows: int,
    proba: _Floats,
    n_threads: int,
) -> _Floats: ...
def boost(
    columns: _Columns,
    outcome: _Ints,
    weight: _Floats | None,
    offset: _Floats,
    fold: _Ints,
    n_boosters: int,
    max_depth: int,
    rate: float,
    l2: float,
    min_hessian: float,
    max_rounds: int,
    patience: int,
    max_seconds: float,
    scales: _Floats,
    n_threads: int,
) -> tuple[_Longs, NDArray[np.uint8], _Floats, _Floats]: ...
def count_leaves(
    parent: _Ints,
    leaf: _Ints,
    outcome: _Ints,
    weight: _Floats | None,
    n_outcomes: int,
    dense: bool,
) -> tuple[_Longs, _Ints, _Ints, _Floats]: ...
def find_leaves(tree: DecisionTree, columns: _Columns, n_rows: int, n_threads: int) -> _Ints: ...
def blend_rows(
    tree: DecisionTree,
    bandwidth: _Floats,
    columns: _Columns,
    n_rows: int,
    node_rows: _Floats,
    n_threads: int,
) -> _Floats: ...
def find_superparents(
    columns: Sequence[_Ints],
    arities: _Ints,
    y: _Ints,
    n_classes: int,
    weight: _Floats | None,
    score: str,
    leave_one_out: bool,
    n_threads: int,
) -> tuple[_Ints, _Floats]: ...
