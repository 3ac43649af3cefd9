"""Weights of an ensemble's members in Python, beside numpy, scipy, scikit-learn's published numbers, and the program."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headspan
from oracle import command, ensembles
from oracle.ensembles import Array


def test_results_show_what_they_hold() -> None:
    """One way for every compiled type with public members: Name(member=value, ...)."""
    found = headspan.optimal_weights(np.eye(3))
    assert repr(found).startswith("Weighting(weights=array([0.333333, 0.333333, 0.333333]), risk=0.333333, status='ok'")
    shrunk = headspan.ledoit_wolf(np.arange(12.0).reshape(6, 2) ** 2)
    assert repr(shrunk).startswith("Shrunk(matrix=<array of shape (2, 2)>, shrinkage=")
    colony = headspan.simulate_colony([0.2, 0.4], n_replicates=3)
    assert repr(colony).startswith("ColonyFacts(rows=<2 of ColonyRow>, trend=Trend(change=Part(value=")
    for name in headspan.__all__:
        kind = getattr(headspan, name)
        if isinstance(kind, type):
            assert "__repr__" in vars(kind), name


def moments(heads: int, seed: int) -> Array:
    random = np.random.default_rng(seed)
    errors = random.normal(size=(heads, 3 * heads)) + random.uniform(0.5, 2, heads)[:, None] * random.normal(
        size=3 * heads
    )
    product: Array = errors @ errors.T / (3 * heads)
    return product


@settings(max_examples=40, deadline=None)
@given(heads=st.integers(2, 8), seed=st.integers(0, 10**6))
def test_weights_are_the_minima_that_scipy_finds(heads: int, seed: int) -> None:
    m = moments(heads, seed)
    optimal = headspan.optimal_weights(m)
    np.testing.assert_allclose(optimal.weights, ensembles.optimal(m), rtol=1e-7, atol=1e-10)
    assert optimal.status == "ok" and optimal.risk == pytest.approx(1 / np.linalg.inv(m).sum(), rel=1e-8)
    for found, expected in (
        (headspan.simplex_weights(m), ensembles.constrained(m)),
        (headspan.monotone_weights(m), ensembles.constrained(m, monotone=True)),
        (
            headspan.simplex_weights(m, greatest_norm2=1.2 / heads),
            ensembles.constrained(m, greatest_norm2=1.2 / heads),
        ),
        (
            headspan.monotone_weights(m, greatest_norm2=1.1 / heads),
            ensembles.constrained(m, monotone=True, greatest_norm2=1.1 / heads),
        ),
    ):
        assert found.weights.min() >= 0 and found.weights.sum() == pytest.approx(1, abs=1e-12)
        assert found.risk <= expected @ m @ expected * (1 + 1e-6)
        # SLSQP may break its conditions by its tolerance, and by no more than that does it do better.
        assert found.risk >= expected @ m @ expected * (1 - 1e-6)
        assert found.residual is not None and found.residual < 1e-10


def test_a_bound_on_the_norm_is_kept() -> None:
    m = np.diag([1.0, 9.0])
    a = headspan.simplex_weights(m, greatest_norm2=0.6).weights
    t = np.sqrt(0.05)
    np.testing.assert_allclose(a, [0.5 + t, 0.5 - t], atol=1e-12)
    with pytest.raises(ValueError, match="below 1/H"):
        headspan.simplex_weights(m, greatest_norm2=0.4)


def test_identical_members_share_alike() -> None:
    m = np.diag([1.0, 2.0])[np.ix_([0, 1, 1], [0, 1, 1])]
    for weights in (headspan.optimal_weights, headspan.simplex_weights, headspan.monotone_weights):
        found = weights(m)
        assert found.status == "singular"
        np.testing.assert_allclose(found.weights, [2 / 3, 1 / 6, 1 / 6], atol=1e-6)


def test_what_is_no_matrix_of_errors_is_refused() -> None:
    for bad in (np.ones((2, 3)), np.array([[1.0, 0.5], [0.2, 1.0]]), np.array([[1.0, 3.0], [3.0, 1.0]]), [[np.nan]]):
        with pytest.raises(ValueError, match="M: "):
            headspan.optimal_weights(bad)


def test_error_second_moments() -> None:
    random = np.random.default_rng(0)
    f, y = random.normal(size=(4, 5000)), random.normal(size=5000)
    expected = (f - y) @ (f - y).T / 5000
    np.testing.assert_allclose(headspan.error_second_moments(f, y), expected, rtol=1e-12, atol=1e-14)
    a = [0.1, 0.2, 0.3, 0.4]
    assert headspan.risk(expected, a) == pytest.approx(np.array(a) @ expected @ a, rel=1e-13)


def test_more_members_than_points_of_any_number() -> None:
    random = np.random.default_rng(2)
    for heads, points in ((30, 25), (60, 30), (100, 99), (20, 3)):
        f = random.normal(size=(heads, points)) + random.normal(size=points)
        facts = headspan.decompose_predictions(f, np.zeros(points), n_bootstrap=0, n_folds=2)
        optimal = facts.weights["optimal"].weighting
        assert optimal.status == ("singular" if points < heads - 1 else "ok")
        assert optimal.risk == pytest.approx(0, abs=1e-9)
        # The least-norm way from equal weights to none in error.
        conditions = np.vstack([f.T, np.ones(heads)])
        least = np.linalg.lstsq(conditions, np.r_[np.zeros(points), 1], rcond=None)[0]
        np.testing.assert_allclose(optimal.weights, least, atol=1e-6)


def test_ledoit_wolf_gives_scikit_learns_numbers(tables: Path) -> None:
    with (tables / "ledoit_wolf_n50.csv").open(newline="") as file:
        rows = np.array([[float(r["x1"]), float(r["x2"])] for r in csv.DictReader(file)])
    found = headspan.ledoit_wolf(rows)
    assert found.shrinkage == pytest.approx(0.23025406200239137, rel=1e-13)
    expected = [[0.44067331790709885, 0.16161585073939186], [0.16161585073939186, 0.8022629424651938]]
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-13)


@pytest.mark.parametrize(("n", "p"), [(5, 12), (40, 3), (1, 4)])
def test_ledoit_wolf_about_zero(n: int, p: int) -> None:
    rows = np.random.default_rng(n).normal(size=(n, p)) * np.linspace(0.5, 2, p) + 1
    matrix, shrinkage = ensembles.ledoit_wolf(rows)
    found = headspan.ledoit_wolf(rows, centre=False)
    assert found.shrinkage == pytest.approx(shrinkage, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-10, atol=1e-12)


def test_family_weights() -> None:
    cases: dict[str, dict[str, float]] = {
        "geometric": {"r": 0.7}, "sub_exponential": {"c": 1.3, "alpha": 0.4}, "heavy_tailed": {"p": 1.5},
    }  # fmt: skip
    for family, parameters in cases.items():
        expected = ensembles.law(family, 9, list(parameters.values()))
        np.testing.assert_allclose(headspan.family_weights(family, 9, parameters), expected, rtol=1e-13)
        np.testing.assert_allclose(headspan.family_weights(family, 9, **parameters), expected, rtol=1e-13)
    np.testing.assert_allclose(headspan.family_weights("fibonacci", 30), ensembles.fibonacci(30), rtol=1e-13)
    np.testing.assert_allclose(headspan.family_weights("uniform", 4), np.full(4, 0.25))
    assert set(headspan.FAMILIES) == {*cases, "fibonacci", "uniform"}
    with pytest.raises(ValueError, match="parameters"):
        headspan.family_weights("geometric", 3)
    with pytest.raises(ValueError, match="0 < r <= 1"):
        headspan.family_weights("geometric", 3, r=1.5)
    with pytest.raises(ValueError, match="family"):
        headspan.family_weights("linear", 3)


@pytest.mark.parametrize("family", list(ensembles.LAWS))
def test_fitted_laws_are_the_best_on_a_fine_grid(family: str) -> None:
    m = moments(6, 11) + np.diag(np.linspace(0, 2, 6))
    found = headspan.fit_family(m, family)
    np.testing.assert_allclose(
        found.weighting.weights, headspan.family_weights(family, 6, found.parameters), rtol=1e-13
    )
    grids: dict[str, Any] = {
        "geometric": [[r] for r in np.linspace(0.01, 1, 400)],
        "heavy_tailed": [[p] for p in np.linspace(0, 8, 400)],
        "sub_exponential": [[c, a] for c in np.linspace(0, 6, 60) for a in np.linspace(0.05, 0.95, 19)],
    }
    laws = [ensembles.law(family, 6, parameters) for parameters in grids[family]]
    assert found.weighting.risk <= min(a @ m @ a for a in laws) + 1e-12


def test_structure_cannot_win_among_alike_members() -> None:
    bias2, v, rho = 0.2, 1.5, 0.3
    m = np.full((5, 5), bias2 + v * rho) + np.eye(5) * v * (1 - rho)
    alike = headspan.exchangeability(m)
    assert alike.holds and alike.p is None
    for family in ("fibonacci", "uniform"):
        a = headspan.family_weights(family, 5)
        lost = v * (1 - rho) * (a @ a - 0.2)
        assert headspan.structure_loss(alike, a) == pytest.approx(lost, abs=1e-14)
        assert a @ m @ a - m.mean() == pytest.approx(lost, abs=1e-14)
    np.testing.assert_allclose(headspan.optimal_weights(m).weights, np.full(5, 0.2), atol=1e-14)


def test_alike_members_are_rejected_at_about_the_level() -> None:
    random = np.random.default_rng(7)
    rejected = sum(
        not headspan.exchangeability_test(random.normal(size=(5, 250)) + random.normal(size=250)).holds
        for _ in range(300)
    )
    assert 1 <= rejected <= 30
    errors = random.normal(size=(5, 250)) * np.array([[2.0], [1], [1], [1], [1]])
    assert not headspan.exchangeability_test(errors).holds


@pytest.mark.parametrize("n_replicates", [1, 4])
def test_decompose_predictions_says_what_the_program_says(tmp_path: Path, n_replicates: int) -> None:
    random = np.random.default_rng(1)
    truth = random.normal(size=40)
    predictions = truth + random.normal(size=(n_replicates, 3, 40)) * np.array([[0.5], [1.0], [1.5]])
    facts = headspan.decompose_predictions(predictions, truth, seed=3, n_folds=5)
    path = tmp_path / "p.csv"
    rows = [
        ",".join(map(str, [r, i, *map(float, predictions[r, :, i]), float(truth[i])]))
        for r in range(n_replicates)
        for i in range(40)
    ]
    path.write_text("\n".join(["run,id,a,b,c,y", *rows]) + "\n")
    labels = ["--replicate", "run", "--point", "id"] if n_replicates > 1 else ["--members", "a,b,c"]
    document = command.decompose(path, "--truth", "y", "--seed", 3, "--folds", 5, *labels)
    for term in ("mse", "mean_member_mse", "ambiguity", "bias2", "variance", "covariance", "disparity", "diversity",
                 "hdi", "n_eff_2"):  # fmt: skip
        part = getattr(facts, term)
        assert document[term] == (None if part is None else part.value), term
        assert document["standard_error"][term] == (None if part is None else part.standard_error), term
    assert document["closure"] == facts.closure and document["alike"]["p"] == facts.alike.p
    np.testing.assert_array_equal(document["correlation"], facts.correlation)
    np.testing.assert_array_equal(document["error_second_moments"], facts.error_second_moments)
    assert list(document["weights"]) == list(facts.weights)
    for name, found in document["weights"].items():
        one = facts.weights[name]
        assert found["weights"] == one.weighting.weights.tolist() and found["risk_cv"] == one.risk_cv
        assert found["parameters"] == one.parameters and found["status"] == one.weighting.status


def test_decompose_predictions_takes_two_or_three_dimensions_alone() -> None:
    truth = np.zeros(4)
    f = np.arange(8.0).reshape(2, 4)
    assert headspan.decompose_predictions(f, truth).mse.value == (f.mean(0) ** 2).mean()
    assert headspan.decompose_predictions(f[None], truth).n_replicates == 1
    for bad in (np.zeros(4), np.zeros((1, 1, 2, 4)), np.zeros((2, 5))):
        with pytest.raises(ValueError, match="predictions"):
            headspan.decompose_predictions(bad, truth)
    with pytest.raises(ValueError, match="finite"):
        headspan.decompose_predictions(f, [0, np.nan, 0, 0])
