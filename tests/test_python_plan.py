"""headspan.plan, plan_from_data and attention_costs beside the command line and the definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import headspan
from oracle import command

ROOT = Path(__file__).resolve().parent.parent


def test_the_closed_form_is_scipys() -> None:
    found = headspan.plan(512, n=1e5, noise=1.0, bias=("exponential", 1.0, 0.5))
    lam = np.log(np.sqrt(2))  # V(1) at bandwidth 1
    a = (0.5 + lam) / lam
    level = np.log(0.5 * 1e5 * 512)
    expected = (special.lambertw(a * np.exp(level + a)).real / a - 1) / lam
    assert found.closed_form is not None
    assert found.closed_form.head_dim == pytest.approx(expected, rel=1e-10)
    assert found.closed_form.head_dim == pytest.approx(17.82, abs=5e-3)
    assert found.regime == "exponential_fixed" and found.best in found.near_ties
    assert found.head_dim_on_log_n.value == pytest.approx(1.130, abs=5e-4)


def test_python_and_the_command_line_say_the_same(tmp_path: Path) -> None:
    document = command.plan(
        "--budget", 60, "--n", 5000, "--noise", 0.3, "--bias", "finite:7,2", "--bandwidth", "optimal", "--d-model", 20,
        "--multiple-of", 2, "--exact",
    )  # fmt: skip
    found = headspan.plan(
        60, n=5000, noise=0.3, bias=("finite", 7, 2), bandwidth="optimal", d_model=20, multiple_of=2, exact=True
    )
    assert [(p.head_dim, p.n_heads, p.mse, p.bandwidth) for p in found.curve] == [
        (p["head_dim"], p["n_heads"], p["mse"], p["bandwidth"]) for p in document["curve"]
    ]
    assert found.law == document["law"] and found.optimum.head_dim == document["optimum"]["head_dim"]


def test_tables_of_bias_and_correlation() -> None:
    found = headspan.plan(
        16, n=1e6, noise=1, bias=("table", [[8, 0.1, 0.02], [2, 0.5, 0.01]]), rho=[[1, 0.5], [16, 0.2]]
    )
    assert [p.head_dim for p in found.curve] == [2, 3, 4, 5, 6, 7, 8]
    assert found.curve[1].squared_bias == pytest.approx(0.5 - 0.4 / 6)
    assert found.curve[1].rho == pytest.approx(0.5 - 0.3 * 2 / 15)
    assert found.curve[1].standard_error == pytest.approx(0.01 + 0.01 / 6)


def test_a_plan_from_data_is_the_command_lines(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(60, 3))
    y = np.sin(x[:, 0]) + 0.2 * random.normal(size=60)
    path = tmp_path / "data.csv"
    rows = [",".join(repr(float(v)) for v in row) for row in np.column_stack([x, y])]
    path.write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    document = command.plan(path, "--y", "y", "--budget", 6, "--check", "--at-n", 1e4)
    found = headspan.plan_from_data(x, y, 6, check=True, at_n=1e4)
    for key in ("pilot", "curve", "best", "at_n", "check", "slopes"):
        assert json.dumps(found.document[key]) == json.dumps(document[key])
    assert found.regret == document["check"]["regret"] and len(found.measured) == 3
    assert found.at_n is not None and found.at_n.mse < found.plan.best.mse
    assert headspan.plan_from_data(x, y, 6).regret is None


def test_costs_of_a_model() -> None:
    costs = headspan.attention_costs(ROOT / "examples/char_gpt/config.json", context=128)
    own = [cost for cost in costs if cost.is_model]
    assert len(own) == 1 and (own[0].n_heads, own[0].head_dim) == (8, 18)
    assert own[0].parameters == 5 * 4 * 144 * 144
    assert own[0].flops == 2 * own[0].parameters + 5 * 4 * 128 * 144


def test_what_cannot_be_is_explained() -> None:
    with pytest.raises(ValueError, match="noise: must be positive"):
        headspan.plan(8, n=100, noise=0, bias=("finite", 4))
    with pytest.raises(ValueError, match=r"bias: .* is none of"):
        headspan.plan(8, n=100, noise=1, bias=("exponential", 1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs d_model"):
        headspan.plan(8, n=100, noise=1, bias=("finite", 4), rho="frame")
    with pytest.raises(ValueError, match="bandwidth"):
        headspan.plan(8, n=100, noise=1, bias=("finite", 4), bandwidth="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 8 rows"):
        headspan.plan_from_data(np.eye(4), np.arange(4.0), 4)
    with pytest.raises(ValueError, match="draws"):
        headspan.plan_from_data(np.eye(9), np.arange(9.0), 4, check=True, draws=0)
    with pytest.raises(TypeError, match="at_n: a number wanted, not str"):
        headspan.plan_from_data(np.eye(9), np.arange(9.0), 4, at_n="many")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="no such file"):
        headspan.attention_costs("nothing.json")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"budget": 512.5}, TypeError, "budget: an integer wanted, not float"),
        ({"n": "many"}, TypeError, "n: a number wanted, not str"),
        ({"noise": None}, TypeError, "noise: a number wanted, not NoneType"),
        ({"bias": "exponential"}, TypeError, "bias: a tuple such as"),
        ({"bias": ("exponential", "1", 0.5)}, TypeError, "bias: a number wanted, not str"),
        ({"bias": ("table", "rows")}, TypeError, "bias: "),
        ({"bandwidth": None}, TypeError, "bandwidth: a number wanted"),
        ({"rho": "near"}, ValueError, "rho: must be 'orthogonal', 'frame'"),
        ({"rho": True}, TypeError, "rho: a number wanted, not bool"),
        ({"exact": 1}, TypeError, "exact: True or False wanted, not int"),
        ({"multiple_of": 1.5}, TypeError, "multiple_of: an integer wanted"),
        ({"d_model": 2**70}, ValueError, "d_model: at most"),
    ],
)
def test_what_is_of_the_wrong_type_is_named(given: dict[str, Any], error: type[Exception], words: str) -> None:
    arguments: dict[str, Any] = {"budget": 8, "n": 1e5, "noise": 1, "bias": ("exponential", 1, 0.5), **given}
    budget = arguments.pop("budget")
    with pytest.raises(error, match=words) as caught:
        headspan.plan(budget, **arguments)
    assert "arguments" not in str(caught.value)


def test_plans_carry_their_notes_and_edges() -> None:
    found = headspan.plan(4, n=1e3, noise=1, bias=("table", [[1, 0.5], [2, 0.3], [4, -0.1]]))
    assert len(found.notes) == 1 and "below zero" in found.notes[0]
    slope = found.head_dim_on_log_n
    assert (slope.value, slope.edge, slope.n_at_edge) == (None, "the budget", slope.n_points)
