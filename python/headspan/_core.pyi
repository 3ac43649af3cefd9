"""The compiled part. Its arguments have their final type and layout; python/bindings says more."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Vector = NDArray[np.float64]
Column = tuple[str, Vector | None, NDArray[np.int32] | None, list[str]]

KERNELS: tuple[str, ...]
POINT_STATUSES: tuple[str, ...]

class AttentionOptions:
    scale: float | None
    soft_cap: float
    cap_after_mask: bool
    causal: bool
    query_offset: int
    window_left: int
    window_right: int
    n_keys: list[int]
    alibi_slopes: list[float]
    sinks: list[float]
    stage: str
    def __init__(self) -> None: ...

class Part:
    """One number of a decomposition."""

    @property
    def value(self) -> float: ...
    @property
    def origin(self) -> str:
        """ "exact", an identity of the inputs, or "estimated" from noisy data."""
    @property
    def standard_error(self) -> float | None:
        """Of an estimated value, where one is known."""

class Decomposition:
    """mse = squared_bias + variance + covariance, means over the points; None where unknown or undefined."""

    @property
    def squared_bias(self) -> Part | None: ...
    @property
    def variance(self) -> Part:
        """sum_h a_h^2 C_hh; vbar / H for equal weights."""
    @property
    def covariance(self) -> Part:
        """sum_{h != l} a_h a_l C_hl; (1 - 1/H) cbar for equal weights."""
    @property
    def mse(self) -> Part | None: ...
    @property
    def vbar(self) -> float:
        """mean_h C_hh."""
    @property
    def cbar(self) -> float | None:
        """mean_{h != l} C_hl."""
    @property
    def hdi(self) -> float | None:
        """1 - cbar / vbar."""
    @property
    def n_points(self) -> int: ...
    @property
    def n_isolated(self) -> int:
        """Points left out of an estimated bias."""

class LinkedMoments:
    """Moments linked by identities, means over the points."""

    @property
    def squared_bias(self) -> float: ...
    @property
    def variance(self) -> float: ...
    @property
    def mean_squared_bias(self) -> float: ...
    @property
    def mean_variance(self) -> float: ...
    @property
    def cbar(self) -> float: ...
    @property
    def disparity(self) -> float: ...
    @property
    def diversity(self) -> float: ...

class Ambiguity:
    """ensemble_error = member_error - ambiguity."""

    @property
    def ensemble_error(self) -> float: ...
    @property
    def member_error(self) -> float: ...
    @property
    def ambiguity(self) -> float: ...

class AngleOptions:
    kernel: str
    degrees: list[float]
    n_heads: int
    head_dim: int
    n: int
    bandwidth: float
    noise_variance: float
    n_points: int
    n_replicates: int
    seed: int
    def __init__(self) -> None: ...

class LatentOptions:
    head_dims: list[int]
    budget: int
    scale: float
    rate: float
    private_noise: float
    n: int
    bandwidth: float
    noise_variance: float
    n_points: int
    n_replicates: int
    seed: int
    def __init__(self) -> None: ...

class AdditiveOptions:
    n_heads: int
    frequency: float
    n: int
    bandwidth: float
    noise_variance: float
    n_points: int
    n_replicates: int
    seed: int
    def __init__(self) -> None: ...

class ForestOptions:
    mtry: list[int]
    n_inputs: int
    n_trees: int
    n: int
    least_leaf: int
    bootstrap: bool
    noise_variance: float
    n_points: int
    n_replicates: int
    seed: int
    def __init__(self) -> None: ...

class ColonyOptions:
    exploration: list[float]
    thompson: bool
    n_scouts: int
    n_sites: int
    n_steps: int
    noise_sd: float
    evaporation: float
    sharing: float
    quorum: float
    n_replicates: int
    seed: int
    def __init__(self) -> None: ...

class LawRow:
    """Var F = rho v + (1 - rho) v / M at one setting of a diversity dial."""

    @property
    def dial(self) -> float: ...
    @property
    def v(self) -> Part:
        """Variance of an agent's error, mean over agents and points."""
    @property
    def rho(self) -> Part:
        """Mean off-diagonal by mean diagonal of the error covariance."""
    @property
    def ensemble_variance(self) -> Part:
        """Of the mean of the agents, measured as such."""
    @property
    def law(self) -> Part:
        """rho v + (1 - rho) v / M from the measured v and rho."""
    @property
    def inverse_members(self) -> float:
        """1/M; where not every agent is everywhere, its mean weighted by their variance."""
    @property
    def rho_predicted(self) -> float:
        """From the dial."""
    @property
    def rho_predicted_error(self) -> float | None:
        """Its standard error where it is a fit to other replicates; none of a closed form."""
    @property
    def law_predicted(self) -> float:
        """The law with rho_predicted."""
    @property
    def law_predicted_error(self) -> float | None:
        """v (1 - 1/M) times the error of rho_predicted, v taken as measured."""

class Trend:
    """From the smallest dial value to the greatest."""

    @property
    def change(self) -> Part: ...
    @property
    def direction(self) -> str:
        """ "falls", "rises", or "undecided" within three standard errors."""

class AngleRow:
    """The dial is the angle in degrees."""

    @property
    def law(self) -> LawRow: ...
    @property
    def centred_rho(self) -> Part:
        """Without the variance of the grand mean, which all heads share."""
    @property
    def centred_rho_predicted(self) -> float: ...
    @property
    def rho_limit(self) -> float:
        """Closed form averaged over normal queries."""
    @property
    def centred_rho_limit(self) -> float: ...

class LatentRow:
    """The dial is the head dimension. Variances are of the noise, exact given the inputs."""

    @property
    def law(self) -> LawRow: ...
    @property
    def n_heads(self) -> int: ...
    @property
    def mse(self) -> Part:
        """squared_bias + design_variance + law.ensemble_variance."""
    @property
    def squared_bias(self) -> Part: ...
    @property
    def design_variance(self) -> Part:
        """What the keys' positions add to the error beside the noise."""
    @property
    def mse_predicted(self) -> float: ...
    @property
    def squared_bias_predicted(self) -> float: ...
    @property
    def variance_predicted(self) -> float: ...
    @property
    def left_out(self) -> Part:
        """Measured v over its leading order in 1/n, less 1: the share that every prediction leaves out."""
    @property
    def in_range(self) -> bool:
        """V(1)^k <= sqrt(n), and left_out within 2 % or two standard errors."""

class CombinerRow:
    """One way to combine heads."""

    @property
    def mse(self) -> Part: ...
    @property
    def squared_bias(self) -> Part: ...
    @property
    def variance(self) -> Part: ...
    @property
    def squared_bias_predicted(self) -> float: ...

class ForestRow:
    """The dial is 1 - mtry / n_inputs."""

    @property
    def law(self) -> LawRow: ...
    @property
    def mtry(self) -> int: ...
    @property
    def mse(self) -> Part:
        """Of the forest at the fixed points."""

class ColonyRow:
    """The dial is the exploration probability."""

    @property
    def law(self) -> LawRow: ...
    @property
    def estimate_correlation(self) -> Part:
        """Of two scouts' estimates over the sites, unvisited ones as zero."""
    @property
    def visited(self) -> float:
        """Share of scouts and sites."""
    @property
    def accuracy(self) -> Part:
        """Share of searches whose most agreed site is the best."""
    @property
    def n_steps(self) -> float: ...

class AngleFacts:
    """What simulate_angles measured."""

    @property
    def rows(self) -> list[AngleRow]: ...
    @property
    def trend(self) -> Trend: ...

class LatentFacts:
    """What simulate_latents measured."""

    @property
    def rows(self) -> list[LatentRow]: ...
    @property
    def best(self) -> int:
        """Head dimension of least measured mse."""
    @property
    def best_predicted(self) -> int:
        """Head dimension of least predicted mse."""

class AdditiveFacts:
    """What simulate_additive measured."""

    @property
    def mean(self) -> CombinerRow:
        """F = (1/H) sum_h f_h."""
    @property
    def sum(self) -> CombinerRow:
        """F = sum_h f_h - (H - 1) ybar."""
    @property
    def head_variance(self) -> Part:
        """Mean over the heads."""

class ForestFacts:
    """What simulate_forest measured."""

    @property
    def rows(self) -> list[ForestRow]: ...
    @property
    def trend(self) -> Trend: ...

class ColonyFacts:
    """What simulate_colony measured."""

    @property
    def rows(self) -> list[ColonyRow]: ...
    @property
    def trend(self) -> Trend: ...
    @property
    def estimate_trend(self) -> Trend:
        """Of estimate_correlation."""

class Weighting:
    """Weights of sum one, and how good they are."""

    @property
    def weights(self) -> NDArray[np.float64]: ...
    @property
    def risk(self) -> float:
        """a^T M a."""
    @property
    def status(self) -> str:
        """'ok', or 'singular': many weightings have this risk, and this is the closest to uniform."""
    @property
    def residual(self) -> float | None:
        """Largest violation of the conditions of optimality, relative to the largest entry of |M|."""

class Shrunk:
    """(1 - shrinkage) S + shrinkage target I."""

    @property
    def matrix(self) -> NDArray[np.float64]: ...
    @property
    def shrinkage(self) -> float: ...
    @property
    def target(self) -> float: ...

class FamilyFit:
    """A law of weights fitted to a matrix of errors."""

    @property
    def family(self) -> str: ...
    @property
    def parameters(self) -> dict[str, float]: ...
    @property
    def weighting(self) -> Weighting: ...
    @property
    def at_edge(self) -> bool:
        """A parameter ends where the search does: the least risk may lie beyond."""

class Exchangeability:
    """Whether all members are alike, so that equal weights cannot be beaten."""

    @property
    def diagonal(self) -> float:
        """Mean of M_hh: B^2 + v."""
    @property
    def off_diagonal(self) -> float:
        """Mean of M_hl, h != l: B^2 + v rho."""
    @property
    def departure(self) -> float:
        """Largest distance of an entry from those two."""
    @property
    def p(self) -> float | None:
        """That members alike depart as much by chance; None where M is taken as exact."""
    @property
    def holds(self) -> bool: ...

class FittedWeights:
    """One way to weight the members, fitted to all points and training sets."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> dict[str, float]: ...
    @property
    def at_edge(self) -> bool:
        """Of a law: a parameter ends where the search does, and the least risk may lie beyond."""
    @property
    def weighting(self) -> Weighting: ...
    @property
    def risk_cv(self) -> float | None:
        """Mean squared error on points that were left out, or training sets where there are several."""
    @property
    def gain_cv(self) -> Part | None:
        """risk_cv of uniform less this one, with its standard error over the points or the training sets."""

class Doubt:
    """A member that looks like a column of something else."""

    @property
    def member(self) -> int: ...
    @property
    def reason(self) -> str:
        """'error': over a hundred times that of the middle member and of the mean of y; 'labels': whole numbers that
        never repeat, though as many from their range would."""

class PredictionFacts:
    """What predictions say of an ensemble; None where not identified or undefined."""

    @property
    def n_points(self) -> int: ...
    @property
    def n_members(self) -> int: ...
    @property
    def n_replicates(self) -> int: ...
    @property
    def mse(self) -> Part: ...
    @property
    def mean_member_mse(self) -> Part: ...
    @property
    def ambiguity(self) -> Part: ...
    @property
    def bias2(self) -> Part | None: ...
    @property
    def variance(self) -> Part | None: ...
    @property
    def covariance(self) -> Part | None: ...
    @property
    def disparity(self) -> Part | None: ...
    @property
    def diversity(self) -> Part | None: ...
    @property
    def closure(self) -> float:
        """mse less what the identity makes of the other terms."""
    @property
    def linking_closure(self) -> float | None: ...
    @property
    def unbiased(self) -> Decomposition | None:
        """The terms without the bias that R training sets leave, with jackknife standard errors; R >= 3."""
    @property
    def error_second_moments(self) -> NDArray[np.float64]: ...
    @property
    def correlation_of(self) -> str:
        """'errors', or 'replicates': of the covariance over the training sets."""
    @property
    def correlation(self) -> NDArray[np.float64] | None: ...
    @property
    def hdi(self) -> Part | None: ...
    @property
    def n_eff_2(self) -> Part | None: ...
    @property
    def uncorrelated(self) -> list[int]:
        """Members without error, or that never vary: why there is no correlation."""
    @property
    def doubtful(self) -> list[Doubt]:
        """Members that look like columns of something else."""
    @property
    def alike(self) -> Exchangeability: ...
    @property
    def weights(self) -> dict[str, FittedWeights]: ...
    @property
    def n_groups(self) -> int: ...
    @property
    def n_folds(self) -> int: ...
    @property
    def n_bootstrap(self) -> int: ...

class FitOptions:
    heads: str
    combiner: str
    n_heads: int
    head_dim: int
    trend: bool
    shrinkage: float
    diversity_penalty: float
    iterations: int
    sharpen: bool
    seed: int
    n_folds: int
    learn_rows: int
    def __init__(self) -> None: ...

class AutoOptions:
    seed: int
    n_folds: int
    effort: float
    learn_rows: int
    seconds: float | None
    def __init__(self) -> None: ...

class Encoding:
    """How columns become inputs; pickles as a dict of numbers and words."""

    @property
    def columns(self) -> list[str]:
        """Of the training table."""
    @property
    def inputs(self) -> list[str]:
        """What they became: "age", "age missing", "sex = male"."""
    @property
    def left_out(self) -> list[tuple[str, str, str]]:
        """Name, reason, note."""
    def encode(self, columns: list[Column], n_rows: int) -> Array: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...

class Regression:
    """A fitted regression; pickles as a dict of numbers and arrays."""

    @property
    def recipe(self) -> dict[str, Any]:
        """Of its first estimate."""

    def predict(self, x: Array, threads: int) -> tuple[Vector, Vector, NDArray[np.bool_]]:
        """Values, n_eff, extrapolated."""
    def intervals(self, x: Array, coverage: float, threads: int) -> tuple[Vector, Vector]: ...
    def variance(self, x: Array, noise: str, threads: int) -> tuple[Vector, Vector]:
        """Of the fit, and of the noise."""
    def deviation(self, x: Array, threads: int) -> Vector: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...

class ClassModel:
    """A fitted classification; pickles as a dict of numbers and arrays."""

    @property
    def n_evaluations(self) -> int: ...
    def probabilities(self, x: Array, threads: int) -> Vector: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...

class Comparison:
    """One number against its formula."""

    @property
    def what(self) -> str:
        """The case."""
    @property
    def relation(self) -> str:
        """ "=" of measured and expected; "<" or ">" where the claim is of a direction, then expected is 0."""
    @property
    def expected(self) -> float:
        """By the formula under test."""
    @property
    def measured(self) -> float: ...
    @property
    def error(self) -> float:
        """Of measured: a standard error, or a bound."""
    @property
    def margin(self) -> float:
        """Measured and expected agree within it."""
    @property
    def effect(self) -> float:
        """How far the wrong formula lies from the right one; nan of a direction."""

class Claim:
    """A claim and what became of it; the numbers are those of the comparison that decides."""

    @property
    def id(self) -> str: ...
    @property
    def statement(self) -> str: ...
    @property
    def kind(self) -> str:
        """ "identity", "closed form", "simulation" or "counterexample"."""
    @property
    def wrong(self) -> str:
        """The wrong formula, in words."""
    @property
    def relation(self) -> str: ...
    @property
    def expected(self) -> float: ...
    @property
    def measured(self) -> float: ...
    @property
    def error(self) -> float: ...
    @property
    def verdict(self) -> str:
        """ "confirmed", "reproduced", "undecided" or "failed"."""
    @property
    def comparisons(self) -> list[Comparison]: ...

def verify(claims: list[str], seed: int, thorough: bool, mutate: bool, threads: int) -> list[Claim]: ...
def claim_ids() -> list[str]: ...
def widen_bfloat16(array: Any) -> NDArray[np.float32]: ...
def estimate(
    queries: Array,
    keys: Array,
    values: Array,
    kernel: str,
    kernel_shape: str,
    bandwidth: Vector,
    leave_one_out: bool,
    nearest_if_none: bool,
    relative_error: float,
    threads: int,
) -> tuple[Array, Vector, Vector, Vector, NDArray[np.uint8]]: ...
def estimate_with_categories(
    queries: Array,
    keys: Array,
    values: Array,
    kernel: str,
    kernel_shape: str,
    bandwidth: Vector,
    leave_one_out: bool,
    nearest_if_none: bool,
    relative_error: float,
    codes: NDArray[np.int32],
    category_kernels: list[str],
    n_levels: list[int],
    query_codes: NDArray[np.int32],
    lambda_: Vector,
    threads: int,
) -> tuple[Array, Vector, Vector, Vector, NDArray[np.uint8]]: ...
def estimate_heads(
    queries: Array,
    keys: Array,
    values: Array,
    projections: list[Array],
    bandwidths: list[Vector],
    kernel: str,
    kernel_shape: str,
    leave_one_out: bool,
    covariance: bool,
    noise_variance: Vector,
    centred: bool,
    average: bool,
    threads: int,
) -> tuple[list[tuple[Array, Vector, Vector, Vector, NDArray[np.uint8]]], Array]: ...
def attention(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None,
    visible: Array | None,
    options: AttentionOptions,
    query_offsets: list[int],
    output: Array,
    log_normaliser: Vector | None,
    n_eff: Vector | None,
    scores: Array | None,
    threads: int,
) -> None: ...
def weight_covariance(
    query: Array,
    key: Array,
    bias: Array | None,
    visible: Array | None,
    options: AttentionOptions,
    query_offsets: list[int],
    noise_variance: Vector,
    centred: bool,
    average: bool,
    result: Vector,
    threads: int,
) -> None: ...
def smoother_scores(
    x: Array,
    y: Vector,
    kernel: str,
    kernel_shape: str,
    bandwidth: Vector,
    codes: NDArray[np.int32],
    category_kernels: list[str],
    n_levels: list[int],
    lambda_: Vector,
    threads: int,
) -> dict[str, Any]: ...
def ensemble_loo(
    x: Array,
    y: Vector,
    projections: list[Array],
    bandwidths: Vector,
    weights: Vector,
    kernel: str,
    kernel_shape: str,
    threads: int,
) -> dict[str, Any]: ...
def select_bandwidth(
    x: Array,
    y: Vector,
    kernel: str,
    kernel_shape: str,
    criterion: str,
    per_dimension: bool,
    n_starts: int,
    seed: int,
    codes: NDArray[np.int32],
    category_kernels: list[str],
    n_levels: list[int],
    threads: int,
) -> dict[str, Any]: ...
def part(value: float, standard_error: float | None, estimated: bool) -> Part: ...
def decompose(
    covariance: Array,
    noise: Part,
    bias: Array | None,
    residual: Array | None,
    left_out_covariance: Array | None,
    weights: Vector,
) -> Decomposition: ...
def leave_one_out_covariance(covariance: Array, self_weight: Array) -> Vector: ...
def residual_noise_variance(residual: Vector, trace: float, trace_wwt: float) -> Part: ...
def neighbour_noise_variance(x: Array, y: Vector, threads: int) -> Part: ...
def decompose_replicates(predictions: list[Array], truth: Vector, weights: Vector) -> Decomposition: ...
def linked_moments(predictions: list[Array], truth: Vector) -> LinkedMoments: ...
def ambiguity(predictions: Array, y: Vector, weights: Vector) -> Ambiguity: ...
def diverse_frames(
    n_heads: int, head_dim: int, d: int, seed: int, tolerance: float, max_evaluations: int
) -> tuple[Array, float, float, float, str, int]: ...
def random_frames(n_heads: int, head_dim: int, d: int, seed: int) -> Array: ...
def equal_angle_frames(n_heads: int, head_dim: int, cosine: float) -> Array: ...
def tight_frame_exists(n_heads: int, head_dim: int, d: int) -> bool: ...
def least_mean_overlap(n_heads: int, head_dim: int, d: int) -> float: ...
def diversity_penalty(weights: Array, n_heads: int) -> tuple[float, Array]: ...
def simulate_angles(options: AngleOptions, threads: int) -> AngleFacts: ...
def simulate_latents(options: LatentOptions, threads: int) -> LatentFacts: ...
def simulate_additive(options: AdditiveOptions, threads: int) -> AdditiveFacts: ...
def simulate_forest(options: ForestOptions, threads: int) -> ForestFacts: ...
def simulate_colony(options: ColonyOptions, threads: int) -> ColonyFacts: ...
def decompose_predictions(
    predictions: list[Array],
    truth: Vector,
    n_bootstrap: int,
    n_folds: int,
    seed: int,
    greatest_norm2: float | None,
    threads: int,
) -> PredictionFacts: ...
def error_second_moments(predictions: Array, y: Vector) -> Vector: ...
def risk(m: Array, weights: Vector) -> float: ...
def optimal_weights(m: Array) -> Weighting: ...
def simplex_weights(m: Array, greatest_norm2: float | None) -> Weighting: ...
def monotone_weights(m: Array, greatest_norm2: float | None) -> Weighting: ...
def ledoit_wolf(rows: Array, centre: bool) -> Shrunk: ...
def parameter_names(family: str) -> list[str]: ...
def family_weights(family: str, n: int, parameters: Vector) -> Vector: ...
def fit_family(m: Array, family: str) -> FamilyFit: ...
def exchangeability(m: Array, tolerance: float) -> Exchangeability: ...
def exchangeability_test(errors: Array, level: float) -> Exchangeability: ...
def structure_loss(alike: Exchangeability, weights: Vector) -> float: ...
def fit_table(
    x: Array,
    y: Vector,
    row_weight: Vector,
    options: FitOptions,
    threads: int,
    progress: Callable[[], None] | None,
) -> tuple[Regression, Vector, int]:
    """The model, the left-out prediction of every row, evaluations."""

def fit_auto(
    x: Array,
    y: Vector,
    row_weight: Vector,
    options: AutoOptions,
    threads: int,
    progress: Callable[[], None] | None,
) -> tuple[tuple[Regression, Vector, int], tuple[list[dict[str, Any]], float, bool]]:
    """As fit_table; candidates, held-out error of their mixture, whether the clock ended the search."""

def fit_classes(
    x: Array,
    label: list[int],
    n_classes: int,
    row_weight: Vector,
    options: FitOptions | AutoOptions,
    threads: int,
    progress: Callable[[], None] | None,
) -> ClassModel: ...
def learn_encoding(columns: list[Column], target: Vector, weight: Vector) -> Encoding: ...
def save_model(path: str, target: str, encoding: Encoding, model: Regression, written_by: str) -> None: ...
def load_model(path: str) -> tuple[str, Encoding, Regression]:
    """Target, encoding, model."""

class PairRules:
    def __init__(self, budget: int, exact: bool, multiple_of: int, n_kv_heads: int, d_model: int | None, /) -> None: ...

class MeasuredCurve:
    def __init__(self, head_dim: Vector, value: Vector, standard_error: Vector, /) -> None: ...

def plan_document(
    rules: PairRules,
    n: float,
    noise: float,
    profile: str,
    numbers: list[float],
    bias_table: MeasuredCurve,
    bandwidth: float | None,
    signal: float | None,
    kind: str,
    rho: float,
    rho_table: MeasuredCurve,
) -> str: ...
def plan_data_document(
    x: Array, y: Vector, rules: PairRules, at_n: float | None, n_draws: int, seed: int, threads: int
) -> str: ...
def plan_model_document(
    config: str, budget: int | None, rules: PairRules, n_kv_heads: int | None, context: int, bytes: int
) -> str: ...
