"""Weights of the members of an ensemble, and everything its predictions say of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core
from ._core import Exchangeability, FamilyFit, PredictionFacts, Shrunk, Weighting

FAMILIES = ("uniform", "geometric", "sub_exponential", "heavy_tailed", "fibonacci")


def decompose_predictions(
    predictions: ArrayLike,
    truth: ArrayLike,
    *,
    n_bootstrap: int = 400,
    n_folds: int = 10,
    seed: int = 0,
    greatest_norm2: float | None = None,
    threads: int | None = None,
) -> PredictionFacts:
    """What `headspan decompose` prints: the error of the members' mean in its terms, their correlation, their weights.

    predictions: [H, m] of H members at m points, or [R, H, m] after each of R training sets, which is what tells bias
    from variance. truth: [m]. Members are in the order of the structured laws, most trusted first. n_bootstrap:
    resamples of the points for standard errors, 0 for none. n_folds: of the cross-validated risks, over the points or,
    where there are several, over the training sets, at most one for each. greatest_norm2: bound on |a|^2 of the simplex
    and monotone weights.

    Terms that are not identified, or undefined, are None. The same bits for any number of threads. Raises ValueError
    on shapes that disagree, values that are not finite, a mean squared error beyond 1e140 or below 1e-140, and options
    out of range.
    """
    array = _arrays.numbers("predictions", predictions)
    if array.ndim not in (2, 3):
        raise ValueError(
            f"predictions: [members, points] or [replicates, members, points] wanted, its shape is {array.shape}"
        )
    repeated = array[np.newaxis] if array.ndim == 2 else array
    return _core.decompose_predictions(
        list(np.ascontiguousarray(repeated, dtype=np.float64)),
        _arrays.vector("truth", truth),
        _arrays.integer("n_bootstrap", n_bootstrap, 0, 2**31 - 1),
        _arrays.integer("n_folds", n_folds, 2, 2**31 - 1),
        _arrays.seed_number(seed),
        None if greatest_norm2 is None else float(greatest_norm2),
        _arrays.thread_count(threads),
    )


def error_second_moments(predictions: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """M_hl = mean_i (f_h,i - y_i)(f_l,i - y_i), [H, H], of predictions [H, m] and y [m]."""
    return _core.error_second_moments(_arrays.rows("predictions", predictions, np.float64), _arrays.vector("y", y))


def risk(m: ArrayLike, weights: ArrayLike) -> float:
    """a^T M a for the error second-moment matrix M [H, H] and weights a [H]."""
    return _core.risk(_arrays.rows("m", m, np.float64), _arrays.vector("weights", weights))


def optimal_weights(m: ArrayLike) -> Weighting:
    """The weights of sum one and least a^T M a, of any sign: M^-1 1 / (1^T M^-1 1).

    m: [H, H], symmetric. Where the minimum is not unique (identical members, more members than points) the one closest
    to uniform, with status "singular". Raises ValueError where M curves downwards between weightings of sum one.
    """
    return _core.optimal_weights(_arrays.rows("m", m, np.float64))


def simplex_weights(m: ArrayLike, *, greatest_norm2: float | None = None) -> Weighting:
    """The same with a >= 0 and, where given, |a|^2 <= greatest_norm2 (at least 1/H); residual is the largest violation
    of the conditions of optimality, relative to the largest entry of |M|."""
    return _core.simplex_weights(_arrays.rows("m", m, np.float64), _bound(greatest_norm2))


def monotone_weights(m: ArrayLike, *, greatest_norm2: float | None = None) -> Weighting:
    """The same with a_1 >= a_2 >= ... >= a_H >= 0, for members in order of trust."""
    return _core.monotone_weights(_arrays.rows("m", m, np.float64), _bound(greatest_norm2))


def ledoit_wolf(rows: ArrayLike, *, centre: bool = True) -> Shrunk:
    """The covariance of rows [n, p], divisor n, shrunk towards a multiple of the identity by Ledoit and Wolf's share.

    centre=False: second moments about zero, as of errors.
    """
    return _core.ledoit_wolf(_arrays.rows("rows", rows, np.float64), bool(centre))


def family_weights(
    family: str, n: int, parameters: Mapping[str, float] | None = None, /, **named: float
) -> NDArray[np.float64]:
    """Weights [n] of sum one by a law for members h = 1 .. n in order of trust.

    family and its parameters, as keywords or a mapping: "uniform"; "geometric", r^h, 0 < r <= 1; "sub_exponential",
    exp(-c h^alpha), c >= 0, 0 < alpha < 1; "heavy_tailed", h^-p, p >= 0; "fibonacci", F_(n-h+1).
    """
    given = {**(parameters or {}), **named}
    wanted = _core.parameter_names(family)
    if set(given) != set(wanted):
        raise ValueError(f"{family}: parameters {wanted} wanted, {sorted(given)} given")
    return _core.family_weights(family, int(n), np.array([float(given[name]) for name in wanted]))


def fit_family(m: ArrayLike, family: str) -> FamilyFit:
    """A law fitted to the error second-moment matrix m [H, H]: the parameters of least risk."""
    return _core.fit_family(_arrays.rows("m", m, np.float64), family)


def exchangeability(m: ArrayLike, *, tolerance: float = 1e-9) -> Exchangeability:
    """Whether a known M has equal diagonal and equal off-diagonal entries, so that no structure can beat equal weights."""
    return _core.exchangeability(_arrays.rows("m", m, np.float64), float(tolerance))


def exchangeability_test(errors: ArrayLike, *, level: float = 0.05) -> Exchangeability:
    """The same of an M estimated from errors [H, m], f_h - y at independent points, by the standard error of each
    entry. `holds` where p is at least `level`: not to hold is a finding, to hold may only mean few points."""
    return _core.exchangeability_test(_arrays.rows("errors", errors, np.float64), float(level))


def structure_loss(alike: Exchangeability, weights: ArrayLike) -> float:
    """What weights [H] of sum one lose against equal ones where all members are alike: v (1 - rho)(|a|^2 - 1/H)."""
    return _core.structure_loss(alike, _arrays.vector("weights", weights))


def _bound(greatest_norm2: float | None) -> float | None:
    return None if greatest_norm2 is None else float(greatest_norm2)
