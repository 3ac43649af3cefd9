"""Several heads, each a Nadaraya-Watson estimate in its own projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core
from ._bandwidth import KernelName, KernelShape
from ._regression import Estimate, checked_rows, estimate_of, head_rows


@dataclass(frozen=True, eq=False)
class HeadsEstimate:
    """Estimates of H heads at m queries, and the covariance of their outputs."""

    heads: tuple[Estimate, ...]
    """One estimate per head."""
    covariance: NDArray[np.float64] | None
    """[m, H, H], or [H, H] averaged: C_hl = sum_i s2_i w_h,i w_l,i; NaN without a neighbour. None unless asked for."""


def estimate_heads(
    x: ArrayLike,
    y: ArrayLike,
    at: ArrayLike | None = None,
    *,
    projections: Sequence[ArrayLike | None],
    bandwidth: ArrayLike | Sequence[ArrayLike] = 1.0,
    kernel: KernelName = "gaussian",
    kernel_shape: KernelShape = "radial",
    leave_one_out: bool = False,
    covariance: bool = True,
    noise_variance: ArrayLike | None = None,
    centred: bool = False,
    average: bool = False,
    threads: int | None = None,
) -> HeadsEstimate:
    """Every head's estimate of y at the queries, and the exact covariance of the heads given the noise of y.

    x [n, d], y [n] or [n, value_dim], at [m, d] as in nadaraya_watson. projections: per head [k, d], or None for the
    inputs as they are. bandwidth: one number for all heads, one per head, or per head a list of one or k
    (for one head, one or k numbers; [[h1, ..., hk]] for k that all heads share).
    noise_variance: s2 of y, one number or [n]; 1 unless given. centred: less the variance of the grand mean,
    1 / sum_i 1/s2_i, which no weights can decorrelate. average: the mean over the queries that have a neighbour in
    every head. leave_one_out: at x, every point without itself. O((m + n) H k) memory.

    Raises as nadaraya_watson does, and ValueError on no head, a projection of another width, or noise variances that
    are not positive and finite.
    """
    limit = _arrays.thread_count(threads)
    queries, keys, values, plain = checked_rows(x, y, at, leave_one_out)
    frames = [
        np.empty((0, keys.shape[1])) if one is None else head_rows(f"projections[{h}]", one)
        for h, one in enumerate(projections)
    ]
    noise = _arrays.optional_vector("noise_variance", noise_variance)
    widths = _widths(bandwidth, len(frames))
    found, matrices = _core.estimate_heads(
        queries, keys, values, frames, widths, _arrays.word("kernel", kernel),
        _arrays.word("kernel_shape", kernel_shape), leave_one_out, covariance, noise, centred, average, limit,
    )  # fmt: skip
    n_heads = len(frames)
    shaped = matrices.reshape(-1, n_heads, n_heads) if covariance else None
    return HeadsEstimate(
        heads=tuple(estimate_of(one, plain, leave_one_out, h) for one, h in zip(found, widths, strict=True)),
        covariance=shaped[0] if shaped is not None and average else shaped,
    )


def _widths(bandwidth: ArrayLike | Sequence[ArrayLike], n_heads: int) -> list[NDArray[np.float64]]:
    """One bandwidth vector per head."""
    if isinstance(bandwidth, np.ndarray) and bandwidth.ndim == 2:
        bandwidth = list(bandwidth)
    if isinstance(bandwidth, (list, tuple)) and any(np.ndim(one) > 0 for one in bandwidth):
        if len(bandwidth) not in (1, n_heads):
            raise ValueError(f"bandwidth: one or {n_heads} of them wanted, there are {len(bandwidth)}")
        each = [_arrays.vector("bandwidth", one) for one in bandwidth]
        return each * n_heads if len(each) == 1 else each
    shared = _arrays.vector("bandwidth", bandwidth)
    if n_heads == 1 or len(shared) == 1:
        return [shared] * n_heads
    if len(shared) != n_heads:
        raise ValueError(
            f"bandwidth: one number or {n_heads}, one per head, wanted, there are {len(shared)}; [[h1, ..., hk]] gives "
            "every head the same k"
        )
    return [shared[h : h + 1] for h in range(n_heads)]
