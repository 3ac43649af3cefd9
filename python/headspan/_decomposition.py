"""Bias, variance and covariance of an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core
from ._core import Ambiguity, Decomposition, LinkedMoments, Part


def decompose(
    covariance: ArrayLike,
    *,
    noise_variance: float | Part = 1.0,
    bias: ArrayLike | None = None,
    residual: ArrayLike | None = None,
    left_out_covariance: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Decomposition:
    """mean_x of MSE(x) = (sum_h a_h B_h)^2 + sum_hl a_h a_l C_hl, in parts that add up.

    covariance: [..., H, H], as weight_covariance gives it. noise_variance: its factor s2 (1 where the matrices have
    s2_i inside), known, or estimated by residual_noise_variance or neighbour_noise_variance. weights: a [H], 1/H each
    unless given.
    bias: [..., H], B_h = sum_i w_h,i m(x_i) - m(x) where the regression function m is known. Otherwise, with residual
    [n, H], the leave-one-out residuals of every head, and left_out_covariance [n, H, H], see
    leave_one_out_covariance, the squared bias is estimated; it may be negative, and has a standard error. Rows of
    residual with a NaN are left out and counted.

    Raises ValueError on shapes that disagree, on what is not finite, on a negative noise variance, and on weights of
    another sum than one where a bias is asked for.
    """
    flat, heads = _by_row("covariance", covariance)
    noise = noise_variance if isinstance(noise_variance, Part) else _core.part(float(noise_variance), None, False)
    return _core.decompose(
        flat,
        noise,
        None if bias is None else _last_axis("bias", bias, heads),
        None if residual is None else _last_axis("residual", residual, heads),
        None if left_out_covariance is None else _by_row("left_out_covariance", left_out_covariance)[0],
        _arrays.optional_vector("weights", weights),
    )


def leave_one_out_covariance(covariance: ArrayLike, self_weight: ArrayLike) -> NDArray[np.float64]:
    """Covariances [n, H, H] of the leave-one-out weights, from those [n, H, H] of the weights at the training points
    for noise variance 1 and the self-weights [n, H]: (C_hl - w_h,ii w_l,ii) / ((1 - w_h,ii)(1 - w_l,ii)).

    NaN where a self-weight is 1. Raises ValueError on shapes that disagree.
    """
    flat, heads = _by_row("covariance", covariance)
    found = _core.leave_one_out_covariance(flat, _last_axis("self_weight", self_weight, heads))
    return found.reshape(len(found), heads, heads)


def residual_noise_variance(residual: ArrayLike, trace: float, trace_wwt: float) -> Part:
    """s2 = sum residual^2 / (n - 2 tr W + tr W W^T) from the in-sample residuals [n] of a fit with smoother matrix W.

    Unbiased where the fit is, too large otherwise. Raises ValueError where the divisor is not positive.
    """
    return _core.residual_noise_variance(_arrays.vector("residual", residual), float(trace), float(trace_wwt))


def neighbour_noise_variance(x: ArrayLike, y: ArrayLike, *, threads: int | None = None) -> Part:
    """s2 = mean_i (y_i - y_j(i))^2 / 2, j(i) the nearest neighbour of i in units of each column's spread.

    Needs no fit; too large by half the mean squared change of the regression function between neighbours. x: [n, d]
    or [n]; y: [n]. Raises ValueError on fewer than two points, sizes that disagree, or what is not finite.
    """
    limit = _arrays.thread_count(threads)
    return _core.neighbour_noise_variance(_arrays.rows("x", x, np.float64), _arrays.vector("y", y), limit)


def decompose_replicates(
    predictions: ArrayLike, truth: ArrayLike, *, weights: ArrayLike | None = None
) -> Decomposition:
    """The decomposition by Monte Carlo: predictions [R, H, m] of H members at m points after each of R >= 3 training
    sets, truth [m] the regression function, weights [H] with sum one.

    Every part is estimated without bias and has a jackknife standard error; they add up to the mean squared error.
    """
    return _core.decompose_replicates(
        _replicates(predictions), _arrays.vector("truth", truth), _arrays.optional_vector("weights", weights)
    )


def linked_moments(predictions: ArrayLike, truth: ArrayLike) -> LinkedMoments:
    """The moments of predictions [R, H, m] that are linked by identities, each from its definition:

    mean_squared_bias = squared_bias + disparity, mean_variance = variance + diversity - disparity,
    diversity = disparity + (1 - 1/H)(mean_variance - cbar).
    """
    return _core.linked_moments(_replicates(predictions), _arrays.vector("truth", truth))


def ambiguity(predictions: ArrayLike, y: ArrayLike, *, weights: ArrayLike | None = None) -> Ambiguity:
    """Krogh-Vedelsby: (F - y)^2 = sum_h a_h (f_h - y)^2 - sum_h a_h (f_h - F)^2, means over the points.

    predictions: [H, m]; y: [m]; weights: [H] with sum one, 1/H each unless given.
    """
    return _core.ambiguity(
        _arrays.rows("predictions", predictions, np.float64),
        _arrays.vector("y", y),
        _arrays.optional_vector("weights", weights),
    )


def _by_row(name: str, matrices: Any) -> tuple[_arrays.Array, int]:
    """[..., H, H] as [points, H * H], and H."""
    array = _arrays.numbers(name, matrices)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        raise ValueError(f"{name}: [..., H, H] wanted, its shape is {array.shape}")
    heads = array.shape[-1]
    return np.ascontiguousarray(array, dtype=np.float64).reshape(-1, heads * heads), heads


def _last_axis(name: str, values: Any, heads: int) -> _arrays.Array:
    """[..., H] as [points, H]."""
    array = _arrays.numbers(name, values)
    if array.ndim == 0 or array.shape[-1] != heads:
        raise ValueError(f"{name}: [..., {heads}] wanted, its shape is {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(-1, heads)


def _replicates(predictions: Any) -> list[_arrays.Array]:
    array = _arrays.numbers("predictions", predictions)
    if array.ndim != 3:
        raise ValueError(f"predictions: [replicates, members, points] wanted, its shape is {array.shape}")
    return list(np.ascontiguousarray(array, dtype=np.float64))
