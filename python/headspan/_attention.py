"""Attention, and the covariance of its heads' weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core

ScoreStage = Literal["scaled", "capped", "masked", "weights"]
FloatArray = NDArray[np.floating[Any]]
Window = tuple[int | None, int | None]

# The compiled part's own limit, so that no position overflows.
_FARTHEST = 2**60


@dataclass(frozen=True, eq=False)
class Attention:
    """Output of attention in the layout of its inputs: m queries, n keys (past ones included)."""

    output: FloatArray
    """Like query, with value_dim in place of head_dim; 0 for a query that sees no key."""
    n_eff: NDArray[np.float64] | None
    """[batch, n_heads, m] (sum_j w_j)^2 / sum_j w_j^2, where only a sink leaves the first sum short of one; 0 for a query
    that sees no key; None unless asked for."""
    log_normaliser: NDArray[np.float64] | None
    """[batch, n_heads, m] log sum_j exp(score_j), sinks included, -inf for no key; None unless asked for."""
    scores: FloatArray | None
    """[batch, n_heads, m, n] at the stage asked for; None unless asked for."""
    present_key: FloatArray | None
    """[batch, n_kv_heads, n, head_dim] past and new keys; None without past_key."""
    present_value: FloatArray | None
    """[batch, n_kv_heads, n, value_dim] past and new values; None without past_value."""


def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    causal: bool = False,
    window: Window | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    cap_after_mask: bool = False,
    alibi_slopes: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    past_key: ArrayLike | None = None,
    past_value: ArrayLike | None = None,
    n_keys: ArrayLike | None = None,
    query_offset: ArrayLike | None = None,
    n_heads: int | None = None,
    n_kv_heads: int | None = None,
    return_n_eff: bool = False,
    return_log_normaliser: bool = False,
    return_scores: ScoreStage | None = None,
    threads: int | None = None,
) -> Attention:
    """softmax(scale query.key + biases) value, streamed over the keys: no m x n matrix unless asked for.

    query: [batch, n_heads, m, head_dim]; key: [batch, n_kv_heads, n, head_dim]; value: [batch, n_kv_heads, n,
    value_dim], query head h reading key/value head h // (n_heads // n_kv_heads). Or [batch, m, n_heads * head_dim]
    and so on with n_heads (and n_kv_heads, n_heads unless given), or [m, head_dim] for one head. float32, or float64 if
    any of the three is; float16 and bfloat16 are widened and give float32; integers are refused.

    mask: broadcast to [batch, n_heads, m, n]; boolean, True where a key is visible, or floating, added to the scores
    (-inf hides). causal: query i sees keys up to i + query_offset. window: (left, right), keys from
    i + query_offset - left to i + query_offset + right; None or -1: no limit on that side.
    scale: 1/sqrt(head_dim) unless given. soft_cap: c > 0 turns a score into c tanh(score / c), before masks and
    biases, or after them with cap_after_mask (as the first release of ONNX opset 23 had it).
    alibi_slopes: [n_heads], score -= slope |i + query_offset - j|. sinks: [n_heads], one more score whose value is 0.
    past_key, past_value: [batch, n_kv_heads, n_past, ...], keys and values before the new ones.
    n_keys: [batch], keys beyond are padding. query_offset: position of query 0 among the keys, one or [batch]; the
    number of past keys unless given.
    return_scores: the scores [m, n] "scaled" (query.key scale), "capped", "masked" (what the softmax takes; hidden:
    -inf) or "weights" (after it; hidden: 0).
    threads: None uses all cores; the result does not depend on it.

    NaN and infinity at hidden places do not reach the result; at visible ones they propagate as in the formula.
    Raises ValueError on shapes that disagree and options out of range, TypeError on arrays of another kind.
    """
    limit = _arrays.thread_count(threads)
    call = _Call(query, key, value, past_key, past_value, n_heads, n_kv_heads)
    call.hide(mask)
    options, offsets = _options(
        call,
        causal=causal,
        window=window,
        scale=scale,
        soft_cap=soft_cap,
        cap_after_mask=cap_after_mask,
        alibi_slopes=alibi_slopes,
        sinks=sinks,
        n_keys=n_keys,
        query_offset=query_offset,
    )
    if return_scores is not None:
        options.stage = _arrays.word("return_scores", return_scores)
    batch, heads, m, n = call.shape
    assert call.value is not None
    flat, output = call.empty_output()
    n_eff = np.empty((batch, heads, m, 1)) if return_n_eff else None
    log_normaliser = np.empty((batch, heads, m, 1)) if return_log_normaliser else None
    scores = np.empty((batch, heads, m, n), call.dtype) if return_scores is not None else None
    _core.attention(
        call.query, call.key, call.value, call.bias, call.visible, options, offsets,
        output, log_normaliser, n_eff, scores, limit,
    )  # fmt: skip
    plain = call.ndim == 2
    return Attention(
        output=flat,
        n_eff=_per_query(n_eff, plain),
        log_normaliser=_per_query(log_normaliser, plain),
        scores=scores[0, 0] if scores is not None and plain else scores,
        present_key=call.key if past_key is not None else None,
        present_value=call.value if past_value is not None else None,
    )


def weight_covariance(
    query: ArrayLike,
    key: ArrayLike,
    *,
    noise_variance: ArrayLike | None = None,
    centred: bool = False,
    average: bool = False,
    mask: ArrayLike | None = None,
    causal: bool = False,
    window: Window | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    cap_after_mask: bool = False,
    alibi_slopes: ArrayLike | None = None,
    sinks: ArrayLike | None = None,
    past_key: ArrayLike | None = None,
    n_keys: ArrayLike | None = None,
    query_offset: ArrayLike | None = None,
    n_heads: int | None = None,
    n_kv_heads: int | None = None,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """C_hl(x) = sum_i s2_i w_h,i(x) w_l,i(x): covariances of the heads' outputs given the noise of the values.

    Result [batch, m, n_heads, n_heads] float64, or [batch, n_heads, n_heads] with average, the mean over the queries
    that see a key in every head (NaN where there is none); without batch for [m, head_dim] inputs. noise_variance: s2, one number or [n]; 1 unless given. centred: less the
    variance of the grand mean, 1 / sum_i 1/s2_i over the visible keys, which no weights can decorrelate; NaN where a
    sink or no visible key leaves the weights short of one. All else as in attention.

    Raises as attention does, and ValueError on noise variances that are not positive and finite.
    """
    limit = _arrays.thread_count(threads)
    call = _Call(query, key, None, past_key, None, n_heads, n_kv_heads)
    call.hide(mask)
    options, offsets = _options(
        call,
        causal=causal,
        window=window,
        scale=scale,
        soft_cap=soft_cap,
        cap_after_mask=cap_after_mask,
        alibi_slopes=alibi_slopes,
        sinks=sinks,
        n_keys=n_keys,
        query_offset=query_offset,
    )
    noise = _arrays.optional_vector("noise_variance", noise_variance)
    batch, heads, m, n = call.shape
    if len(noise) > 1 and len(noise) != n:
        raise ValueError(f"noise_variance: one or {n} of them wanted for {n} keys, there are {len(noise)}")
    result = np.empty((batch, 1 if average else m, heads, heads))
    _core.weight_covariance(
        call.query, call.key, call.bias, call.visible, options, offsets, noise, centred, average, result, limit
    )
    if average:
        result = result[:, 0]
    return result[0] if call.ndim == 2 else result


def _per_query(values: NDArray[np.float64] | None, plain: bool) -> NDArray[np.float64] | None:
    if values is None:
        return None
    return values[0, 0, :, 0] if plain else values[..., 0]


class _Call:
    """Inputs brought to four dimensions and one type, masks broadcast; shapes checked against one another."""

    def __init__(
        self,
        query: Any,
        key: Any,
        value: Any | None,
        past_key: Any | None,
        past_value: Any | None,
        n_heads: int | None,
        n_kv_heads: int | None,
    ) -> None:
        arrays = {"query": query, "key": key, "value": value, "past_key": past_key, "past_value": past_value}
        for name in ("query", "key"):
            if arrays[name] is None:
                raise TypeError(f"{name}: an array wanted, not None")
        given = {name: _arrays.floating(name, one) for name, one in arrays.items() if one is not None}
        if value is not None and (past_key is None) != (past_value is None):
            raise ValueError("past_key, past_value: both or neither")
        self.dtype = _arrays.working_type(*given.values())
        self.ndim = given["query"].ndim
        if self.ndim not in (2, 3, 4):
            raise ValueError(f"query: two, three or four dimensions wanted, its shape is {given['query'].shape}")
        kv_heads = n_heads if n_kv_heads is None else n_kv_heads

        def laid_out(name: str, heads: int | None) -> _arrays.Array:
            if given[name].ndim != self.ndim:
                raise ValueError(f"{name}: {self.ndim} dimensions as query has, its shape is {given[name].shape}")
            return _arrays.adjacent(_four(name, given[name].astype(self.dtype, copy=False), heads))

        self.query, self.key = laid_out("query", n_heads), laid_out("key", kv_heads)
        self.value = laid_out("value", kv_heads) if value is not None else None
        self._check_heads(n_heads, n_kv_heads)
        if past_key is not None:
            self.key = self._after("past_key", given["past_key"], self.key)
        self.n_past = given["past_key"].shape[-2] if past_key is not None else 0
        if self.value is not None:
            if past_value is not None:
                self.value = self._after("past_value", given["past_value"], self.value)
            if self.value.shape[:3] != self.key.shape[:3]:
                raise ValueError(f"value: shape {self.value.shape} does not go with key {self.key.shape}")
        if self.key.shape[0] != self.query.shape[0] or self.key.shape[3] != self.query.shape[3]:
            raise ValueError(f"key: shape {self.key.shape} does not go with query {self.query.shape}")
        self.shape = (*self.query.shape[:3], self.key.shape[2])
        self.bias: _arrays.Array | None = None
        self.visible: _arrays.Array | None = None

    def _check_heads(self, n_heads: int | None, n_kv_heads: int | None) -> None:
        heads, kv_heads = self.query.shape[1], self.key.shape[1]
        for name, given, found in (("n_heads", n_heads, heads), ("n_kv_heads", n_kv_heads, kv_heads)):
            if given is not None and given != found:
                raise ValueError(f"{name}: {given}, but the inputs have {found} heads")
        if kv_heads == 0 or heads % kv_heads != 0:
            raise ValueError(f"key: {kv_heads} heads do not divide the {heads} of query")

    def _after(self, name: str, past: _arrays.Array, new: _arrays.Array) -> _arrays.Array:
        """Past keys or values in front of the new ones; always given by heads."""
        if past.ndim == 2 and self.ndim == 2:
            past = past[np.newaxis, np.newaxis]
        wanted = (*new.shape[:2], past.shape[-2] if past.ndim == 4 else 0, new.shape[3])
        if past.shape != wanted:
            raise ValueError(
                f"{name}: [{new.shape[0]}, {new.shape[1]}, n_past, {new.shape[3]}] wanted, its shape is {past.shape}"
            )
        return np.concatenate([past.astype(self.dtype, copy=False), new], axis=2)

    def hide(self, mask: Any | None) -> None:
        """Takes a mask over: boolean ones as visibility, floating ones as bias."""
        if mask is None:
            return
        given = _arrays.numbers("mask", mask)
        if given.dtype.kind not in "bf":
            raise TypeError(f"mask: boolean or floating point wanted, its dtype is {given.dtype}")
        rows = given.view(np.uint8) if given.dtype.kind == "b" else _narrowed(given, self.dtype)
        try:
            # The numbers of one row are made adjacent; whole rows are repeated by strides of 0.
            one_row = np.broadcast_to(rows, (*rows.shape[:-1], self.shape[3]))
            everywhere = np.broadcast_to(_arrays.adjacent(one_row), self.shape)
        except ValueError:
            raise ValueError(
                f"mask: shape {given.shape} cannot be broadcast to [batch, n_heads, m, n] = {list(self.shape)}"
            ) from None
        if given.dtype.kind == "b":
            self.visible = everywhere
        else:
            self.bias = everywhere

    def empty_output(self) -> tuple[_arrays.Array, _arrays.Array]:
        """The result as the caller sees it, and the same memory by heads."""
        assert self.value is not None
        batch, heads, m, _ = self.shape
        width = self.value.shape[3]
        if self.ndim == 3:
            flat = np.empty((batch, m, heads * width), self.dtype)
            return flat, flat.reshape(batch, m, heads, width).transpose(0, 2, 1, 3)
        by_heads = np.empty((batch, heads, m, width), self.dtype)
        return (by_heads[0, 0] if self.ndim == 2 else by_heads), by_heads


def _narrowed(bias: _arrays.Array, dtype: type[Any]) -> _arrays.Array:
    """In `dtype`; a finite number beyond its range becomes the last one within, since an infinite one would hide."""
    if bias.dtype == dtype:
        return bias
    limit = np.finfo(dtype).max
    return np.where(np.isinf(bias), bias, np.clip(bias, -limit, limit)).astype(dtype)


def _four(name: str, array: _arrays.Array, heads: int | None) -> _arrays.Array:
    """[batch, heads, positions, width] of two to four dimensions, as a view."""
    if array.ndim == 4:
        return array
    if array.ndim == 2:
        return array[np.newaxis, np.newaxis]
    if heads is None:
        raise ValueError(f"n_heads: wanted, since {name} has three dimensions")
    if heads < 1 or array.shape[2] % heads != 0:
        raise ValueError(f"{name}: its width {array.shape[2]} is not a multiple of {heads} heads")
    batch, positions, width = array.shape
    return array.reshape(batch, positions, heads, width // heads).transpose(0, 2, 1, 3)


def _options(
    call: _Call,
    *,
    causal: bool,
    window: Window | None,
    scale: float | None,
    soft_cap: float | None,
    cap_after_mask: bool,
    alibi_slopes: Any | None,
    sinks: Any | None,
    n_keys: Any | None,
    query_offset: Any | None,
) -> tuple[_core.AttentionOptions, list[int]]:
    """The compiled part's options, and the offsets by batch entry where they differ."""
    batch, heads, _, n = call.shape
    options = _core.AttentionOptions()
    options.causal = bool(causal)
    options.cap_after_mask = bool(cap_after_mask)
    options.scale = None if scale is None else _finite("scale", scale)
    options.soft_cap = 0.0 if soft_cap is None else _finite("soft_cap", soft_cap)
    if options.soft_cap < 0:
        raise ValueError(f"soft_cap: positive, or 0 or None for none; it is {soft_cap}")
    options.window_left, options.window_right = _window(window)
    options.alibi_slopes = _by_head("alibi_slopes", alibi_slopes, heads)
    options.sinks = _by_head("sinks", sinks, heads)
    if n_keys is not None:
        counts = _arrays.integers("n_keys", n_keys)
        if len(counts) != batch or not all(0 <= count <= n for count in counts):
            raise ValueError(f"n_keys: {batch} from 0 to {n} wanted, one for every batch entry; they are {counts}")
        options.n_keys = counts
    offsets = [call.n_past] if query_offset is None else _arrays.integers("query_offset", query_offset)
    offsets = [_arrays.integer("query_offset", one, -_FARTHEST, _FARTHEST) for one in offsets]
    if len(offsets) not in (1, batch):
        raise ValueError(f"query_offset: one or {batch} of them wanted, there are {len(offsets)}")
    if len(set(offsets)) <= 1 and offsets:
        options.query_offset = offsets[0]
        return options, []
    return options, offsets


def _finite(name: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name}: must be finite, it is {number}")
    return number


def _window(window: Window | None) -> tuple[int, int]:
    if window is None:
        return -1, -1
    try:
        left, right = window
    except (TypeError, ValueError):
        raise ValueError(f"window: a pair (left, right) wanted, it is {window!r}") from None
    sides = tuple(-1 if side is None else _arrays.integer("window", side, -1, _FARTHEST) for side in (left, right))
    return sides[0], sides[1]


def _by_head(name: str, values: Any | None, heads: int) -> list[float]:
    if values is None:
        return []
    numbers = _arrays.vector(name, values)
    if len(numbers) != heads:
        raise ValueError(f"{name}: {heads} of them wanted, one for every head; there are {len(numbers)}")
    _arrays.require_finite(name, numbers)
    return [float(one) for one in numbers]
