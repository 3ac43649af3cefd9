"""headspan.simulate_*: the numbers of the command line, and its closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import headspan
from oracle import command


def test_python_and_the_command_line_agree() -> None:
    facts = headspan.simulate_angles([20, 70], n=300, n_points=10, n_replicates=20, seed=3)
    rows = command.simulate(
        "heads", "--degrees", "20,70", "--n", 300, "--n-points", 10, "--replicates", 20, "--seed", 3
    )["rows"]
    for mine, other in zip(facts.rows, rows, strict=True):
        assert mine.law.rho.value == other["rho"]
        assert mine.law.rho.standard_error == other["rho_standard_error"]
        assert mine.centred_rho_predicted == other["centred_rho_predicted"]
    colony = headspan.simulate_colony([0.1, 1.0], n_replicates=30, thompson=True, quorum=0.5)
    document = command.simulate(
        "colony", "--exploration", "0.1,1", "--replicates", 30, "--rule", "thompson", "--quorum", 0.5
    )
    for scouts, other in zip(colony.rows, document["rows"], strict=True):
        assert (scouts.law.v.value, scouts.n_steps) == (other["v"], other["n_steps"])
    assert colony.trend.direction == document["trend"]["direction"]


def test_softmax_heads_have_a_bandwidth_of_their_own() -> None:
    facts = headspan.simulate_angles([90], kernel="softmax", n=200, n_points=5, n_replicates=4)
    assert facts.rows[0].rho_limit == pytest.approx(7 / 8)
    assert facts.rows[0].law.rho_predicted < 1


def test_latents_have_the_predicted_bias() -> None:
    facts = headspan.simulate_latents([1, 3], budget=9, n=500, n_points=40, n_replicates=15)
    assert [row.n_heads for row in facts.rows] == [9, 3]
    for row in facts.rows:
        assert row.squared_bias.standard_error is not None
        wanted = pytest.approx(row.squared_bias_predicted, abs=4 * row.squared_bias.standard_error + 0.01)
        assert row.squared_bias.value == wanted
    assert facts.best_predicted in (1, 3) and facts.best in (1, 3)


def test_the_sum_of_heads_beats_their_mean() -> None:
    facts = headspan.simulate_additive(n_replicates=20, n_points=40)
    assert facts.sum.mse.value < 0.1 * facts.mean.mse.value
    assert facts.mean.squared_bias.value == pytest.approx(facts.mean.squared_bias_predicted, rel=0.05)
    assert facts.head_variance.value > 0


def test_forest_is_the_same_on_any_number_of_threads() -> None:
    one, many = (
        headspan.simulate_forest([2, 50], n_trees=4, n=80, n_points=10, n_replicates=8, threads=t) for t in (1, 4)
    )
    assert [row.law.v.value for row in one.rows] == [row.law.v.value for row in many.rows]
    assert [row.mtry for row in one.rows] == [2, 50]
    np.testing.assert_allclose([row.law.dial for row in one.rows], [0.96, 0.0])


def test_trouble_is_named() -> None:
    with pytest.raises(ValueError, match="degrees: must lie between 0 and 90"):
        headspan.simulate_angles([100.0])
    with pytest.raises(ValueError, match="kernel: must be gaussian or softmax"):
        headspan.simulate_angles(kernel="laplace")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mtry: must lie between 1 and 50"):
        headspan.simulate_forest([0])
    with pytest.raises(ValueError, match="n_scouts: must be at least 2"):
        headspan.simulate_colony(n_scouts=1)


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match="n_heads: an integer wanted, not float"):
        headspan.simulate_angles([0], n_heads=2.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="degrees: "):
        headspan.simulate_angles("none")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mtry: an integer"):
        headspan.simulate_forest([1.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="bootstrap: True or False wanted"):
        headspan.simulate_forest([1], bootstrap="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="noise_sd: a number wanted"):
        headspan.simulate_colony([0.5], noise_sd="loud")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="kernel: a name in quotes"):
        headspan.simulate_angles([0], kernel=1)  # type: ignore[arg-type]
