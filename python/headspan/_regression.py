"""Nadaraya-Watson regression: estimates, smoothing scores, bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core

KernelName = Literal["gaussian", "softmax", "laplace", "epanechnikov", "biweight", "triweight", "tricube", "uniform"]
KernelShape = Literal["radial", "product"]
Criterion = Literal["loo", "gcv", "aicc"]
FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates at m queries."""

    output: FloatArray
    """[m], or [m, value_dim] where y has two dimensions: sum_i w_i y_i; NaN where there is no estimate."""
    n_eff: NDArray[np.float64]
    """[m] effective sample size 1 / sum_i w_i^2; 0 without a neighbour."""
    log_normaliser: NDArray[np.float64]
    """[m] log sum_i k(x, x_i); -inf without a neighbour."""
    self_weight: NDArray[np.float64] | None
    """[m] the weight that key i would have had at itself; None unless leave_one_out."""
    status: NDArray[np.str_]
    """[m] "ok", "no neighbour", "nearest neighbour" or "no other key"."""
    bandwidth: NDArray[np.float64]
    """[1] or [d] the bandwidth used."""


def nadaraya_watson(
    x: ArrayLike,
    y: ArrayLike,
    at: ArrayLike | None = None,
    *,
    bandwidth: ArrayLike | Literal["auto"],
    kernel: KernelName = "gaussian",
    kernel_shape: KernelShape = "radial",
    leave_one_out: bool = False,
    nearest_if_none: bool = False,
    relative_error: float = 0.0,
    threads: int | None = None,
) -> Estimate:
    """The weighted means f(q) = sum_i k(q, x_i) y_i / sum_i k(q, x_i) at the queries `at`.

    x: [n, d] or [n], the keys; y: [n] or [n, value_dim], their values; at: [m, d] or, for d = 1, [m], the queries;
    None: x. float32 where all three are float32 or narrower, otherwise computed in float64; integers and booleans are
    converted to float64.

    kernel: with u the distance divided by the bandwidth, gaussian exp(-u^2/2), laplace exp(-u), epanechnikov
    (1-u^2)+, biweight (1-u^2)+^2, triweight (1-u^2)+^3, tricube (1-u^3)+^3, uniform 1 for u <= 1; softmax is
    exp(q.k / bandwidth^2). kernel_shape: of several dimensions, "radial" takes k of the length of the scaled
    difference, "product" the product of k over the dimensions.
    bandwidth: positive, one for all dimensions or one for each, in units of x; inf leaves a column out; "auto"
    minimises the leave-one-out error, see select_bandwidth.
    leave_one_out: at x, every point without itself (`at` must be None).
    nearest_if_none: where a compact kernel reaches no key, the value of the nearest one instead of NaN.
    relative_error: weights that may be left out of a query's sum, as a share of those in it: every output then lies
    within relative_error times the spread of the values of the exact one, which is what 0 gives. Only gaussian and
    compact kernels of radial shape in up to 8 dimensions use it.
    threads: None uses all cores; the result does not depend on it.

    Raises ValueError on sizes that disagree, no key, NaN or infinity, or a bandwidth that is not positive;
    TypeError on what is no array of real numbers. Zero queries give empty results.
    """
    limit = _arrays.thread_count(threads)
    queries, keys, values, plain = checked_rows(x, y, at, leave_one_out)
    widths = _widths(bandwidth, keys, values[:, 0] if plain else values, kernel, kernel_shape, limit)
    found = _core.estimate(
        queries, keys, values, _arrays.word("kernel", kernel), _arrays.word("kernel_shape", kernel_shape), widths,
        leave_one_out, nearest_if_none, float(relative_error), limit,
    )  # fmt: skip
    return estimate_of(found, plain, leave_one_out, widths)


def checked_rows(
    x: ArrayLike, y: ArrayLike, at: ArrayLike | None, leave_one_out: bool
) -> tuple[_arrays.Array, _arrays.Array, _arrays.Array, bool]:
    """Queries, keys and values as rows of one working type, finite and of sizes that agree; whether y was plain."""
    keys, values = _arrays.numbers("x", x), _arrays.numbers("y", y)
    if leave_one_out and at is not None:
        raise ValueError("at: leave_one_out is defined at x itself; leave `at` out")
    queries = keys if at is None else _arrays.numbers("at", at)
    dtype = _arrays.working_type(keys, values, queries)
    key_rows, value_rows = _arrays.rows("x", keys, dtype), _arrays.rows("y", values, dtype)
    query_rows = key_rows if at is None else _query_rows(queries, keys, dtype)
    _check_sizes(key_rows, value_rows, query_rows)
    for name, given in (("x", keys), ("y", values), *([("at", queries)] if at is not None else [])):
        _arrays.require_finite(name, given)
    return query_rows, key_rows, value_rows, values.ndim == 1


def estimate_of(
    found: tuple[_arrays.Array, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.uint8]],
    plain: bool,
    leave_one_out: bool,
    widths: NDArray[np.float64],
) -> Estimate:
    """The estimate that the extension computed."""
    output, log_normaliser, n_eff, self_weight, status = found
    return Estimate(
        output=output[:, 0] if plain else output,
        n_eff=n_eff,
        log_normaliser=log_normaliser,
        self_weight=self_weight if leave_one_out else None,
        status=_STATUS_WORDS[status],
        bandwidth=widths,
    )


_STATUS_WORDS = np.array(_core.POINT_STATUSES)


def _query_rows(queries: _arrays.Array, keys: _arrays.Array, dtype: type[Any]) -> _arrays.Array:
    if queries.ndim == 0 and keys.ndim == 1:
        queries = queries[np.newaxis]
    if queries.ndim == 1 and keys.ndim == 2 and keys.shape[1] != 1:
        raise ValueError(
            f"at: [m, {keys.shape[1]}] wanted, as x has {keys.shape[1]} columns; its shape is {queries.shape}"
        )
    return _arrays.rows("at", queries, dtype)


def _check_sizes(keys: _arrays.Array, values: _arrays.Array, queries: _arrays.Array) -> None:
    if len(keys) == 0:
        raise ValueError("x: no rows; an estimate needs at least one key")
    if keys.shape[1] == 0:
        raise ValueError("x: no columns")
    if len(values) != len(keys):
        raise ValueError(f"y: {len(values)} rows for {len(keys)} rows of x")
    if queries.shape[1] != keys.shape[1]:
        raise ValueError(f"at: {queries.shape[1]} columns, x has {keys.shape[1]}")


def _widths(
    bandwidth: Any, keys: _arrays.Array, values: _arrays.Array, kernel: KernelName, shape: KernelShape, limit: int
) -> NDArray[np.float64]:
    if isinstance(bandwidth, str):
        if bandwidth != "auto":
            raise ValueError(f"bandwidth: positive numbers or 'auto' wanted, it is '{bandwidth}'")
        return select_bandwidth(keys, values, kernel=kernel, kernel_shape=shape, threads=limit or None).bandwidth
    widths = _arrays.vector("bandwidth", bandwidth)
    if not (widths > 0).all():
        raise ValueError(f"bandwidth: must be positive, it is {widths}")
    dimensions = 1 if keys.ndim == 1 else keys.shape[1]
    if len(widths) not in (1, dimensions):
        raise ValueError(
            f"bandwidth: one or {dimensions} of them wanted for {dimensions} columns, there are {len(widths)}"
        )
    return widths


@dataclass(frozen=True, eq=False)
class SmootherScores:
    """The fit at the training points and its scores; W is the n x n matrix of weights."""

    fit: NDArray[np.float64]
    """[n] W y."""
    loo_residual: NDArray[np.float64]
    """[n] y_i - f^(-i)(x_i), the leave-one-out residual; NaN where w_ii = 1 (no other key in reach)."""
    n_eff: NDArray[np.float64]
    """[n] 1 / sum_j w_ij^2."""
    self_weight: NDArray[np.float64]
    """[n] w_ii."""
    loo: float | None
    """Mean squared leave-one-out residual over the points that have one."""
    gcv: float | None
    """Mean squared residual / (1 - tr W / n)^2."""
    aicc: float | None
    """log(sigma2) + (1 + tr W / n) / (1 - (tr W + 2) / n)."""
    trace: float
    """tr W, the effective degrees of freedom."""
    trace_wwt: float
    """tr W W^T."""
    sigma2: float
    """Mean squared in-sample residual."""
    n_isolated: int
    """Points with w_ii = 1."""


def smoother_scores(
    x: ArrayLike,
    y: ArrayLike,
    *,
    bandwidth: ArrayLike,
    kernel: KernelName = "gaussian",
    kernel_shape: KernelShape = "radial",
    threads: int | None = None,
) -> SmootherScores:
    """Leave-one-out, generalised cross-validation, corrected AIC and degrees of freedom, in one pass and in float64.

    x: [n, d] or [n]; y: [n]; the others as in nadaraya_watson, which also says what is refused.
    """
    limit = _arrays.thread_count(threads)
    keys, values = _table(x, y)
    widths = _widths(bandwidth, keys, values, kernel, kernel_shape, limit)
    kernel_name, shape = _arrays.word("kernel", kernel), _arrays.word("kernel_shape", kernel_shape)
    return SmootherScores(**_core.smoother_scores(keys, values, kernel_name, shape, widths, limit))


def _table(x: ArrayLike, y: ArrayLike) -> tuple[_arrays.Array, NDArray[np.float64]]:
    """Rows of x with one value of y each ([n] or [n, 1]), checked."""
    keys, values = _arrays.rows("x", x, np.float64), _arrays.numbers("y", y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    one_each = _arrays.vector("y", values)
    _check_sizes(keys, one_each, keys)
    _arrays.require_finite("x", keys)
    _arrays.require_finite("y", one_each)
    return keys, one_each


@dataclass(frozen=True, eq=False)
class BandwidthMinimum:
    """One local minimum that the search met."""

    bandwidth: NDArray[np.float64]
    """[d], units of x; inf: the column is irrelevant."""
    value: float
    """The criterion there."""


@dataclass(frozen=True, eq=False)
class BandwidthSelection:
    """The bandwidth that minimises a criterion."""

    bandwidth: NDArray[np.float64]
    """[d], units of x."""
    value: float
    """The criterion there."""
    irrelevant: NDArray[np.bool_]
    """[d] the column does not matter: without it the criterion is no worse (bandwidth inf), or the mean squared
    leave-one-out residual rises by no more than its standard error (bandwidth still the minimiser)."""
    at_edge: NDArray[np.bool_]
    """[d] the search ended on an edge of its bracket."""
    minima: tuple[BandwidthMinimum, ...]
    """Every distinct minimum met, best first."""
    n_evaluations: int
    """How often the criterion was computed."""


def select_bandwidth(
    x: ArrayLike,
    y: ArrayLike,
    *,
    kernel: KernelName = "gaussian",
    kernel_shape: KernelShape = "radial",
    criterion: Criterion = "loo",
    per_dimension: bool = True,
    n_starts: int = 5,
    seed: int = 0,
    threads: int | None = None,
) -> BandwidthSelection:
    """Minimises a criterion over the bandwidths of a Nadaraya-Watson fit on its own data.

    x: [n, d] or [n]; y: [n]. criterion: "loo" (leave-one-out), "gcv" or "aicc", see SmootherScores. per_dimension:
    one bandwidth for each column, otherwise one for all in units of each column's spread. n_starts, seed: starting
    points of the search where there are several bandwidths. Results do not depend on the units of the columns, nor on
    the number of threads.

    Raises ValueError as nadaraya_watson does, and for a constant column.
    """
    limit = _arrays.thread_count(threads)
    keys, values = _table(x, y)
    found = _core.select_bandwidth(
        keys,
        values,
        _arrays.word("kernel", kernel),
        _arrays.word("kernel_shape", kernel_shape),
        _arrays.word("criterion", criterion),
        bool(per_dimension),
        _arrays.integer("n_starts", n_starts, 1, 2**31 - 1),
        _arrays.integer("seed", seed, 0, 2**64 - 1),
        limit,
    )
    return BandwidthSelection(
        bandwidth=found["bandwidth"],
        value=found["value"],
        irrelevant=np.array(found["irrelevant"], dtype=bool),
        at_edge=np.array(found["at_edge"], dtype=bool),
        minima=tuple(BandwidthMinimum(bandwidth, value) for bandwidth, value in found["minima"]),
        n_evaluations=found["n_evaluations"],
    )


@dataclass(frozen=True, eq=False)
class EnsembleLoo:
    """L = mean_i r_i^2, r_i = y_i - sum_h a_h f_h^(-i)(x_i), with its derivatives."""

    loo: float
    """L."""
    residual: NDArray[np.float64]
    """[n] r_i."""
    by_projection: tuple[NDArray[np.float64], ...]
    """For every head [k, d], dL / dprojection."""
    by_log_bandwidth: NDArray[np.float64]
    """[H] dL / d log bandwidth."""
    by_weight: NDArray[np.float64]
    """[H] dL / da_h."""


def ensemble_loo(
    x: ArrayLike,
    y: ArrayLike,
    projections: Sequence[ArrayLike],
    *,
    bandwidth: ArrayLike = 1.0,
    weights: ArrayLike | None = None,
    kernel: Literal["gaussian", "laplace"] = "gaussian",
    kernel_shape: KernelShape = "radial",
    threads: int | None = None,
) -> EnsembleLoo:
    """The leave-one-out error of an ensemble of heads and its derivatives: what learning them needs.

    Head h smooths y [n] over x [n, d] projected by projections[h] [k, d], with its own bandwidth (one number, or
    [H]); weights: a [H], any sign and sum, 1/H each unless given. Time O(n^2 k) per head, memory O(n (H + k)), in
    float64.

    Raises ValueError for fewer than two rows, no head, sizes that disagree, NaN or infinity, a bandwidth that is not
    positive and finite, or another kernel.
    """
    limit = _arrays.thread_count(threads)
    keys, values = _table(x, y)
    frames = [head_rows(f"projections[{h}]", one) for h, one in enumerate(projections)]
    n_heads = len(frames)
    widths = _arrays.vector("bandwidth", bandwidth)
    if len(widths) not in (1, n_heads):
        raise ValueError(f"bandwidth: one or {n_heads} of them wanted for {n_heads} heads, there are {len(widths)}")
    widths = np.ascontiguousarray(np.broadcast_to(widths, n_heads))
    a = np.full(n_heads, 1 / max(n_heads, 1)) if weights is None else _arrays.vector("weights", weights)
    kernel_name, shape = _arrays.word("kernel", kernel), _arrays.word("kernel_shape", kernel_shape)
    return EnsembleLoo(**_core.ensemble_loo(keys, values, frames, widths, a, kernel_name, shape, limit))


def head_rows(name: str, projection: ArrayLike) -> _arrays.Array:
    """[k, d] in float64; one dimension is a projection to one number."""
    array = _arrays.numbers(name, projection)
    return _arrays.rows(name, array[np.newaxis, :] if array.ndim == 1 else array, np.float64)
