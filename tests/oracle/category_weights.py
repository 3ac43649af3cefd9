"""Kernels of categories from their definitions, as whole matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ORDERED = ("wang_van_ryzin", "li_racine_ordered")


def column_weights(queries: Iterable[Any], keys: Iterable[Any], kernel: str, lam: float, order: Iterable[Any]) -> Array:
    """[m, n] values of one column; `order`: its levels, of which another equals none."""
    queries, keys, order = list(queries), list(keys), list(order)
    equal = np.array([[q == key for key in keys] for q in queries])
    c = len(order)
    if kernel == "aitchison_aitken":
        return np.where(equal, 1 - lam, lam / (c - 1))
    if kernel == "li_racine":
        return np.where(equal, 1.0, lam)
    place = {level: i for i, level in enumerate(order)}
    apart = np.array([[abs(place[q] - place[key]) for key in keys] for q in queries], dtype=float)
    if kernel == "wang_van_ryzin":
        return np.where(equal, 1 - lam, (1 - lam) / 2 * lam**apart)
    return np.asarray(lam**apart)


def means(weights: Array, values: Array) -> Array:
    """Weighted means of values [n] or [n, v]; NaN where no weight is positive."""
    with np.errstate(invalid="ignore"):
        return np.asarray(weights @ values / weights.sum(axis=1).reshape(-1, *[1] * (values.ndim - 1)))


def loo(weights: Array, values: Array) -> float:
    """Mean squared leave-one-out residual of the points that another reaches."""
    others = weights * (1 - np.eye(len(values)))
    reached = others.sum(axis=1) > 0
    return float(np.mean((values - means(others, values))[reached] ** 2))
