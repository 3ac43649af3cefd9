"""The compiled part. Its arguments have their final type and layout; python/bindings says more."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Vector = NDArray[np.float64]

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
    x: Array, y: Vector, kernel: str, kernel_shape: str, bandwidth: Vector, threads: int
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
