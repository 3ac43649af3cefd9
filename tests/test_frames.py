"""Frames that make heads diverse, against definitions in numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headspan

Array = NDArray[np.float64]


def mean_overlap(weights: Array) -> float:
    """mean over pairs of tr(P_h P_l) / k, P_h the projector onto the rows of head h."""
    projectors = [w.T @ np.linalg.inv(w @ w.T) @ w for w in weights]
    pairs = [float(np.trace(p @ q)) for p, q in itertools.combinations(projectors, 2)]
    return sum(pairs) / len(pairs) / int(weights.shape[1])


@pytest.mark.parametrize(("n_heads", "head_dim", "d"), [(3, 2, 3), (6, 4, 9), (8, 4, 16), (16, 8, 48)])
def test_tight_frames_reach_the_bound(n_heads: int, head_dim: int, d: int) -> None:
    found = headspan.diverse_frames(n_heads, head_dim, d)
    bound = (n_heads * head_dim / d - 1) / (n_heads - 1)
    assert found.status == "tight" and headspan.tight_frame_exists(n_heads, head_dim, d)
    assert found.bound == pytest.approx(bound) == headspan.least_mean_overlap(n_heads, head_dim, d)
    assert mean_overlap(found.frames) == pytest.approx(bound, abs=1e-6)
    for frame in found.frames:
        np.testing.assert_allclose(frame @ frame.T, np.eye(head_dim), atol=1e-12)


def test_heads_that_fit_are_orthogonal() -> None:
    found = headspan.diverse_frames(4, 3, 13, seed=2)
    stacked = found.frames.reshape(12, 13)
    np.testing.assert_allclose(stacked @ stacked.T, np.eye(12), atol=1e-13)
    assert (found.status, found.gap) == ("orthogonal", 0.0)


def test_two_planes_in_space_share_a_line() -> None:
    found = headspan.diverse_frames(2, 2, 3)
    assert found.status == "no tight frame" and not headspan.tight_frame_exists(2, 2, 3)
    assert found.mean_overlap == pytest.approx(0.5)


def test_penalty_and_its_gradient() -> None:
    weights = np.random.default_rng(1).standard_normal((4, 3, 7))
    found = headspan.diversity_penalty(weights)
    assert found.value == pytest.approx(mean_overlap(weights), rel=1e-12)
    direction = np.random.default_rng(2).standard_normal(weights.shape)
    step = 1e-6
    slope = (mean_overlap(weights + step * direction) - mean_overlap(weights - step * direction)) / (2 * step)
    assert (found.gradient * direction).sum() == pytest.approx(slope, rel=1e-6)


def test_random_and_equal_angle_frames() -> None:
    frames = headspan.random_frames(200, 2, 6, seed=3)
    np.testing.assert_allclose(
        np.einsum("hid,hjd->hij", frames, frames), np.broadcast_to(np.eye(2), (200, 2, 2)), atol=1e-13
    )
    assert mean_overlap(frames) == pytest.approx(2 / 6, abs=0.01)
    u, v, w = headspan.equal_angle_frames(3, 2, 0.3)
    np.testing.assert_allclose([u @ v.T, u @ w.T, v @ w.T], np.broadcast_to(0.3 * np.eye(2), (3, 2, 2)), atol=1e-15)


TROUBLE: dict[str, tuple[Any, str]] = {
    "too wide": (lambda: headspan.diverse_frames(2, 5, 4), "2 heads of dimension 5 in 4"),
    "no head": (lambda: headspan.random_frames(0, 1, 4), "at least one head"),
    "cosine": (lambda: headspan.equal_angle_frames(2, 1, 1.5), "must lie in"),
    "shape": (lambda: headspan.diversity_penalty(np.eye(3)), r"\[heads, head_dim, d\] wanted"),
    "rank": (lambda: headspan.diversity_penalty(np.ones((2, 2, 3))), "head 0 are linearly dependent"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(name: str) -> None:
    act, words = TROUBLE[name]
    with pytest.raises(ValueError, match=words):
        act()


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match="n_heads: an integer wanted, not float"):
        headspan.diverse_frames(2.5, 1, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tolerance: a number wanted, not str"):
        headspan.diverse_frames(2, 1, 3, tolerance="small")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="d: an integer wanted, not str"):
        headspan.random_frames(2, 1, "3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cosine: a number wanted"):
        headspan.equal_angle_frames(2, 1, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed: at least 0"):
        headspan.random_frames(2, 1, 3, seed=-1)
