"""headspan.decompose and its companions beside the definitions in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headspan
from oracle import weighted_means

Array = NDArray[Any]
N = 50
SIGMA2 = 0.09


def smoothers() -> tuple[Array, Array, Array]:
    """Inputs [n, 2], truth [n], and the weights [3, n, n] of three heads: either coordinate, and their sum."""
    x = np.random.default_rng(1).uniform(size=(N, 2))
    seen = [x[:, :1], x[:, 1:], x.sum(1, keepdims=True)]
    weights = [
        weighted_means.estimate("gaussian", "radial", u, u, x, np.array([0.15 * (1 + h)])).weights
        for h, u in enumerate(seen)
    ]
    return x, np.sin(4 * x[:, 0]) + x[:, 1], np.stack(weights)


def test_known_noise_and_truth_are_decomposed_exactly() -> None:
    _, truth, w = smoothers()
    covariance = np.einsum("hij,lij->ihl", w, w)
    bias = (np.einsum("hij,j->ih", w, truth).T - truth).T
    for weights in (None, np.array([0.6, 0.5, -0.1])):
        a = np.full(3, 1 / 3) if weights is None else weights
        found = headspan.decompose(covariance, noise_variance=SIGMA2, bias=bias, weights=weights)
        total = SIGMA2 * np.einsum("ihl,h,l->i", covariance, a, a).mean()
        own = SIGMA2 * np.einsum("ihh,h->i", covariance, a**2).mean()
        assert found.squared_bias is not None and found.mse is not None
        assert found.squared_bias.value == pytest.approx(((bias @ a) ** 2).mean(), rel=1e-12)
        assert found.variance.value == pytest.approx(own, rel=1e-12)
        assert found.covariance.value == pytest.approx(total - own, rel=1e-10)
        parts = found.squared_bias.value + found.variance.value + found.covariance.value
        assert found.mse.value == pytest.approx(parts, rel=1e-15)
        assert found.mse.origin == "exact" and found.n_points == N
    mean = covariance.mean(0)
    off_diagonal = (mean.sum() - np.trace(mean)) / 6
    assert found.vbar == pytest.approx(SIGMA2 * np.trace(mean) / 3)
    assert found.cbar == pytest.approx(SIGMA2 * off_diagonal)
    assert found.hdi == pytest.approx(1 - off_diagonal / (np.trace(mean) / 3))


def test_unknown_truth_is_estimated_from_leave_one_out_residuals() -> None:
    x, truth, w = smoothers()
    y = truth + np.sqrt(SIGMA2) * np.random.default_rng(2).normal(size=N)
    own = np.einsum("hii->ih", w)
    without = w * (1 - np.eye(N))
    without /= without.sum(-1, keepdims=True)
    residual = y[:, None] - np.einsum("hij,j->ih", without, y)
    left_out = headspan.leave_one_out_covariance(np.einsum("hij,lij->ihl", w, w), own)
    np.testing.assert_allclose(left_out, np.einsum("hij,lij->ihl", without, without), rtol=1e-11)
    noise = headspan.neighbour_noise_variance(x, y)
    found = headspan.decompose(
        np.einsum("hij,lij->ihl", w, w), noise_variance=noise, residual=residual, left_out_covariance=left_out
    )
    share = 1 + np.einsum("ihl->i", left_out) / 9
    assert found.squared_bias is not None and found.squared_bias.standard_error is not None
    assert found.squared_bias.value == pytest.approx(
        (residual.mean(1) ** 2).mean() - noise.value * share.mean(), rel=1e-10
    )
    assert found.squared_bias.origin == found.variance.origin == "estimated"
    assert 0 < found.squared_bias.standard_error < 1


def test_noise_estimates_agree_with_their_definitions() -> None:
    x, truth, w = smoothers()
    y = truth + np.sqrt(SIGMA2) * np.random.default_rng(3).normal(size=N)
    scaled = x / x.std(0)
    distance = ((scaled[:, None] - scaled[None]) ** 2).sum(-1) + np.diag(np.full(N, np.inf))
    neighbours = headspan.neighbour_noise_variance(x, y)
    assert neighbours.value == pytest.approx(((y - y[distance.argmin(1)]) ** 2).mean() / 2, rel=1e-12)
    one = w[0]
    residual = headspan.residual_noise_variance(y - one @ y, np.trace(one), (one**2).sum())
    assert residual.value == pytest.approx(
        ((y - one @ y) ** 2).sum() / np.trace((np.eye(N) - one).T @ (np.eye(N) - one)), rel=1e-12
    )


def test_replicates_link_bias_variance_and_diversity() -> None:
    random = np.random.default_rng(4)
    truth = random.normal(size=7)
    predictions = (
        truth + random.normal(size=(1, 5, 7)) + random.normal(size=(40, 5, 7)) + random.normal(size=(40, 1, 7))
    )
    linked = headspan.linked_moments(predictions, truth)
    ensemble = predictions.mean(1)
    assert linked.variance == pytest.approx(ensemble.var(0).mean())
    assert linked.mean_variance == pytest.approx(predictions.var(0).mean())
    assert linked.diversity == pytest.approx(((predictions - ensemble[:, None]) ** 2).mean())
    assert linked.mean_squared_bias == pytest.approx(linked.squared_bias + linked.disparity)
    assert linked.mean_variance == pytest.approx(linked.variance + linked.diversity - linked.disparity)
    assert linked.diversity == pytest.approx(linked.disparity + 0.8 * (linked.mean_variance - linked.cbar))
    found = headspan.decompose_replicates(predictions, truth)
    assert found.mse is not None and found.mse.value == pytest.approx(((ensemble - truth) ** 2).mean())
    assert found.variance.value == pytest.approx(predictions.var(0, ddof=1).mean() / 5)
    errors = ((ensemble - truth) ** 2).mean(1)
    assert found.mse.standard_error == pytest.approx(errors.std(ddof=1) / np.sqrt(40))


def test_ambiguity_is_what_averaging_gains() -> None:
    random = np.random.default_rng(5)
    f, y, a = random.normal(size=(4, 20)), random.normal(size=20), np.array([0.4, 0.3, 0.2, 0.1])
    found = headspan.ambiguity(f, y, weights=a)
    assert found.ensemble_error == pytest.approx(((a @ f - y) ** 2).mean())
    assert found.ensemble_error == pytest.approx(found.member_error - found.ambiguity)


def test_refused() -> None:
    eye = np.eye(2)
    with pytest.raises(ValueError, match=r"covariance: \[\.\.\., H, H\] wanted"):
        headspan.decompose(np.ones((3, 2)))
    with pytest.raises(ValueError, match="noise: must be finite"):
        headspan.decompose(eye, noise_variance=-1)
    with pytest.raises(ValueError, match="weights: sum to 2"):
        headspan.decompose(eye, bias=[0.0, 0.0], weights=[1, 1])
    with pytest.raises(ValueError, match=r"bias: \[\.\.\., 2\] wanted"):
        headspan.decompose(eye, bias=[0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="covariance: must be finite"):
        headspan.decompose(eye * np.nan)
    with pytest.raises(ValueError, match="at least 3 wanted"):
        headspan.decompose_replicates(np.zeros((2, 2, 2)), [0.0, 0.0])
    with pytest.raises(ValueError, match=r"predictions: \[replicates"):
        headspan.linked_moments(eye, [0.0, 0.0])
