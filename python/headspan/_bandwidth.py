"""The smoothing of a Nadaraya-Watson fit: its scores, and the bandwidths and lambdas that minimise them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _categories, _core
from ._categories import CategoryKernelName, Levels

KernelName = Literal["gaussian", "softmax", "laplace", "epanechnikov", "biweight", "triweight", "tricube", "uniform"]
KernelShape = Literal["radial", "product"]
Criterion = Literal["loo", "gcv", "aicc"]

_N_STARTS = 5


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
    categories: ArrayLike | None = None,
    category_kernel: CategoryKernelName | Sequence[CategoryKernelName] = "aitchison_aitken",
    category_levels: Sequence[Sequence[Any] | None] | None = None,
    lambda_: ArrayLike = (),
    threads: int | None = None,
) -> SmootherScores:
    """Leave-one-out, generalised cross-validation, corrected AIC and degrees of freedom, in one pass and in float64.

    x: [n, d] or [n]; y: [n]; the others as in nadaraya_watson, which also says what is refused. lambda_: given where
    there are categories.
    """
    limit = _arrays.thread_count(threads)
    levels = _categories.encode(categories, category_kernel, category_levels)
    keys, values = table(x, y, levels)
    widths = numbers_of_widths(bandwidth, keys)
    lambdas = levels.lambdas(lambda_)
    kernel_name, shape = _arrays.word("kernel", kernel), _arrays.word("kernel_shape", kernel_shape)
    found = _core.smoother_scores(
        keys, values, kernel_name, shape, widths, levels.codes, levels.kernels, levels.counts, lambdas, limit
    )
    return SmootherScores(**found)


def table(x: ArrayLike, y: ArrayLike, levels: Levels | None = None) -> tuple[_arrays.Array, NDArray[np.float64]]:
    """Rows of x with one value of y each ([n] or [n, 1]), checked."""
    keys, values = _arrays.rows("x", x, np.float64), _arrays.numbers("y", y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    one_each = _arrays.vector("y", values)
    check_sizes(keys, one_each, keys, may_be_empty=levels is not None and levels.n_columns > 0)
    if levels is not None:
        levels.check_rows(len(keys))
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
    lambda_: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """[c] of the columns of categories."""


@dataclass(frozen=True, eq=False)
class BandwidthSelection:
    """The bandwidths, and lambdas of categories, that minimise a criterion."""

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
    lambda_: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """[c] of the columns of categories; at its largest value a column is left out."""
    irrelevant_category: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    """[c] the same as irrelevant, of the columns of categories."""


def select_bandwidth(
    x: ArrayLike,
    y: ArrayLike,
    *,
    kernel: KernelName = "gaussian",
    kernel_shape: KernelShape = "radial",
    criterion: Criterion = "loo",
    per_dimension: bool = True,
    n_starts: int = _N_STARTS,
    seed: int = 0,
    categories: ArrayLike | None = None,
    category_kernel: CategoryKernelName | Sequence[CategoryKernelName] = "aitchison_aitken",
    category_levels: Sequence[Sequence[Any] | None] | None = None,
    threads: int | None = None,
) -> BandwidthSelection:
    """Minimises a criterion over the bandwidths of a Nadaraya-Watson fit on its own data.

    x: [n, d] or [n]; y: [n]. criterion: "loo" (leave-one-out), "gcv" or "aicc", see SmootherScores. per_dimension:
    one bandwidth for each column, otherwise one for all in units of each column's spread. n_starts, seed: starting
    points of the search where there are several bandwidths. The search goes down to a tenth of the median gap between
    adjacent values, to 0.6 of it where a quarter of the rows repeat another, and to 0.2 where every distinct row stands
    for ten on average; at_edge says where it ended there. gcv is not followed where tr W exceeds 0.9 n. Results do not depend on the units of the columns, nor on
    the number of threads. categories, category_kernel, category_levels: as in nadaraya_watson; their lambdas, down to
    1e-8 of the largest, are chosen with the bandwidths.

    Raises ValueError as nadaraya_watson does, for a constant column, and for a column of categories with one level.
    """
    limit = _arrays.thread_count(threads)
    levels = _categories.encode(categories, category_kernel, category_levels)
    keys, values = table(x, y, levels)
    found = _core.select_bandwidth(
        keys,
        values,
        _arrays.word("kernel", kernel),
        _arrays.word("kernel_shape", kernel_shape),
        _arrays.word("criterion", criterion),
        bool(per_dimension),
        _arrays.integer("n_starts", n_starts, 1, 2**31 - 1),
        _arrays.integer("seed", seed, 0, 2**64 - 1),
        levels.codes,
        levels.kernels,
        levels.counts,
        limit,
    )
    return BandwidthSelection(
        bandwidth=found["bandwidth"],
        value=found["value"],
        irrelevant=np.array(found["irrelevant"], dtype=bool),
        at_edge=np.array(found["at_edge"], dtype=bool),
        minima=tuple(BandwidthMinimum(*one) for one in found["minima"]),
        n_evaluations=found["n_evaluations"],
        lambda_=found["lambda"],
        irrelevant_category=np.array(found["irrelevant_category"], dtype=bool),
    )


def smoothing(
    bandwidth: Any,
    lambda_: Any,
    keys: _arrays.Array,
    values: _arrays.Array,
    levels: Levels,
    kernel: str,
    shape: str,
    limit: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The bandwidths and lambdas asked for; where both are to be chosen, chosen together."""
    is_chosen, is_lambda_chosen = _is_auto("bandwidth: positive", bandwidth), _is_auto("lambda_:", lambda_)
    if keys.shape[1] == 0:
        is_chosen = is_lambda_chosen
    elif levels.n_columns > 0 and is_chosen != is_lambda_chosen:
        raise ValueError("bandwidth and lambda_ are chosen together: give both, or leave both 'auto'")
    if not is_chosen:
        return numbers_of_widths(bandwidth, keys), levels.lambdas(() if is_lambda_chosen else lambda_)
    rows, one_each = table(keys, values, levels)
    found = _core.select_bandwidth(
        rows, one_each, kernel, shape, "loo", True, _N_STARTS, 0, levels.codes, levels.kernels, levels.counts, limit
    )
    return found["bandwidth"], found["lambda"]


def _is_auto(wanted: str, value: Any) -> bool:
    if isinstance(value, str) and value != "auto":
        raise ValueError(f"{wanted} numbers or 'auto' wanted, it is '{value}'")
    return isinstance(value, str)


def numbers_of_widths(bandwidth: Any, keys: _arrays.Array) -> NDArray[np.float64]:
    """[1] or [d], positive; of categories alone none."""
    dimensions = keys.shape[1]
    if dimensions == 0:
        return np.empty(0)
    widths = _arrays.vector("bandwidth", bandwidth)
    if not (widths > 0).all():
        raise ValueError(f"bandwidth: must be positive, it is {widths}")
    if len(widths) not in (1, dimensions):
        raise ValueError(
            f"bandwidth: one or {dimensions} of them wanted for {dimensions} columns, there are {len(widths)}"
        )
    return widths


def check_sizes(keys: _arrays.Array, values: _arrays.Array, queries: _arrays.Array, may_be_empty: bool = False) -> None:
    """may_be_empty: x without a column is fine, since there are categories."""
    if len(keys) == 0:
        raise ValueError("x: no rows; an estimate needs at least one key")
    if keys.shape[1] == 0 and not may_be_empty:
        raise ValueError("x: no columns")
    if len(values) != len(keys):
        raise ValueError(f"y: {len(values)} rows for {len(keys)} rows of x")
    if queries.shape[1] != keys.shape[1]:
        raise ValueError(f"at: {queries.shape[1]} columns, x has {keys.shape[1]}")
