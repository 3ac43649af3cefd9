"""headspan.nadaraya_watson beside whole matrices in numpy, and where arithmetic is hard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headspan
from oracle import weighted_means
from oracle.weighted_means import close

Array = NDArray[Any]
KERNELS = headspan.KERNELS
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def table(n: int, d: int, seed: int = 1) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d))
    return x, np.stack([np.sin(x.sum(1)), random.normal(size=n), np.ones(n)], axis=1)


def test_every_kernel_has_an_oracle() -> None:
    assert set(KERNELS) == {*weighted_means.KERNELS, "softmax"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("shape", ["radial", "product"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_estimates_are_those_of_the_definition(kernel: Any, shape: Any, d: int, dtype: Any) -> None:
    x, y = table(300, d)
    at = np.random.default_rng(2).normal(size=(70, d))
    x, y, at = (a.astype(dtype) for a in (x, y, at))
    width = np.linspace(0.8, 1.3, d) * (1.5 if d > 1 else 1.0)
    found = headspan.nadaraya_watson(x, y, at, kernel=kernel, kernel_shape=shape, bandwidth=width)
    queries, keys, values = (a.astype(np.float64) for a in (at, x, y))
    wanted = weighted_means.estimate(kernel, shape, queries, keys, values, width)
    error = TOLERANCE[dtype]
    assert found.output.dtype == dtype
    close(found.output, wanted.output, rtol=error, atol=error)
    close(found.log_normaliser, wanted.log_normaliser, rtol=error, atol=10 * error)
    close(found.n_eff, wanted.n_eff, rtol=10 * error)
    reached = ~np.isneginf(wanted.log_normaliser)
    assert (found.status == np.where(reached, "ok", "no neighbour")).all()
    assert found.self_weight is None


@pytest.mark.parametrize("kernel", KERNELS)
def test_leave_one_out_takes_the_point_itself_out(kernel: Any) -> None:
    x, y = table(60, 2)
    found = headspan.nadaraya_watson(x, y, kernel=kernel, bandwidth=1.5, leave_one_out=True)
    logs = weighted_means.log_weights(kernel, "radial", x, x, np.array([1.5]))
    with_self = weighted_means.softmax_means(logs, y)
    np.fill_diagonal(logs, -np.inf)
    close(found.output, weighted_means.softmax_means(logs, y).output, rtol=1e-11, atol=1e-12)
    close(found.self_weight, with_self.weights.diagonal(), rtol=1e-10)


def test_a_compact_kernel_says_that_it_reaches_nothing() -> None:
    x, y, at = [0.0, 1.0], [3.0, 5.0], [0.2, 7.0]
    found = headspan.nadaraya_watson(x, y, at, kernel="tricube", bandwidth=0.5)
    assert found.status.tolist() == ["ok", "no neighbour"]
    assert np.isnan(found.output[1]) and found.n_eff[1] == 0 and np.isneginf(found.log_normaliser[1])
    nearest = headspan.nadaraya_watson(x, y, at, kernel="tricube", bandwidth=0.5, nearest_if_none=True)
    assert nearest.status.tolist() == ["ok", "nearest neighbour"] and nearest.output.tolist() == [3.0, 5.0]
    alone = headspan.nadaraya_watson(x, y, kernel="uniform", bandwidth=0.5, leave_one_out=True)
    assert alone.status.tolist() == ["no other key"] * 2


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_far_from_every_key_the_nearest_decide(kernel: Any) -> None:
    found = headspan.nadaraya_watson([0.0, 1.0], [3.0, 5.0], [1e6, -1e6], kernel=kernel, bandwidth=0.01)
    assert found.output.tolist() == [5.0, 3.0]
    assert found.n_eff.tolist() == [1.0, 1.0] and np.isfinite(found.log_normaliser).all()


@pytest.mark.parametrize(
    ("x", "bandwidth"),
    [
        (np.array([0.7125930, 0.7123166]), 1e-4),
        (np.array([1e12, 1e12 + 100]), 50.0),
        (np.linspace(500, 501, 512), 0.01),
        (np.linspace(500, 501, 513), 0.01),
        (np.array([1e8, 1e8 + 1e-6, 1e8 + 2e-6]), 1e-6),
    ],
    ids=["close", "large", "512", "513", "one in 1e14"],
)
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "epanechnikov"])
def test_keys_far_from_zero_and_close_together(x: Array, bandwidth: float, kernel: Any) -> None:
    y = np.cos(np.arange(len(x)))
    found = headspan.nadaraya_watson(x, y, kernel=kernel, bandwidth=bandwidth)
    wanted = weighted_means.estimate(kernel, "radial", x[:, None], x[:, None], y[:, None], np.array([bandwidth]))
    close(found.output, wanted.output[:, 0], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("allowed", [1e-2, 1e-6])
def test_what_is_left_out_stays_within_the_bound(allowed: float) -> None:
    random = np.random.default_rng(10)
    x, at = random.uniform(size=(20000, 2)), random.uniform(size=(500, 2))
    y = random.normal(size=20000)
    exact = headspan.nadaraya_watson(x, y, at, bandwidth=0.01).output
    found = headspan.nadaraya_watson(x, y, at, bandwidth=0.01, relative_error=allowed).output
    assert np.abs(found - exact).max() <= allowed * (y.max() - y.min())


def test_sums_do_not_stall() -> None:
    n = 20_000_000
    x = np.zeros(n, np.float32)
    found = headspan.nadaraya_watson(x, np.ones(n, np.float32), x[:1], kernel="uniform", bandwidth=1.0)
    assert found.log_normaliser[0] == pytest.approx(np.log(n), rel=1e-9)
    assert found.n_eff[0] == pytest.approx(n, rel=1e-6)
    assert found.output[0] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_units_do_not_matter_under_automatic_bandwidths(factor: float) -> None:
    x, y = table(120, 2)
    before = headspan.nadaraya_watson(x, y[:, 0], bandwidth="auto")
    after = headspan.nadaraya_watson(x * factor, y[:, 0], bandwidth="auto")
    close(after.output, before.output, rtol=1e-5, atol=1e-5)
    close(after.bandwidth, before.bandwidth * factor, rtol=1e-3)


def test_cross_validation_of_rounded_data_does_not_run_to_zero() -> None:
    random = np.random.default_rng(5)
    x = np.round(random.uniform(0, 3, 400), 1)
    found = headspan.select_bandwidth(x, np.sin(2 * x) + 0.3 * random.normal(size=400))
    assert found.bandwidth[0] > 0.03 and not found.at_edge[0]


def test_starts_agree_or_all_minima_are_listed() -> None:
    x, y = table(100, 2, seed=8)
    found = [headspan.select_bandwidth(x, y[:, 0], n_starts=n) for n in (1, 5, 10)]
    for one in found:
        assert one.value == one.minima[0].value == min(m.value for m in one.minima)
        assert one.value == pytest.approx(found[0].value, rel=1e-6)


def test_an_irrelevant_column_is_called_irrelevant() -> None:
    random = np.random.default_rng(6)
    x = random.uniform(size=(300, 2))
    y = np.sin(6 * x[:, 0]) + 0.1 * random.normal(size=300)
    found = headspan.select_bandwidth(x, y)
    assert found.irrelevant.tolist() == [False, True]
    fitted = headspan.nadaraya_watson(x, y, bandwidth="auto")
    alone = headspan.nadaraya_watson(x[:, 0], y, bandwidth=found.bandwidth[0])
    if np.isinf(found.bandwidth[1]):
        close(fitted.output, alone.output, rtol=1e-12)


def test_infinite_bandwidths_give_the_mean() -> None:
    found = headspan.nadaraya_watson([1.0, 2.0, 9.0], [1.0, 2.0, 6.0], bandwidth=np.inf, kernel="laplace")
    assert found.output == pytest.approx([3.0] * 3) and found.n_eff == pytest.approx([3.0] * 3)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_scores_are_those_of_the_smoother_matrix(kernel: Any) -> None:
    x, y = table(80, 2)
    y = y[:, 0]
    found = headspan.smoother_scores(x, y, kernel=kernel, bandwidth=1.2)
    w = weighted_means.estimate(kernel, "radial", x, x, y[:, None], np.array([1.2])).weights
    n, residual, own = len(y), y - w @ y, w.diagonal()
    close(found.fit, w @ y, rtol=1e-11, atol=1e-12)
    assert found.trace == pytest.approx(own.sum(), rel=1e-12)
    assert found.trace_wwt == pytest.approx((w**2).sum(), rel=1e-12)
    assert found.sigma2 == pytest.approx((residual**2).mean(), rel=1e-11)
    kept = own < 1
    assert found.n_isolated == (~kept).sum()
    assert found.loo == pytest.approx(((residual[kept] / (1 - own[kept])) ** 2).mean(), rel=1e-9)
    assert found.gcv == pytest.approx((residual**2).mean() / (1 - own.sum() / n) ** 2, rel=1e-10)
    aicc = np.log((residual**2).mean()) + (1 + own.sum() / n) / (1 - (own.sum() + 2) / n)
    assert found.aicc == pytest.approx(aicc, rel=1e-10)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "aicc"])
def test_the_selected_bandwidth_is_no_worse_than_a_grid(criterion: Any) -> None:
    x, y = table(90, 1)
    found = headspan.select_bandwidth(x, y[:, 0], criterion=criterion)
    grid = np.geomspace(0.05, 3, 60)
    values = [getattr(headspan.smoother_scores(x, y[:, 0], bandwidth=h), criterion) for h in grid]
    assert found.value <= min(v for v in values if v is not None) + 1e-12
    assert getattr(headspan.smoother_scores(x, y[:, 0], bandwidth=found.bandwidth), criterion) == pytest.approx(
        found.value, rel=1e-9
    )


def test_few_places_with_many_rows_each_are_told_apart() -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 2, 400).astype(float)
    y = 10 * x + 0.5 * random.normal(size=400)
    found = headspan.nadaraya_watson(x, y, [0.0, 1.0], bandwidth="auto")
    close(found.output, [y[x == 0].mean(), y[x == 1].mean()], atol=1e-3)


def test_the_value_of_a_selection_is_that_of_its_scores() -> None:
    random = np.random.default_rng(3)
    x = np.r_[random.uniform(0, 3, 60), 50, 80, 200]
    y = np.r_[np.sin(x[:60]) + 0.05 * random.normal(size=60), 1e6, -1e6, 2e6]
    found = headspan.select_bandwidth(x, y, kernel="epanechnikov", criterion="gcv")
    at = [headspan.smoother_scores(x, y, bandwidth=one.bandwidth, kernel="epanechnikov").gcv for one in found.minima]
    close([one.value for one in found.minima], at, rtol=1e-3)
    grid = [headspan.smoother_scores(x, y, bandwidth=h, kernel="epanechnikov") for h in np.geomspace(0.05, 3, 60)]
    allowed = [one.gcv for one in grid if one.gcv is not None and one.trace <= 0.9 * 63]
    assert found.value <= 1.01 * min(allowed)


def test_gcv_does_not_choose_to_reproduce_noise() -> None:
    traces = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        x = random.normal(size=(60, 3))
        y = np.sin(x[:, 0]) + 0.5 * random.normal(size=60)
        found = headspan.select_bandwidth(x, y, criterion="gcv")
        traces.append(headspan.smoother_scores(x, y, bandwidth=found.bandwidth).trace)
    assert max(traces) <= 0.9 * 60 + 1e-6
    assert np.median(traces) < 25
