"""headspan.attention and headspan.weight_covariance beside whole matrices in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headspan
from oracle import weighted_means
from oracle.weighted_means import close

Array = NDArray[Any]


def inputs(dtype: Any = np.float64, m: int = 9, n: int = 13, heads: int = 4, kv_heads: int = 2) -> list[Array]:
    random = np.random.default_rng(3)
    shapes = (2, heads, m, 8), (2, kv_heads, n, 8), (2, kv_heads, n, 5)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


def distance(m: int, n: int, offset: int = 0) -> Array:
    """Position of the query less that of the key."""
    return np.arange(m)[:, None] + offset - np.arange(n)


def expected(query: Array, key: Array, value: Array, bias: Array, scale: float = 8**-0.5) -> weighted_means.Means:
    wide = [a.astype(np.float64) for a in (query, key, value)]
    scores = weighted_means.attention_scores(wide[0], wide[1], scale) + bias
    return weighted_means.softmax_means(scores, np.repeat(wide[2], query.shape[1] // key.shape[1], axis=1))


def hidden(visible: Array) -> Array:
    return np.where(visible, 0.0, -np.inf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("window", [None, (3, None), (2, 1), (None, 0)])
@pytest.mark.parametrize("causal", [False, True])
def test_masks_by_position(dtype: Any, window: Any, causal: bool) -> None:
    q, k, v = inputs(dtype)
    d = distance(9, 13)
    left, right = window or (None, None)
    visible = (d <= (left if left is not None else 99)) & (-d <= (right if right is not None else 99))
    if causal:
        visible &= d >= 0
    found = headspan.attention(
        q, k, v, causal=causal, window=window, return_n_eff=True, return_log_normaliser=True, return_scores="weights"
    )
    wanted = expected(q, k, v, hidden(visible))
    error = 2e-6 if dtype == np.float32 else 1e-13
    assert found.output.dtype == dtype
    close(found.output, wanted.output, rtol=error, atol=error)
    close(found.scores, wanted.weights, rtol=error, atol=error)
    close(found.n_eff, wanted.n_eff, rtol=5 * error)
    close(found.log_normaliser, wanted.log_normaliser, rtol=error, atol=error)


def test_masks_are_broadcast_and_boolean_or_added() -> None:
    q, k, v = inputs()
    random = np.random.default_rng(4)
    for shape in ((13,), (9, 1), (1, 13), (9, 13), (4, 1, 13), (2, 1, 9, 13), (2, 4, 9, 13), (2, 1, 1, 1)):
        additive = random.normal(size=shape)
        found = headspan.attention(q, k, v, mask=additive)
        close(found.output, expected(q, k, v, additive).output, atol=1e-13)
        visible = random.uniform(size=shape) < 0.7
        visible[..., 0] = True
        found = headspan.attention(q, k, v, mask=visible)
        close(found.output, expected(q, k, v, hidden(visible)).output, atol=1e-13)


def test_alibi_and_sinks() -> None:
    q, k, v = inputs()
    slopes, sinks = np.array([0.5, 0.25, 0.1, 0.0]), np.array([0.3, -1.0, 2.0, 0.0])
    found = headspan.attention(q, k, v, alibi_slopes=slopes, sinks=sinks, return_log_normaliser=True)
    bias = -slopes[:, None, None] * np.abs(distance(9, 13))
    one_more = np.broadcast_to(sinks[:, None, None], (2, 4, 9, 1))
    scores = np.concatenate([weighted_means.attention_scores(q, k, 8**-0.5) + bias, one_more], axis=-1)
    values = np.concatenate([np.repeat(v, 2, axis=1), np.zeros((2, 4, 1, 5))], axis=2)
    wanted = weighted_means.softmax_means(scores, values)
    close(found.output, wanted.output, atol=1e-13)
    close(found.log_normaliser, wanted.log_normaliser, rtol=1e-13)


@pytest.mark.parametrize(
    ("stage", "after"), [("scaled", False), ("capped", False), ("masked", False), ("masked", True)]
)
def test_scores_at_every_stage(stage: Any, after: bool) -> None:
    q, k, v = inputs()
    mask = np.random.default_rng(5).normal(size=(9, 13))
    found = headspan.attention(q, k, v, scale=0.7, soft_cap=1.5, cap_after_mask=after, mask=mask, return_scores=stage)
    scaled = weighted_means.attention_scores(q, k, 0.7)
    capped = 1.5 * np.tanh(scaled / 1.5)
    masked = 1.5 * np.tanh((scaled + mask) / 1.5) if after else capped + mask
    wanted = weighted_means.softmax_means(masked, np.repeat(v, 2, axis=1))
    close(found.output, wanted.output, atol=1e-13)
    if not after:
        close(found.scores, {"scaled": scaled, "capped": capped, "masked": masked}[stage], atol=1e-13)


def test_past_keys_come_before() -> None:
    q, k, v = inputs()
    found = headspan.attention(
        q, k[:, :, 4:], v[:, :, 4:], past_key=k[:, :, :4], past_value=v[:, :, :4], causal=True, window=(6, None)
    )
    d = distance(9, 13, 4)
    close(found.output, expected(q, k, v, hidden((d >= 0) & (d <= 6))).output, atol=1e-13)
    assert found.present_key is not None and found.present_value is not None
    assert (found.present_key == k).all() and (found.present_value == v).all()


def test_padding_and_offsets_differ_by_batch_entry() -> None:
    q, k, v = inputs()
    counts = np.array([13, 10])
    found = headspan.attention(q, k, v, causal=True, n_keys=counts, query_offset=counts - 9, return_n_eff=True)
    visible = np.stack([(distance(9, 13, c - 9) >= 0) & (np.arange(13) < c) for c in counts])[:, None]
    wanted = expected(q, k, v, hidden(visible))
    close(found.output, wanted.output, atol=1e-13)
    close(found.n_eff, wanted.n_eff, rtol=1e-12)


def test_three_and_two_dimensions_are_layouts_of_the_same() -> None:
    q, k, v = inputs()
    wanted = headspan.attention(q, k, v, return_n_eff=True)
    flat = [a.transpose(0, 2, 1, 3).reshape(2, a.shape[2], -1) for a in (q, k, v)]
    found = headspan.attention(*flat, n_heads=4, n_kv_heads=2, return_n_eff=True)
    assert (found.output.reshape(2, 9, 4, 5).transpose(0, 2, 1, 3) == wanted.output).all()
    close(found.n_eff, wanted.n_eff, rtol=0)
    one = headspan.attention(q[1, 2], k[1, 1], v[1, 1], return_n_eff=True, return_scores="weights")
    close(one.output, wanted.output[1, 2], rtol=1e-13)
    assert one.n_eff is not None and one.scores is not None
    assert one.n_eff.shape == (9,) and one.scores.shape == (9, 13)


def test_a_query_that_sees_no_key_gives_zero() -> None:
    q, k, v = inputs()
    mask = np.ones((9, 13), bool)
    mask[4] = False
    found = headspan.attention(
        q, k, v, mask=mask, return_n_eff=True, return_log_normaliser=True, return_scores="weights"
    )
    assert found.n_eff is not None and found.log_normaliser is not None and found.scores is not None
    assert (found.output[:, :, 4] == 0).all() and (found.n_eff[:, :, 4] == 0).all()
    assert np.isneginf(found.log_normaliser[:, :, 4]).all() and (found.scores[:, :, 4] == 0).all()
    covariance = headspan.weight_covariance(q, k, mask=mask)
    assert (covariance[:, 4] == 0).all() and (covariance[:, 3] > 0).any()


def test_a_band_that_hides_whole_blocks_of_keys() -> None:
    random = np.random.default_rng(6)
    q, k, v = (random.normal(size=(1, 1, 3000, 16)) for _ in range(3))
    found = headspan.attention(q, k, v, causal=True, window=(20, None), return_n_eff=True)
    d = distance(3000, 3000)
    visible = (d >= 0) & (d <= 20)
    masked = headspan.attention(q, k, v, mask=visible)
    wanted = expected(q, k, v, hidden(visible), scale=0.25)
    close(found.output, wanted.output, atol=1e-12)
    close(masked.output, wanted.output, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_hidden_does_not_leak_and_what_is_not_shows(bad: float) -> None:
    q, k, v = inputs()
    clean = headspan.attention(q, k, v, causal=True).output
    k[:, :, 11], v[:, :, 12] = bad, bad
    assert (headspan.attention(q, k, v, causal=True).output == clean).all()
    shown = inputs()
    shown[0][0, 1, 3] = np.nan
    found = headspan.attention(*shown).output
    assert np.isnan(found[0, 1, 3]).all() and np.isnan(found).sum() == 5
    shown = inputs()
    shown[2][0, 0, 2, 1] = np.nan
    found = headspan.attention(*shown).output
    assert np.isnan(found[0, :2, :, 1]).all() and np.isnan(found).sum() == 2 * 9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_covariances_of_heads(dtype: Any, centred: bool, average: bool, unequal: bool) -> None:
    q, k, v = inputs(dtype)
    noise = np.random.default_rng(7).uniform(0.5, 2, 13) if unequal else np.full(13, 0.8)
    visible = distance(9, 13) >= -3
    w = expected(q, k, v, hidden(visible)).weights
    wanted = np.einsum("bhmn,blmn,n->bmhl", w, w, noise)
    if centred:
        wanted = wanted - (1 / (visible / noise).sum(1))[:, None, None]
    found = headspan.weight_covariance(
        q, k, window=(None, 3), noise_variance=noise if unequal else 0.8, centred=centred, average=average
    )
    error = 5e-6 if dtype == np.float32 else 1e-13
    close(found, wanted.mean(1) if average else wanted, rtol=error, atol=error)


def test_covariances_are_what_repeated_noise_shows() -> None:
    q, k, _ = inputs(heads=3, kv_heads=3)
    random = np.random.default_rng(8)
    noise = random.uniform(0.5, 2, 13)
    draws = 4000
    values = np.sqrt(noise)[:, None] * random.normal(size=(1, 1, 13, draws))
    outputs = headspan.attention(q[:1], k[:1], np.repeat(values, 3, axis=1)).output[0]
    seen = np.einsum("hmr,lmr->mhl", outputs, outputs) / draws
    exact = headspan.weight_covariance(q[:1], k[:1], noise_variance=noise)[0]
    own = np.einsum("mhh->mh", exact)
    error = np.sqrt((exact**2 + own[:, :, None] * own[:, None, :]) / draws)
    assert (np.abs(seen - exact) < 5 * error).all()


# Every width: blocks of keys, and rows of weights, are cut by it.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_covariances_at_every_head_dim(dtype: Any) -> None:
    random = np.random.default_rng(9)
    for width in [*range(1, 131), 160, 192, 256, 320, 512]:
        q, k = (random.normal(size=(1, heads, n, width)).astype(dtype) for heads, n in ((4, 16), (2, 400)))
        w = expected(q, k, k, np.zeros((16, 400)), width**-0.5).weights
        error = 2e-5 if dtype == np.float32 else 1e-12
        wanted = np.einsum("bhmn,blmn->bmhl", w, w)
        assert np.abs(headspan.weight_covariance(q, k) - wanted).max() <= error * wanted.max(), width


@pytest.mark.parametrize("left", [0, 4, 16, 70])
@pytest.mark.parametrize("right", [None, 0, 5])
def test_queries_beyond_the_last_key(left: int, right: int | None) -> None:
    random = np.random.default_rng(10)
    for m, n, offset in ((100, 60, 0), (300, 100, 0), (51, 66, 46), (5, 3, 40), (70, 64, -90)):
        q, k = random.normal(size=(1, 1, m, 54)), random.normal(size=(1, 1, n, 54))
        d = distance(m, n, offset)
        visible = (d <= left) & (d >= (-1000 if right is None else -right))
        found = headspan.attention(q, k, k, window=(left, right), query_offset=offset, return_n_eff=True)
        seen = visible.any(1)
        wanted = expected(q, k, k, hidden(visible), 54**-0.5)
        close(found.output[:, :, seen], wanted.output[:, :, seen], atol=1e-12)
        assert (
            found.n_eff is not None and (found.output[:, :, ~seen] == 0).all() and (found.n_eff[0, 0, ~seen] == 0).all()
        )
        covariance = headspan.weight_covariance(q, k, window=(left, right), query_offset=offset)
        close(covariance[0, seen, 0, 0], (wanted.weights[0, 0, seen] ** 2).sum(-1), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_padding_by_the_least_number(dtype: Any) -> None:
    q, k, v = inputs(dtype)
    mask = np.zeros((9, 13), dtype)
    mask[2], mask[5, 1:] = np.finfo(dtype).min, np.finfo(dtype).min
    found = headspan.attention(q, k, v, mask=mask, return_n_eff=True)
    assert found.n_eff is not None
    close(found.output[:, :, 2], np.repeat(v, 2, axis=1).mean(2), atol=1e-6)
    close(found.n_eff[:, :, 2], np.full((2, 4), 13.0), rtol=1e-9)
    close(found.output[:, :, 5], np.repeat(v, 2, axis=1)[:, :, 0], atol=1e-6)
    wide = np.where(mask == 0, 0.0, -1e300)
    close(headspan.attention(q, k, v, mask=wide).output, found.output, atol=1e-6)


@pytest.mark.parametrize("sink", [1.15, 60.0, 500.0])
def test_sinks_do_not_change_the_effective_number_of_keys(sink: float) -> None:
    q, k, v = inputs()
    plain = headspan.attention(q, k, v, return_n_eff=True)
    found = headspan.attention(q, k, v, sinks=[sink] * 4, return_n_eff=True)
    none = headspan.attention(q, k, v, sinks=[sink] * 4, n_keys=[0, 0], return_n_eff=True)
    assert plain.n_eff is not None and found.n_eff is not None and none.n_eff is not None
    close(found.n_eff, plain.n_eff, rtol=1e-9)
    assert (none.n_eff == 0).all() and (none.output == 0).all()


@pytest.mark.parametrize(
    ("error", "word", "arguments"),
    [
        (TypeError, "query", {"query": None}),
        (TypeError, "window", {"window": (1.5, 0)}),
        (ValueError, "window", {"window": (2**61, 0)}),
        (ValueError, "query_offset", {"query_offset": np.uint64(2**63)}),
        (ValueError, "threads", {"threads": 2**40}),
        (TypeError, "return_scores", {"return_scores": 3}),
    ],
)
def test_arguments_of_another_kind(error: type[Exception], word: str, arguments: dict[str, Any]) -> None:
    q, k, v = inputs()
    with pytest.raises(error, match=word):
        headspan.attention(**{"query": q, "key": k, "value": v, **arguments})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("low", [-1e4, -1e9, -3e38, None])
def test_rows_whose_every_key_a_mask_lowers(dtype: Any, low: float | None) -> None:
    q, k, v = inputs(dtype, m=5, n=6, heads=2, kv_heads=2)
    mask = np.zeros((5, 6), dtype)
    mask[1:3] = np.finfo(dtype).min if low is None else low
    found = headspan.attention(q, k, v, mask=mask, return_scores="weights", return_n_eff=True)
    wanted = expected(q, k, v, mask.astype(np.float64))
    error = 2e-6
    assert found.scores is not None
    close(found.scores, wanted.weights, rtol=error)
    close(found.output, wanted.output, rtol=error, atol=error)
    close(found.n_eff, wanted.n_eff, rtol=error)
    products = np.einsum("bhmn,blmn->bmhl", wanted.weights, wanted.weights)
    close(headspan.weight_covariance(q, k, mask=mask), products, rtol=3 * error)
    close(headspan.weight_covariance(q, k, mask=mask, centred=True), products - 1 / 6, rtol=error, atol=error)


def test_the_mean_covariance_is_over_queries_that_see_a_key_in_every_head() -> None:
    q, k, _ = inputs(heads=2, kv_heads=2)
    visible = np.ones((2, 2, 9, 13), bool)
    visible[0, 0, :4] = visible[0, 1, 2:6] = visible[1, :, 0] = False
    for centred in (False, True):
        each = headspan.weight_covariance(q, k, mask=visible, centred=centred)
        mean = headspan.weight_covariance(q, k, mask=visible, centred=centred, average=True)
        close(mean, np.stack([each[0, 6:].mean(0), each[1, 1:].mean(0)]), rtol=1e-13)
    assert np.isnan(headspan.weight_covariance(q, k, mask=np.zeros((9, 13), bool), average=True)).all()
