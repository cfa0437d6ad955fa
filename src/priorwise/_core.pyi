"""Types of the compiled kernels and of the structures they take.

A structure is validated when it is built, from arrays or by unpickling; its arrays may be read and
not written. Arrays given to a kernel must have the type stated here and be contiguous,
except for columns of trees, which may have any stride. What does not fit is refused by its name.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int32]
_Longs = NDArray[np.int64]
_Bytes = NDArray[np.uint8]
_Singles = NDArray[np.float32]
_Floats = NDArray[np.float64]
_Codes = Sequence[_Ints] | _Ints
_Columns = Sequence[NDArray[Any]]
_Grown = tuple[_Ints, _Ints, _Longs, _Ints, _Bytes, _Floats, _Ints, _Floats, _Ints]
_Tree = TypeVar("_Tree", bound=CountTree)
_Factor = TypeVar("_Factor", bound=Factor)
_Result = TypeVar("_Result")

# The arguments of a kernel fill lines instead of having one line each.
# fmt: off

# Threads.
def map_in_threads(
    function: Callable[..., _Result], *items: Iterable[Any], n_jobs: int
) -> list[_Result]: ...
# Trees of counts and factors.
class CountTree:
    def __init__(
        self, parent: _Ints, value: _Ints, level_start: _Longs, row_start: _Longs, outcome: _Ints,
        parent_cell: _Ints, counts: _Floats, n_outcomes: int
    ) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    parent: Final[_Ints]
    value: Final[_Ints]
    level_start: Final[_Longs]
    row_start: Final[_Longs]
    outcome: Final[_Ints]
    parent_cell: Final[_Ints]
    counts: Final[_Floats]
    child_start: Final[_Ints]
    totals: Final[_Floats]
    is_dense: Final[bool]
    n_outcomes: Final[int]
class Factor:
    def __init__(
        self, column: int, path: Sequence[int], tree: CountTree, log_p: _Floats, log_rest: _Floats,
        rest_towards_parent: bool, n_classes: int, backoff: bool
    ) -> None: ...
    column: Final[int]
    path: Final[tuple[int, ...]]
    tree: Final[Any]
    log_p: Final[_Floats]
    log_rest: Final[_Floats]
    rest_towards_parent: Final[bool]
    n_classes: Final[int]
    n_contexts: Final[int]
    backoff: Final[bool]
def fill_count_trees(
    tree_class: type[_Tree], columns: _Codes, arity: _Ints, targets: Sequence[int],
    paths: Sequence[Sequence[int]], weight: _Floats | None, max_dense_outcomes: int,
    min_rows: float, n_threads: int
) -> list[_Tree]: ...
def add_to_tables(
    columns: _Codes, arity: _Ints, targets: Sequence[int], paths: Sequence[Sequence[int]],
    tables: Sequence[_Longs], n_threads: int
) -> list[int]: ...
def find_tree_nodes(tree: CountTree, path: _Codes, n_rows: int, n_threads: int) -> _Ints: ...
def build_factor(
    factor_class: type[_Factor], column: int, path: Sequence[int], tree: CountTree, p: _Floats,
    rest_towards_parent: bool, n_classes: int, backoff: bool
) -> _Factor: ...
# Pair counts.
def measure_information(
    codes: _Ints, arities: _Ints, classes: _Ints, n_classes: int, whole: _Longs | None,
    real: _Floats | None, counting: str, n_threads: int
) -> tuple[_Floats, _Floats, _Longs]: ...
def add_pair_counts(
    codes: _Codes, arities: _Ints, classes: _Ints, n_classes: int, whole: _Longs | None,
    real: _Floats | None, margins: NDArray[Any], cells: NDArray[Any], n_threads: int
) -> None: ...
def information_of_counts(
    margins: NDArray[Any], cells: NDArray[Any], arities: _Ints, n_known: _Ints, n_classes: int,
    n_terms: int, n_threads: int
) -> tuple[_Floats, _Floats, _Longs]: ...
class WidePairs:
    def __init__(
        self, codes: _Codes, arities: _Ints, classes: _Ints, n_classes: int, whole: _Longs | None,
        real: _Floats | None, n_threads: int
    ) -> None: ...
    mutual: Final[_Floats]
    n_seen: Final[_Longs]
def measure_pairs(pairs: WidePairs, feature: int, others: _Longs, n_threads: int) -> _Floats: ...
def shared_bits(
    kernel: str, left: NDArray[np.uint64], right: NDArray[np.uint64]
) -> NDArray[np.uint64] | None: ...
# Cut points of numeric features.
def rank_values(values: _Floats, ranks: _Ints, n_threads: int) -> list[_Floats]: ...
def cut_values(
    values: _Floats, cut_points: Sequence[_Floats], missing_codes: _Ints, positions: _Longs,
    codes: _Ints, n_threads: int
) -> None: ...
def nearest_boundaries(
    below: _Floats, starts: _Longs, feature: _Longs, quantile: _Floats, of_rows: _Bytes
) -> _Longs: ...
def entropy_cuts(
    ranks: _Ints, n_distinct: _Ints, classes: _Ints, n_classes: int, weights: _Floats | None,
    rule: str, max_depth: int, seeds: NDArray[np.uint64], n_threads: int
) -> list[_Ints]: ...
# Smoothing.
def shrink(tree: CountTree, weight: _Floats, towards_parent: bool, copy_empty: bool) -> _Floats: ...
def node_heights(tree: CountTree) -> _Ints: ...
def hgs_loss(tree: CountTree, alpha: _Floats, loss: str) -> tuple[float, _Floats]: ...
def optimise_hgs_by_level(tree: CountTree, loss: str, prior_sd: float) -> _Floats: ...
def hgs_estimate(tree: CountTree, alpha: _Floats) -> _Floats: ...
def shrink_hierarchically(tree: CountTree, strength: float) -> _Floats: ...
def average_prunings(
    tree: CountTree, stop: float, pseudo: float, rate: float
) -> tuple[_Floats, _Floats]: ...
def solve_process(
    tree: CountTree, group: _Ints, concentration: _Floats, discount: _Floats | None,
    learn_discounts: bool, shape: float, rate: float, root_concentration: float, max_passes: int,
    tolerance: float
) -> tuple[_Floats, _Floats, _Floats, _Floats, int]: ...
def sample_process(
    tree: CountTree, group: _Ints, passed: _Floats, concentration: _Floats,
    discount: _Floats | None, learn_discounts: bool, shape: float, rate: float,
    root_concentration: float, n_sweeps: int, n_burn_in: int, n_draws: int, seed: int
) -> tuple[_Floats, _Floats, _Floats, _Floats, _Floats, _Floats, _Floats]: ...
def discounted_stirling_ratio(n: int, t: int, discount: float) -> float: ...
def log_discounted_stirling(n: int, t: int, discount: float) -> float: ...
def stirling_ratio(n: int, t: int) -> float: ...
def level_weights(tree: CountTree) -> _Floats: ...
# Networks.
class FactorProduct:
    def __init__(
        self, log_prior: _Floats, column: _Ints, n_outcomes: _Ints, n_parents: _Ints,
        n_contexts: _Ints, n_entries: _Ints, n_cells: _Ints, rest_towards_parent: _Bytes,
        is_dense: _Bytes, path: _Ints, value: _Ints, child_start: _Ints, entry_start: _Ints,
        entry_class: _Ints, n_rows: _Singles, rest: _Singles, cell_start: _Ints, outcome: _Ints,
        score: _Singles,
    ) -> None: ...
    log_prior: Final[_Floats]
    column: Final[_Ints]
    n_outcomes: Final[_Ints]
    n_parents: Final[_Ints]
    n_contexts: Final[_Ints]
    n_entries: Final[_Ints]
    n_cells: Final[_Ints]
    rest_towards_parent: Final[_Bytes]
    is_dense: Final[_Bytes]
    path: Final[_Ints]
    value: Final[_Ints]
    child_start: Final[_Ints]
    entry_start: Final[_Ints]
    entry_class: Final[_Ints]
    n_rows: Final[_Singles]
    rest: Final[_Singles]
    cell_start: Final[_Ints]
    outcome: Final[_Ints]
    score: Final[_Singles]
def check_network(product: FactorProduct, arity: _Ints) -> None: ...
def pack_scores(factor: Factor, min_rows: float) -> FactorProduct: ...
def join_products(products: Sequence[FactorProduct], log_prior: _Floats) -> FactorProduct: ...
def take_factor(product: FactorProduct, place: int) -> FactorProduct: ...
def find_support(product: FactorProduct, place: int, columns: _Codes) -> tuple[_Singles, _Ints]: ...
class FactorTrees:
    def __init__(
        self, columns: _Codes, arity: _Ints, weight: _Floats | None, n_classes: int,
        features: Sequence[int], parents: Sequence[Sequence[int]], max_dense_outcomes: int,
        max_kept: int, max_contexts: int | None
    ) -> None: ...
def hold_trees(
    counted: Sequence[CountTree], n_classes: int, features: Sequence[int],
    parents: Sequence[Sequence[int]]
) -> FactorTrees: ...
def cross_fit_network(
    trees: FactorTrees, columns: _Codes, y: _Ints, row_weight: _Floats | None, block: _Ints,
    n_blocks: int, n_levels: int, n_judged: int, class_row_weight: _Floats | None
) -> tuple[_Floats, _Singles, _Singles]: ...
def sum_log_losses(joint: _Floats, y: _Ints, weight: _Floats) -> _Floats: ...
def pack_weighted_network(
    trees: FactorTrees, shrinkage: _Floats, level_weight: _Floats, min_rows: float,
    log_prior: _Floats
) -> FactorProduct: ...
def score_kept_contexts(
    scores: _Singles, level_weight: _Floats, context_rows: _Singles, min_rows: _Floats,
    log_prior: _Floats
) -> _Floats: ...
class CutNetwork:
    def __init__(self, network: FactorProduct, points: _Floats, n_points: _Ints) -> None: ...
    network: Final[FactorProduct]
    points: Final[_Floats]
    n_points: Final[_Ints]
def average_networks(
    networks: Sequence[CutNetwork], values: _Floats, missing_seen: _Ints, positions: _Longs,
    codes: _Ints, n_threads: int
) -> _Floats: ...
def predict_joint(
    network: FactorProduct, columns: _Codes, normalise: bool, n_threads: int
) -> _Floats: ...
def normalise_joint(joint: _Floats, log_prior: _Floats) -> _Floats: ...
def softmax(scores: _Floats) -> _Floats: ...
class SubmodelLosses:
    def __init__(
        self, factors: Sequence[Factor], weights: Sequence[_Floats],
        probabilities: Sequence[_Floats], towards_parent: bool, class_count: _Floats,
        max_parents: int, loss: str, by_table: bool
    ) -> None: ...
def leave_one_out_losses(
    submodels: SubmodelLosses, columns: _Codes, y: _Ints, row_weight: _Floats | None, n_threads: int
) -> NDArray[Any]: ...
def find_parents(
    conditional: _Floats, free: _Floats, order: _Longs, max_parents: int, bias_divisor: float
) -> list[list[int]]: ...
def climb_hill(
    columns: _Codes, arities: _Ints, weight: _Floats | None, score: str,
    equivalent_sample_size: float, max_parents: int, n_tabu: int, n_threads: int
) -> list[list[int]]: ...
def find_superparents(
    columns: _Codes, arities: _Ints, y: _Ints, n_classes: int, weight: _Floats | None, score: str,
    leave_one_out: bool, n_threads: int
) -> tuple[_Ints, _Floats]: ...
class NetworkTables:
    def __init__(
        self, arities: _Ints, parents: Sequence[_Ints], tables: Sequence[_Floats]
    ) -> None: ...
def infer_joint(
    tables: NetworkTables, evidence: _Ints, states: _Ints, targets: _Ints, max_cells: float,
    n_threads: int
) -> tuple[_Floats, _Floats]: ...
def infer_marginals(
    tables: NetworkTables, evidence: _Ints, states: _Ints, targets: _Ints, max_cells: float,
    n_threads: int
) -> _Floats: ...
def infer_best(
    tables: NetworkTables, evidence: _Ints, states: _Ints, targets: _Ints, max_cells: float,
    n_threads: int
) -> _Ints: ...
def draw_states(
    tables: NetworkTables, evidence: _Ints, states: _Ints, uniform: _Floats, max_cells: float
) -> _Ints: ...
# Decision trees.
class SortedColumns:
    def __init__(self, columns: _Columns, n_rows: int, n_threads: int) -> None: ...
    n_rows: Final[int]
    row: Final[_Ints]
    rank: Final[_Ints]
def grow_best_tree(
    table: SortedColumns, outcome: _Ints, n_outcomes: int, grow_weight: _Floats | None,
    count_weight: _Floats | None, criterion: str, min_samples_leaf: float, numeric_min_share: float,
    binary_codes: bool, mdl_correction: bool, max_depth: int, max_features: int, n_values: _Ints,
    monotone: _Ints, seed: int, n_threads: int
) -> _Grown: ...
def count_leaves(
    tree_class: type[_Tree], parent: _Ints, value: _Ints, level_start: _Longs, leaf: _Ints,
    outcome: _Ints, weight: _Floats | None, n_outcomes: int, dense: bool
) -> _Tree: ...
def pack_tree(
    counts: CountTree, feature: _Ints, kind: _Bytes, threshold: _Floats, missing_value: _Ints
) -> tuple[_Bytes, _Ints]: ...
def blend_rows(
    tree: PackedTrees, owner: _Ints, bandwidth: _Floats, columns: _Columns, n_rows: int,
    owner_rows: _Floats, n_threads: int
) -> _Floats: ...
# Forests.
class PackedTrees:
    def __init__(
        self, tree_start: _Longs, split: _Ints, threshold: _Floats, leaf_weight: _Floats
    ) -> None: ...
    tree_start: Final[_Longs]
    split: Final[_Ints]
    threshold: Final[_Floats]
    leaf_weight: Final[_Floats]
    node_bytes: Final[_Bytes]
    n_features: Final[int]
    n_nodes: Final[int]
class SparseNodeRows:
    def __init__(
        self, trees: PackedTrees, width: int, strength: float, below: _Ints,
        outcome: NDArray[np.uint16], kept_node: _Longs, kept_row: _Singles
    ) -> None: ...
    trees: Final[PackedTrees]
    width: Final[int]
    strength: Final[float]
    below: Final[_Ints]
    outcome: Final[NDArray[np.uint16]]
    kept_node: Final[_Longs]
    kept_row: Final[_Singles]
def find_sparse_rows(
    trees: PackedTrees, leaf: _Ints, out: _Bytes, outcome: _Ints, n_outcomes: int, count_all: bool,
    strength: float
) -> SparseNodeRows | None: ...
def expand_sparse_rows(rows: SparseNodeRows) -> _Singles: ...
def grow_random_forest(
    columns: _Columns, outcome: _Ints, n_outcomes: int, grow_weight: _Floats | None,
    count_weight: _Floats | None, share: float, min_samples_leaf: float, max_depth: int,
    max_features: int, n_random_splits: int, seeds: NDArray[np.uint64], monotone: _Ints,
    group: _Ints | None, n_threads: int
) -> tuple[_Longs, _Bytes, _Floats, _Ints, _Bytes]: ...
def count_forest(
    trees: PackedTrees, leaf: _Ints, out: _Bytes, outcome: _Ints, n_outcomes: int,
    weight: _Floats | None, count_all: bool, n_threads: int
) -> _Floats: ...
def smooth_forest(
    trees: PackedTrees, leaf: _Ints, out: _Bytes, outcome: _Ints, n_outcomes: int,
    weight: _Floats | None, count_all: bool, strength: float, n_threads: int
) -> _Singles: ...
def prune_forest(
    trees: PackedTrees, weight: _Floats, least: float
) -> tuple[_Longs, _Bytes, _Ints]: ...
def sum_out_of_bag(
    trees: PackedTrees, leaf: _Ints, out: _Bytes, outcome: _Ints, n_outcomes: int,
    weight: _Floats | None, count_all: bool, own: _Floats, some: _Longs, strengths: _Floats,
    leasts: _Floats, n_threads: int
) -> tuple[_Floats, _Floats]: ...
def sum_leaf_rows(
    trees: PackedTrees, node_rows: _Singles, leaf: _Ints, out: _Bytes, n_threads: int
) -> tuple[_Floats, _Floats]: ...
def find_forest_leaves(
    trees: PackedTrees, columns: _Columns, n_rows: int, n_threads: int
) -> _Ints: ...
def average_forest(
    trees: PackedTrees, columns: _Columns, n_rows: int, node_rows: _Singles | SparseNodeRows,
    n_threads: int
) -> _Floats: ...
def contribute_forest(
    trees: PackedTrees, columns: _Columns, n_rows: int, node_rows: _Singles | SparseNodeRows,
    n_threads: int
) -> _Floats: ...
# Boosting.
class BoostingRules:
    def __init__(
        self, *, max_depth: int, max_leaves: int, symmetric: bool, rate: float, l2: float,
        min_hessian: float, max_rounds: int, patience: int, max_seconds: float, row_share: float,
        column_share: float, seed: int, scales: _Floats, monotone: _Ints
    ) -> None: ...
def boost(
    columns: _Columns, outcome: _Ints, weight: _Floats | None, offset: _Floats, fold: _Ints,
    n_boosters: int, rules: BoostingRules, n_threads: int
) -> tuple[_Longs, _Bytes, _Floats, _Floats, _Floats]: ...
def choose_boost_bins(
    columns: _Columns, n_rows: int, max_cuts: int, n_threads: int
) -> list[_Floats]: ...
def boost_coded(
    bins: _Bytes, edges: list[_Floats], is_nominal: _Ints, outcome: _Ints, weight: _Floats | None,
    offset: _Singles, n_held: int, rules: BoostingRules, n_threads: int
) -> tuple[_Longs, _Bytes, _Floats, _Floats, _Floats]: ...
# Linear models.
class PiecewiseScore:
    def __init__(
        self, intercept: _Floats, first_label: _Longs, label_score: _Floats, mean: _Floats,
        scale: _Floats, max_deviation: float, first_piece: _Longs, first_value: _Floats,
        left: _Floats, coefficient: _Floats, missing_score: _Floats
    ) -> None: ...
    intercept: Final[_Floats]
    first_label: Final[_Longs]
    label_score: Final[_Floats]
    mean: Final[_Floats]
    scale: Final[_Floats]
    max_deviation: Final[float]
    first_piece: Final[_Longs]
    first_value: Final[_Floats]
    left: Final[_Floats]
    coefficient: Final[_Floats]
    missing_score: Final[_Floats]

def fit_conditional(
    features: _Singles, offset: _Floats, y: _Ints, row_weight: _Floats | None, centre: _Floats,
    penalty: _Floats
) -> _Floats: ...
def fit_logistic(
    index: _Ints, value: _Singles, n_indicators: int, y: _Ints, row_weight: _Floats | None,
    fold: _Ints, penalty: float, tolerance: float, weights: _Floats, n_threads: int
) -> None: ...
def predict_logistic(
    index: _Ints, value: _Singles, n_indicators: int, fold: _Ints, weights: _Floats, n_threads: int
) -> _Floats: ...
def predict_pieces(
    pieces: PiecewiseScore, codes: _Ints, values: _Floats, n_threads: int
) -> _Floats: ...
def predict_gaussians(
    values: _Floats, place: _Ints, mean: _Floats, precision: _Floats, split: bool, n_threads: int
) -> _Floats: ...
def predict_kernel_scores(
    row_index: _Ints, row_value: _Singles, index: _Ints, value: _Singles, rate: float,
    intercept: _Floats, coefficient: _Floats, n_threads: int
) -> _Floats: ...
# What is read from files.
def are_within(numbers: _Floats | _Singles | _Ints | _Longs, least: float, most: float) -> bool: ...
def are_distributions(rows: _Floats | _Singles) -> bool: ...
def fold_crc32(numbers: _Bytes, start: int) -> tuple[bytes, int]: ...
