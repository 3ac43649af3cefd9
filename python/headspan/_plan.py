"""How many heads of which dimension: from a law, from a table, for a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _arrays, _core

BiasProfile = (
    tuple[Literal["exponential", "polynomial"], float, float]
    | tuple[Literal["finite"], float]
    | tuple[Literal["finite"], float, float]
    | tuple[Literal["table"], ArrayLike]
)
_NO_CURVE = np.empty(0)


@dataclass(frozen=True)
class PlanPair:
    """One pair and the error that is expected of it."""

    head_dim: int
    n_heads: int
    mse: float
    squared_bias: float
    variance: float
    rho: float
    bandwidth: float | None
    """The best of the pair, where it was chosen."""
    standard_error: float | None
    """Of mse; from data, of its difference from that of the best pair."""
    capped: bool
    """The law gave a variance above the noise."""
    beyond_range: bool
    """growth^k > sqrt(n): the law overstates the variance."""
    chosen_share: float | None = None
    """From data: share of the resamples in which the pair was best."""


@dataclass(frozen=True)
class RealPair:
    """A real-valued head dimension and number of heads."""

    head_dim: float
    n_heads: float


@dataclass(frozen=True)
class Slope:
    """A least-squares slope, and what it tends to."""

    value: float | None
    """Of the points at no edge; None where nine in ten are at one."""
    limit: float | None
    start: float
    stop: float
    n_points: int
    n_at_edge: int
    """Points whose best pair is held fast."""
    edge: str | None
    """By what: the head dimensions measured, the budget, d_model or head_dim 1."""


@dataclass(frozen=True)
class Plan:
    """The best pair of a budget, and the law it follows."""

    n: float
    best: PlanPair
    near_ties: tuple[PlanPair, ...]
    curve: tuple[PlanPair, ...]
    regime: str
    law: str
    closed_form: RealPair | None
    optimum: RealPair
    head_dim_on_log_n: Slope
    log_n_heads_on_log_budget: Slope
    notes: tuple[str, ...]
    """What speaks against believing the best pair."""


@dataclass(frozen=True)
class MeasuredPair:
    """One pair fitted: the mean squared leave-one-out residual, mean over draws of the projections."""

    head_dim: int
    n_heads: int
    bandwidth: float
    loo: float
    standard_error: float | None
    """Over the draws; 0 where one head sees all inputs, None for one draw of another pair."""
    n_draws: int


@dataclass(frozen=True)
class DataPlan:
    """A plan measured on a table."""

    plan: Plan
    noise: float
    at_n: PlanPair | None
    """The best pair for the other number of rows asked for."""
    at_n_notes: tuple[str, ...]
    """What speaks against believing it."""
    measured: tuple[MeasuredPair, ...]
    """Every pair fitted; empty unless checked."""
    regret: float | None
    """Leave-one-out error of the planned pair over that of the best one measured, minus 1."""
    regret_standard_error: float | None
    within_noise: bool | None
    """The regret is within two standard errors of 0."""
    document: dict[str, Any]
    """Everything, as docs/plan_data.schema.json describes, but for the input file."""


@dataclass(frozen=True)
class AttentionCost:
    """The attention of all layers: parameters, cache bytes of a token, operations of a token."""

    head_dim: int
    n_heads: int
    n_kv_heads: int
    parameters: int
    kv_cache_bytes: int
    flops: int
    is_model: bool


def plan(
    budget: int,
    *,
    n: float,
    noise: float,
    bias: BiasProfile,
    bandwidth: float | Literal["optimal"] = 1.0,
    signal: float | None = None,
    rho: float | Literal["orthogonal", "frame"] | ArrayLike | None = None,
    exact: bool = False,
    multiple_of: int = 1,
    n_kv_heads: int = 1,
    d_model: int | None = None,
) -> Plan:
    """The best pair of head dimension and number of heads for a law, as `headspan plan` finds it.

    bias: ("exponential", A0, g), ("polynomial", A0, s), ("finite", dimension[, A0]) or ("table", rows) with rows
    [m, 2 or 3] of head dimension, squared bias and standard error. bandwidth: in standard deviations of the inputs, or
    "optimal". rho: "orthogonal", "frame" (needs d_model), a number, or rows of head dimension and correlation; frame
    with d_model and orthogonal without unless given. Raises ValueError for what cannot be, and says why.
    """
    kind, number, rho_table = _correlation("frame" if rho is None and d_model is not None else rho, d_model)
    profile, numbers, bias_table = _bias(bias)
    rules = _rules(budget, exact, multiple_of, n_kv_heads, d_model)
    width = None if isinstance(bandwidth, str) else _arrays.number("bandwidth", bandwidth)
    if isinstance(bandwidth, str) and bandwidth != "optimal":
        raise ValueError(f"bandwidth: must be a number or 'optimal', it is {bandwidth!r}")
    document = json.loads(
        _core.plan_document(
            rules,
            _arrays.number("n", n),
            _arrays.number("noise", noise),
            profile,
            numbers,
            bias_table,
            width,
            None if signal is None else _arrays.number("signal", signal),
            kind,
            number,
            rho_table,
        )
    )
    return _plan_of(document, float(n))


def plan_from_data(
    x: ArrayLike,
    y: ArrayLike,
    budget: int,
    *,
    at_n: float | None = None,
    check: bool = False,
    draws: int = 24,
    exact: bool = False,
    multiple_of: int = 1,
    n_kv_heads: int = 1,
    d_model: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> DataPlan:
    """The best pair for a table, from leave-one-out decompositions of heads on random projections.

    x: [n, d], y: [n]. at_n: a plan for so many rows too. check: every pair is fitted with new
    projections, those that could be the best `draws` times. Raises ValueError on fewer than 8 rows, what is not finite, and where nothing varies.
    """
    check = _arrays.flag("check", check)
    if check:
        draws = _arrays.integer("draws", draws, 1, 2**63 - 1)
    rules = _rules(budget, exact, multiple_of, n_kv_heads, d_model)
    text = _core.plan_data_document(
        _arrays.rows("x", x, np.float64), _arrays.vector("y", y), rules,
        None if at_n is None else _arrays.number("at_n", at_n), draws if check else 0, _arrays.seed_number(seed),
        _arrays.thread_count(threads),
    )  # fmt: skip
    document = json.loads(text)
    found = document["check"]
    return DataPlan(
        plan=_plan_of(document, document["n"]),
        noise=document["pilot"]["noise"],
        at_n=_pair(document["at_n"]["best"]) if document["at_n"] else None,
        at_n_notes=tuple(document["at_n"]["notes"]) if document["at_n"] else (),
        measured=tuple(MeasuredPair(**pair) for pair in found["pairs"]) if found else (),
        regret=found["regret"] if found else None,
        regret_standard_error=found["regret_standard_error"] if found else None,
        within_noise=found["within_noise"] if found else None,
        document=document,
    )


def attention_costs(
    config: str | PathLike[str],
    *,
    budget: int | None = None,
    exact: bool = False,
    multiple_of: int = 1,
    n_kv_heads: int | None = None,
    d_model: int | None = None,
    context: int = 4096,
    bytes_per_number: int = 2,
) -> tuple[AttentionCost, ...]:
    """Parameters, cache and operations of every pair of a model's attention, from its config.json.

    budget: n_heads x head_dim of the model unless given, then used to the full. n_kv_heads: the model's where its key
    heads are shared, else one per head. Raises RuntimeError naming the file and the key of a configuration that cannot
    be used, ValueError for pairs that cannot be.
    """
    rules = _rules(1, exact, multiple_of, 1, d_model)
    text = _core.plan_model_document(
        _path("config", config),
        _optional_count("budget", budget),
        rules,
        _optional_count("n_kv_heads", n_kv_heads),
        _arrays.count("context", context),
        _arrays.count("bytes_per_number", bytes_per_number),
    )
    return tuple(AttentionCost(**pair) for pair in json.loads(text)["pairs"])


def _optional_count(name: str, value: int | None) -> int | None:
    return None if value is None else _arrays.count(name, value)


def _rules(budget: int, exact: bool, multiple_of: int, n_kv_heads: int, d_model: int | None) -> _core.PairRules:
    return _core.PairRules(
        _arrays.count("budget", budget),
        _arrays.flag("exact", exact),
        _arrays.count("multiple_of", multiple_of),
        _arrays.count("n_kv_heads", n_kv_heads),
        _optional_count("d_model", d_model),
    )


def _path(name: str, value: str | PathLike[str]) -> str:
    if not isinstance(value, (str, PathLike)):
        raise TypeError(f"{name}: a path wanted, not {type(value).__name__}")
    return fspath(value)


def _curve(name: str, rows: Any) -> _core.MeasuredCurve:
    table = np.asarray(_arrays.numbers(name, rows), dtype=np.float64)
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        raise ValueError(
            f"{name}: rows of head_dim, value and perhaps standard error wanted, the shape is {table.shape}"
        )
    columns = [np.ascontiguousarray(column) for column in table[np.argsort(table[:, 0], kind="stable")].T]
    return _core.MeasuredCurve(columns[0], columns[1], columns[2] if len(columns) == 3 else _NO_CURVE)


def _bias(bias: BiasProfile) -> tuple[str, list[float], _core.MeasuredCurve]:
    none = _core.MeasuredCurve(_NO_CURVE, _NO_CURVE, _NO_CURVE)
    if not isinstance(bias, (tuple, list)) or not bias:
        raise TypeError(f"bias: a tuple such as ('exponential', A0, g) wanted, not {type(bias).__name__}")
    profile, values = bias[0], bias[1:]
    if isinstance(profile, str) and profile == "table" and len(values) == 1:
        return "table", [], _curve("bias", values[0])
    lengths = {"exponential": (2,), "polynomial": (2,), "finite": (1, 2)}
    if not isinstance(profile, str) or profile not in lengths or len(values) not in lengths[profile]:
        raise ValueError(
            f"bias: {bias!r} is none of ('exponential', A0, g), ('polynomial', A0, s), ('finite', dimension[, A0]), "
            "('table', rows)"
        )
    numbers = [_arrays.number("bias", value) for value in values]
    return profile, numbers if len(numbers) == 2 else [numbers[0], 1.0], none


def _correlation(rho: Any, d_model: int | None) -> tuple[str, float, _core.MeasuredCurve]:
    none = _core.MeasuredCurve(_NO_CURVE, _NO_CURVE, _NO_CURVE)
    if rho is None or (isinstance(rho, str) and rho == "orthogonal"):
        return "orthogonal", 0.0, none
    if isinstance(rho, str):
        if rho != "frame":
            raise ValueError(f"rho: must be 'orthogonal', 'frame', a number or rows, it is {rho!r}")
        if d_model is None:
            raise ValueError("rho: 'frame' needs d_model, the dimension of the inputs")
        return "frame", _arrays.number("d_model", d_model), none
    if np.ndim(rho) == 0:
        return "common", _arrays.number("rho", rho), none
    return "table", 0.0, _curve("rho", rho)


def _pair(point: dict[str, Any]) -> PlanPair:
    return PlanPair(**{key: value for key, value in point.items() if key != "log_growth"})


def _pairs(points: Sequence[dict[str, Any]]) -> tuple[PlanPair, ...]:
    return tuple(_pair(point) for point in points)


def _slope(found: dict[str, Any]) -> Slope:
    return Slope(
        value=found["value"],
        limit=found["limit"],
        start=found["from"],
        stop=found["to"],
        n_points=found["n_points"],
        n_at_edge=found["n_at_edge"],
        edge=found["edge"],
    )


def _plan_of(document: dict[str, Any], n: float) -> Plan:
    closed = document["closed_form"]
    return Plan(
        n=n,
        best=_pair(document["best"]),
        near_ties=_pairs(document["near_ties"]),
        curve=_pairs(document["curve"]),
        regime=document["regime"],
        law=document["law"],
        closed_form=RealPair(closed["head_dim"], closed["n_heads"]) if closed else None,
        optimum=RealPair(**document["optimum"]),
        head_dim_on_log_n=_slope(document["slopes"]["head_dim_on_log_n"]),
        log_n_heads_on_log_budget=_slope(document["slopes"]["log_n_heads_on_log_budget"]),
        notes=tuple(document["notes"]),
    )
