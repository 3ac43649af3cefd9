"""Frames that make heads diverse, and the penalty that pushes them apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core


@dataclass(frozen=True)
class DiverseFrames:
    """Frames of least mean overlap."""

    frames: NDArray[np.float64]
    """[H, k, d], orthonormal rows within each head."""
    mean_overlap: float
    """mean over pairs of |U_h U_l^T|_F^2 / k."""
    bound: float
    """The least that H subspaces of dimension k in R^d can have."""
    gap: float
    """mean_overlap - bound."""
    status: str
    """"orthogonal", "tight", "no tight frame" or "not converged"."""
    n_evaluations: int


@dataclass(frozen=True)
class DiversityPenalty:
    """Mean overlap of heads, as a function of their raw weights."""

    value: float
    gradient: NDArray[np.float64]
    """[H, k, d], by the weights."""


def diverse_frames(
    n_heads: int, head_dim: int, d: int, *, seed: int = 0, tolerance: float = 1e-9, max_evaluations: int = 2000
) -> DiverseFrames:
    """Frames of `n_heads` subspaces of dimension `head_dim` in R^d that overlap as little as they can.

    Orthogonal where they fit (n_heads * head_dim <= d). Otherwise the penalty is minimised from a random start; the
    bound is reached where a tight fusion frame exists, see tight_frame_exists. Deterministic for a seed. Raises
    ValueError on dimensions that are not positive or exceed d.
    """
    n_heads, head_dim, d = _dimensions(n_heads, head_dim, d)
    found = _core.diverse_frames(
        n_heads,
        head_dim,
        d,
        _arrays.seed_number(seed),
        _arrays.number("tolerance", tolerance),
        _arrays.integer("max_evaluations", max_evaluations, -(2**31), 2**31 - 1),
    )
    return DiverseFrames(found[0].reshape(n_heads, head_dim, d), *found[1:])


def random_frames(n_heads: int, head_dim: int, d: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Orthonormal bases [H, k, d] of independent uniformly random subspaces."""
    n_heads, head_dim, d = _dimensions(n_heads, head_dim, d)
    return _core.random_frames(n_heads, head_dim, d, _arrays.seed_number(seed)).reshape(n_heads, head_dim, d)


def equal_angle_frames(n_heads: int, head_dim: int, cosine: float) -> NDArray[np.float64]:
    """Frames [H, k, k (H + 1)] of which every two have all principal angles equal to arccos(cosine)."""
    n_heads, head_dim = _arrays.count("n_heads", n_heads), _arrays.count("head_dim", head_dim)
    stacked = _core.equal_angle_frames(n_heads, head_dim, _arrays.number("cosine", cosine))
    return stacked.reshape(n_heads, head_dim, stacked.shape[1])


def tight_frame_exists(n_heads: int, head_dim: int, d: int) -> bool:
    """Whether H subspaces of dimension k in R^d exist whose projectors sum to a multiple of the identity."""
    return _core.tight_frame_exists(*_dimensions(n_heads, head_dim, d))


def least_mean_overlap(n_heads: int, head_dim: int, d: int) -> float:
    """max(0, (H k / d - 1) / (H - 1)); 0 for one head."""
    return _core.least_mean_overlap(*_dimensions(n_heads, head_dim, d))


def diversity_penalty(weights: ArrayLike) -> DiversityPenalty:
    """P = mean over pairs of |U_h U_l^T|_F^2 / k for raw weights [H, k, d], U_h a basis of the rows of head h.

    Blind to a change of basis within a head. Raises ValueError on another shape, k > d, and rows of a head that are
    linearly dependent, where there is no gradient.
    """
    array = _arrays.numbers("weights", weights)
    if array.ndim != 3:
        raise ValueError(f"weights: [heads, head_dim, d] wanted, its shape is {array.shape}")
    n_heads, head_dim, d = array.shape
    stacked = np.ascontiguousarray(array, dtype=np.float64).reshape(n_heads * head_dim, d)
    value, gradient = _core.diversity_penalty(stacked, n_heads)
    return DiversityPenalty(value, gradient.reshape(n_heads, head_dim, d))


def _dimensions(n_heads: int, head_dim: int, d: int) -> tuple[int, int, int]:
    return _arrays.count("n_heads", n_heads), _arrays.count("head_dim", head_dim), _arrays.count("d", d)
