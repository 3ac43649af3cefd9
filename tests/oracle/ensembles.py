"""Decompositions and weights of an ensemble from their definitions, in numpy and scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

Array = NDArray[Any]


def terms(predictions: Array, truth: Array) -> dict[str, float]:
    """Every term for predictions [R, H, m] and truth [m], expectations being means over the R training sets."""
    ensemble = predictions.mean(axis=1)
    expected, expected_ensemble = predictions.mean(axis=0), ensemble.mean(axis=0)
    off = predictions - expected
    covariance = np.einsum("rhi,rli->hl", off, off) / (len(predictions) * truth.size)
    heads = len(covariance)
    return {
        "mse": float(((ensemble - truth) ** 2).mean()),
        "mean_member_mse": float(((predictions - truth) ** 2).mean()),
        "ambiguity": float(((predictions - ensemble[:, None, :]) ** 2).mean()),
        "bias2": float(((expected_ensemble - truth) ** 2).mean()),
        "variance": float(np.trace(covariance) / heads),
        "covariance": float((covariance.sum() - np.trace(covariance)) / (heads * (heads - 1))),
        "disparity": float(((expected - expected_ensemble) ** 2).mean()),
        "diversity": float(((predictions - ensemble[:, None, :]) ** 2).mean()),
    }


def second_moments(predictions: Array, truth: Array) -> Array:
    """[H, H] of predictions [R, H, m]."""
    errors = predictions - truth
    moments: Array = np.einsum("rhi,rli->hl", errors, errors) / (len(predictions) * truth.size)
    return moments


def correlation(moments: Array) -> Array:
    scale = np.sqrt(np.diag(moments))
    normalised: Array = moments / np.outer(scale, scale)
    return normalised


def optimal(m: Array) -> Array:
    x = np.linalg.solve(m, np.ones(len(m)))
    normalised: Array = x / x.sum()
    return normalised


def constrained(m: Array, *, monotone: bool = False, greatest_norm2: float | None = None) -> Array:
    """The best of several runs of SLSQP."""
    heads, scale = len(m), np.trace(m) / len(m)
    conditions: list[dict[str, Any]] = [{"type": "eq", "fun": lambda a: a.sum() - 1}]
    if monotone:
        conditions.append({"type": "ineq", "fun": lambda a: a[:-1] - a[1:]})
    if greatest_norm2 is not None:
        conditions.append({"type": "ineq", "fun": lambda a: greatest_norm2 - a @ a})
    starts = [np.full(heads, 1 / heads), np.arange(heads, 0, -1) / (heads * (heads + 1) / 2)]
    found = [
        scipy.optimize.minimize(
            lambda a: a @ m @ a / scale,
            start,
            jac=lambda a: 2 * m @ a / scale,
            bounds=[(0, 1)] * heads,
            constraints=conditions,
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        for start in starts
    ]
    best: Array = min(found, key=lambda one: float(one.fun)).x
    return best


def fibonacci(heads: int) -> Array:
    numbers = [1.0, 1.0]
    while len(numbers) < heads:
        numbers.append(numbers[-1] + numbers[-2])
    raw = np.array(numbers[:heads][::-1])
    normalised: Array = raw / raw.sum()
    return normalised


LAWS: dict[str, tuple[int, Callable[[Array, Array], Array]]] = {
    "geometric": (1, lambda h, p: p[0] ** h),
    "sub_exponential": (2, lambda h, p: np.exp(-p[0] * h ** p[1])),
    "heavy_tailed": (1, lambda h, p: h ** -p[0]),
}


def law(family: str, heads: int, parameters: list[float]) -> Array:
    raw = LAWS[family][1](np.arange(1.0, heads + 1), np.array(parameters))
    normalised: Array = raw / raw.sum()
    return normalised


def ledoit_wolf(rows: Array) -> tuple[Array, float]:
    """Shrunk second moments about zero of rows [n, p], by scikit-learn's formula, and the shrinkage."""
    n, p = rows.shape
    sample = rows.T @ rows / n
    mu = np.trace(sample) / p
    beta = ((rows**2).T @ (rows**2)).sum()
    delta = ((rows.T @ rows) ** 2).sum() / n**2
    beta = (beta / n - delta) / (p * n)
    delta = (delta - 2 * mu * np.trace(sample) + p * mu**2) / p
    shrinkage = min(beta, delta) / delta if delta > 0 and beta > 0 else 0.0
    return (1 - shrinkage) * sample + shrinkage * mu * np.eye(p), float(shrinkage)
