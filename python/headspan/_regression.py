"""Nadaraya-Watson regression: estimates, smoothing scores, bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _categories, _core
from ._bandwidth import KernelName, KernelShape, check_sizes, smoothing, table
from ._categories import CategoryKernelName

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
    lambda_: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """[c] the lambda used of every column of categories."""


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
    categories: ArrayLike | None = None,
    at_categories: ArrayLike | None = None,
    category_kernel: CategoryKernelName | Sequence[CategoryKernelName] = "aitchison_aitken",
    category_levels: Sequence[Sequence[Any] | None] | None = None,
    lambda_: ArrayLike | Literal["auto"] = "auto",
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
    categories: [n] or [n, c], words or integers, the levels of c further columns; at_categories: [m] or [m, c], those of
    the queries, given with `at` (x of shape [n, 0] has no column of numbers; `at` may then be left out). Weights are
    multiplied by one category kernel per column; with lambda l, c levels and r the distance of two ordered levels, in
    levels: aitchison_aitken 1 - l if equal, l / (c - 1) if not, l up to (c - 1) / c; li_racine 1, l; and of ordered
    levels wang_van_ryzin 1 - l, (1 - l) l^r / 2; li_racine_ordered l^r, these with l up to 1. At l = 0 only equal
    levels count; at the largest l the column does not matter, but for wang_van_ryzin.
    category_kernel: one name for all columns or one for each. category_levels: for each column None (its levels
    sorted, or as an ordered dtype states them) or all its levels in order, those that no row has included, which
    matters to ordered ones. lambda_: [c], or one for all; "auto" with
    bandwidth "auto": they are chosen together. An unordered level that no row has differs from all of them. Computed in
    float64, exact whatever relative_error; with lambda 0 a query may have no neighbour under any kernel.
    threads: None uses all cores; the result does not depend on it.

    Raises ValueError on sizes that disagree, no key, NaN or infinity, a bandwidth that is not positive, a lambda outside
    its range, a missing level, or a query's ordered level that no row has; TypeError on what is no array of real numbers,
    or levels that are neither words nor integers. Zero queries give empty results.
    """
    limit = _arrays.thread_count(threads)
    levels = _categories.encode(categories, category_kernel, category_levels)
    at, query_codes = _categories.queries(levels, at, at_categories, leave_one_out)
    queries, keys, values, plain = checked_rows(x, y, at, leave_one_out, may_be_empty=levels.n_columns > 0)
    levels.check_rows(len(keys), len(queries), query_codes)
    plain_values = values[:, 0] if plain else values
    kernel_name, shape = _arrays.word("kernel", kernel), _arrays.word("kernel_shape", kernel_shape)
    widths, lambdas = smoothing(bandwidth, lambda_, keys, plain_values, levels, kernel_name, shape, limit)
    if levels.n_columns == 0:
        found = _core.estimate(
            queries, keys, values, kernel_name, shape, widths,
            leave_one_out, nearest_if_none, float(relative_error), limit,
        )  # fmt: skip
        return estimate_of(found, plain, leave_one_out, widths)
    wide = [_arrays.rows("x", one, np.float64) for one in (queries, keys, values)]
    found = _core.estimate_with_categories(
        wide[0], wide[1], wide[2], kernel_name, shape, widths, leave_one_out, nearest_if_none, float(relative_error),
        levels.codes, levels.kernels, levels.counts, query_codes, lambdas, limit,
    )  # fmt: skip
    return replace(estimate_of(found, plain, leave_one_out, widths), lambda_=lambdas)


def checked_rows(
    x: ArrayLike, y: ArrayLike, at: ArrayLike | None, leave_one_out: bool, may_be_empty: bool = False
) -> tuple[_arrays.Array, _arrays.Array, _arrays.Array, bool]:
    """Queries, keys and values as rows of one working type, finite and of sizes that agree; whether y was plain."""
    keys, values = _arrays.numbers("x", x), _arrays.numbers("y", y)
    if leave_one_out and at is not None:
        raise ValueError("at: leave_one_out is defined at x itself; leave `at` out")
    queries = keys if at is None else _arrays.numbers("at", at)
    dtype = _arrays.working_type(keys, values, queries)
    key_rows, value_rows = _arrays.rows("x", keys, dtype), _arrays.rows("y", values, dtype)
    query_rows = key_rows if at is None else _query_rows(queries, keys, dtype)
    check_sizes(key_rows, value_rows, query_rows, may_be_empty)
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
    keys, values = table(x, y)
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
