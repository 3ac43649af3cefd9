"""Heads in their own projections against weights written out in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headspan

RNG = np.random.default_rng(5)
X = RNG.standard_normal((80, 4))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(80)
AT = RNG.standard_normal((9, 4))
FRAMES = [RNG.standard_normal((2, 4)), None, RNG.standard_normal((1, 4))]
WIDTHS: list[Any] = [0.8, [1.0, 1.5, 2.0, 0.9], 0.7]


def weights(at: NDArray[np.float64], leave_one_out: bool = False) -> NDArray[np.float64]:
    """[H, m, n] gaussian weights."""
    out = []
    for frame, width in zip(FRAMES, WIDTHS, strict=True):
        p = np.eye(4) if frame is None else frame
        u = ((at @ p.T)[:, None, :] - (X @ p.T)[None]) / np.asarray(width)
        w = np.exp(-0.5 * (u**2).sum(-1))
        if leave_one_out:
            np.fill_diagonal(w, 0.0)
        out.append(w / w.sum(1, keepdims=True))
    return np.array(out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outputs_and_covariance_of_heads(dtype: type[Any]) -> None:
    s2 = np.linspace(0.5, 2.0, 80)
    found = headspan.estimate_heads(
        X.astype(dtype), Y.astype(dtype), AT.astype(dtype), projections=FRAMES, bandwidth=WIDTHS, noise_variance=s2
    )
    w = weights(AT)
    tolerance = 1e-4 if dtype is np.float32 else 1e-11
    assert found.covariance is not None
    np.testing.assert_allclose(found.covariance, np.einsum("hmn,lmn,n->mhl", w, w, s2), rtol=tolerance)
    for head, one in zip(w, found.heads, strict=True):
        np.testing.assert_allclose(one.output, head @ Y, rtol=0, atol=tolerance)


def test_leave_one_out_centred_average() -> None:
    found = headspan.estimate_heads(
        X, Y, projections=FRAMES, bandwidth=WIDTHS, leave_one_out=True, centred=True, average=True
    )
    w = weights(X, leave_one_out=True) - 1 / 79 * (1 - np.eye(80))
    assert found.covariance is not None
    np.testing.assert_allclose(found.covariance, np.einsum("hmn,lmn->mhl", w, w).mean(0), atol=1e-13)


def test_without_covariance_and_one_bandwidth_for_all() -> None:
    found = headspan.estimate_heads(X, Y, AT, projections=[None, None], bandwidth=0.9, covariance=False)
    assert found.covariance is None
    alone = headspan.nadaraya_watson(X, Y, AT, bandwidth=0.9)
    np.testing.assert_array_equal(found.heads[1].output, alone.output)


@pytest.mark.parametrize(
    ("word", "arguments"),
    [
        ("heads", {"projections": []}),
        ("projection", {"projections": [np.eye(3)]}),
        ("bandwidth", {"projections": [None], "bandwidth": [0.0]}),
        ("bandwidth", {"projections": [None, None], "bandwidth": [1.0, 1.0, 1.0]}),
        ("noise_variance", {"projections": [None], "noise_variance": [-1.0]}),
    ],
)
def test_bad_input(word: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=word):
        headspan.estimate_heads(X, Y, AT, **arguments)


def test_bandwidths_of_one_head_and_of_a_matrix() -> None:
    listed = headspan.estimate_heads(X, Y, AT, projections=[None], bandwidth=[0.9] * X.shape[1])
    single = headspan.estimate_heads(X, Y, AT, projections=[None], bandwidth=0.9)
    np.testing.assert_array_equal(listed.heads[0].output, single.heads[0].output)
    width = X.shape[1]
    table = headspan.estimate_heads(X, Y, AT, projections=[None, None], bandwidth=np.full((2, width), 0.9))
    np.testing.assert_array_equal(table.heads[1].output, single.heads[0].output)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_projected_inputs_far_from_zero(offset: float) -> None:
    random = np.random.default_rng(1)
    x = (offset + random.normal(size=(50, 4))).astype(np.float32)
    y = random.normal(size=50).astype(np.float32)
    p = random.normal(size=(2, 4))
    found = headspan.estimate_heads(x, y, x, projections=[p], bandwidth=0.7)
    z = (x.astype(np.float64) - offset) @ p.T
    w = np.exp(-0.5 * ((z[:, None] - z) ** 2).sum(-1) / 0.49)
    np.testing.assert_allclose(found.heads[0].output, w @ y / w.sum(1), atol=1e-5)


def test_two_widths_for_three_heads_are_neither_one_thing_nor_the_other() -> None:
    frames = [np.eye(2, 4)] * 3
    with pytest.raises(ValueError, match=r"one number or 3, one per head"):
        headspan.estimate_heads(X, Y, AT, projections=frames, bandwidth=[0.5, 2.0])
    shared = headspan.estimate_heads(X, Y, AT, projections=frames, bandwidth=[[0.5, 2.0]])
    each = headspan.estimate_heads(X, Y, AT, projections=frames, bandwidth=[[0.5, 2.0]] * 3)
    np.testing.assert_array_equal(shared.heads[2].output, each.heads[2].output)
