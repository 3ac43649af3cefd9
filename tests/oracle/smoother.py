"""Nadaraya-Watson regression from its definition: the whole smoother matrix, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KERNELS: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda u: np.exp(-0.5 * u**2),
    "laplace": lambda u: np.exp(-u),
    "epanechnikov": lambda u: np.clip(1 - u**2, 0, None),
    "biweight": lambda u: np.clip(1 - u**2, 0, None) ** 2,
    "triweight": lambda u: np.clip(1 - u**2, 0, None) ** 3,
    "tricube": lambda u: np.clip(1 - u**3, 0, None) ** 3,
    "uniform": lambda u: np.where(u <= 1, 1.0, 0.0),
}


def weights(queries: Array, keys: Array, bandwidth: object, kernel: str, shape: str) -> Array:
    """W [m, n]; rows of queries without a neighbour are NaN."""
    u = np.abs(queries[:, None, :] - keys[None, :, :]) / np.asarray(bandwidth, dtype=float)
    raw = KERNELS[kernel](np.linalg.norm(u, axis=2)) if shape == "radial" else KERNELS[kernel](u).prod(axis=2)
    with np.errstate(invalid="ignore"):
        found: Array = raw / raw.sum(axis=1, keepdims=True)
    return found


@dataclass(frozen=True)
class Scores:
    fit: Array
    n_eff: Array
    loo_fit: Array
    loo: float
    gcv: float
    aicc: float
    trace: float
    trace_wwt: float
    sigma2: float
    n_isolated: int


def scores(x: Array, y: Array, bandwidth: object, kernel: str = "gaussian", shape: str = "radial") -> Scores:
    """Leave-one-out by leaving each row out, not by the shortcut through w_ii."""
    n = len(y)
    w = weights(x, x, bandwidth, kernel, shape)
    fit = w @ y
    loo_fit = np.empty(n)
    for i in range(n):
        rest = np.arange(n) != i
        loo_fit[i] = (weights(x[i : i + 1], x[rest], bandwidth, kernel, shape) @ y[rest])[0]
    alone = np.isnan(loo_fit)
    sigma2 = float(np.mean((y - fit) ** 2))
    trace = float(np.trace(w))
    return Scores(
        fit=fit,
        n_eff=1 / (w**2).sum(axis=1),
        loo_fit=loo_fit,
        loo=float(np.mean((y - loo_fit)[~alone] ** 2)),
        gcv=sigma2 / (1 - trace / n) ** 2,
        aicc=float(np.log(sigma2) + (1 + trace / n) / (1 - (trace + 2) / n)),
        trace=trace,
        trace_wwt=float((w**2).sum()),
        sigma2=sigma2,
        n_isolated=int(alone.sum()),
    )
