"""Nadaraya-Watson estimates and attention from their definitions, with whole matrices, in float64 numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KERNELS: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda u: -0.5 * u**2,
    "laplace": lambda u: -u,
    "epanechnikov": lambda u: _log(1 - u**2),
    "biweight": lambda u: 2 * _log(1 - u**2),
    "triweight": lambda u: 3 * _log(1 - u**2),
    "tricube": lambda u: 3 * _log(1 - u**3),
    "uniform": lambda u: np.where(u <= 1, 0.0, -np.inf),
}
COMPACT = ("epanechnikov", "biweight", "triweight", "tricube", "uniform")


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(values, 0.0))


def log_weights(kernel: str, shape: str, queries: Array, keys: Array, bandwidth: Array) -> Array:
    """[m, n] logarithms of weights before normalisation."""
    if kernel == "softmax":
        scores: Array = (queries / bandwidth) @ (keys / bandwidth).T
        return scores
    difference = np.abs(queries[:, None, :] - keys[None, :, :]) / bandwidth
    if shape == "product":
        product: Array = KERNELS[kernel](difference).sum(-1)
        return product
    length: Array = np.sqrt((difference**2).sum(-1))
    return KERNELS[kernel](length)


def close(found: Any, wanted: Any, *, rtol: float = 1e-7, atol: float = 0.0) -> None:
    """Asserts that an array is there and equal within the tolerance, NaN and infinities at the same places."""
    assert found is not None
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


@dataclass
class Means:
    weights: Array
    output: Array
    log_normaliser: Array
    n_eff: Array


def softmax_means(scores: Array, values: Array) -> Means:
    """Weights proportional to exp(scores) over the last axis; nothing in reach: NaN weights and output."""
    top = scores.max(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.exp(scores - top)
        total = weights.sum(-1, keepdims=True)
        weights = weights / total
        log_normaliser = np.where(np.isneginf(top), -np.inf, np.log(total) + top)[..., 0]
        n_eff = np.where(np.isneginf(top[..., 0]), 0.0, 1 / (weights**2).sum(-1))
    return Means(weights, weights @ values, log_normaliser, n_eff)


def estimate(kernel: str, shape: str, queries: Array, keys: Array, values: Array, bandwidth: Array) -> Means:
    return softmax_means(log_weights(kernel, shape, queries, keys, bandwidth), values)


def attention_scores(query: Array, key: Array, scale: float) -> Array:
    """[batch, n_heads, m, n], key heads repeated for the query heads that share them."""
    group = query.shape[1] // key.shape[1]
    scores: Array = scale * query @ np.repeat(key, group, axis=1).swapaxes(-1, -2)
    return scores
