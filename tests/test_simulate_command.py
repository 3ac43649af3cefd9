"""`headspan simulate`: the law, its closed forms, the known facts about colonies, the schema, its complaints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oracle import command

Check = Callable[[Any], None]
ANGLES = ("heads", "--degrees", "0,30,60,90", "--n", 1500, "--n-points", 40)
LATENTS = ("heads", "--design", "latents", "--budget", 12, "--head-dims", "1,2,4", "--n", 800)
ADDITIVE = ("heads", "--design", "additive", "--n-points", 60)
FOREST = ("forest", "--mtry", "1,10,50", "--n-trees", 8, "--n", 120, "--n-points", 20)
COLONY = ("colony", "--exploration", "0.05,0.5,1")
ALL = {
    "angles": (ANGLES, 120),
    "latents": (LATENTS, 12),
    "additive": (ADDITIVE, 40),
    "forest": (FOREST, 25),
    "colony": (COLONY, 100),
}


def simulated(name: str, *others: object) -> command.Document:
    words, replicates = ALL[name]
    return command.simulate(*words, "--replicates", replicates, *others)


def growth(c: float, b: float) -> float:
    """V(c), the covariance of two Gaussian heads per angle of cosine c."""
    a = (1 + b * b) ** 2
    return float(a / np.sqrt((a - c * c) ** 2 - c * c * b**4))


@pytest.mark.parametrize("name", ALL)
def test_the_document_keeps_to_the_schema(check_simulate_schema: Check, name: str) -> None:
    document = simulated(name)
    check_simulate_schema(document)
    assert document["kind"] == "simulate"
    for row in document["rows"]:
        if "dial" not in row:
            continue
        v, rho, inverse = row["v"], row["rho"], row["inverse_members"]
        assert row["law"] == pytest.approx(v * (rho + (1 - rho) * inverse), rel=1e-9)
        predicted = row["rho_predicted"]
        assert row["law_predicted"] == pytest.approx(v * (predicted + (1 - predicted) * inverse), rel=1e-12)
        if name != "colony":  # every agent everywhere: an identity
            assert row["ensemble_variance"] == pytest.approx(row["law"], rel=1e-9)


def test_angles_are_the_closed_form() -> None:
    for row in simulated("angles")["rows"]:
        c = max(0.0, float(np.cos(np.radians(row["dial"]))))
        assert row["rho_limit"] == pytest.approx((growth(c, 1) / growth(1, 1)) ** 2, rel=1e-6)
        centred = (growth(c, 1) ** 2 - 1) / (growth(1, 1) ** 2 - 1)
        assert row["centred_rho_limit"] == pytest.approx(centred, rel=1e-6, abs=1e-9)
        assert row["rho"] == pytest.approx(row["rho_predicted"], abs=4 * row["rho_standard_error"] + 0.02)
        error = 4 * row["centred_rho_standard_error"] + 0.03
        assert row["centred_rho"] == pytest.approx(row["centred_rho_predicted"], abs=error)


def test_softmax_angles_are_their_own_closed_form(check_simulate_schema: Check) -> None:
    words = ("heads", "--kernel", "softmax", "--degrees", "0,60,90", "--replicates", 150, "--n-points", 50)
    document = command.simulate(*words)
    check_simulate_schema(document)
    assert document["options"]["bandwidth"] == 2
    for row in document["rows"]:
        c, a = max(0.0, float(np.cos(np.radians(row["dial"])))), 1 / 16
        pair, own = (1 - a * c * c) ** 2 - (a * c) ** 2, 1 - 2 * a
        assert row["rho_limit"] == pytest.approx(own / pair, rel=1e-6)
        assert row["centred_rho_limit"] == pytest.approx((1 / pair - 1) / (1 / own - 1), rel=1e-6, abs=1e-9)
        error = 4 * row["centred_rho_standard_error"] + 0.03
        assert row["centred_rho"] == pytest.approx(row["centred_rho_predicted"], abs=error)
    narrow = command.simulate(*words, "--bandwidth", 1.1)
    check_simulate_schema(narrow)
    assert narrow["rows"][0]["rho_limit"] is None


def test_orthogonal_heads_share_no_more_than_the_grand_mean() -> None:
    row = command.simulate("heads", "--degrees", 90, "--replicates", 200, "--n-points", 40)["rows"][0]
    assert abs(row["centred_rho"]) < 4 * row["centred_rho_standard_error"]
    assert row["rho"] > 4 * row["rho_standard_error"]


def test_latents_have_the_predicted_error() -> None:
    document = simulated("latents")
    options = document["options"]
    for row in document["rows"]:
        k, heads = row["dial"], row["n_heads"]
        assert heads == 12 // k
        c, s, unseen = 0.5, np.sqrt(0.5) / 2, np.exp(-0.5 * k)
        bias = (1 - unseen) * ((1 - s * np.sqrt(c)) ** 2 + s * s * (1 - c) / heads) + unseen
        assert row["squared_bias_predicted"] == pytest.approx(bias, rel=1e-12)
        rho = (growth(c, 1) ** k - 1) / (growth(1, 1) ** k - 1)
        variance = (1 + (growth(1, 1) ** k - 1) * (1 / heads + (1 - 1 / heads) * rho)) / options["n"]
        assert row["variance_predicted"] == pytest.approx(variance, rel=1e-10)
        assert row["squared_bias"] == pytest.approx(bias, abs=4 * row["squared_bias_standard_error"] + 0.01)
        assert row["ensemble_variance"] == pytest.approx(variance, rel=0.15)


def test_the_mean_of_an_additive_target_fails_and_the_sum_works() -> None:
    document = simulated("additive")
    mean, total = document["rows"]
    assert (mean["combiner"], total["combiner"]) == ("mean", "sum")
    assert total["mse"] < 0.1 * mean["mse"]
    assert mean["squared_bias"] == pytest.approx(mean["squared_bias_predicted"], rel=0.03)
    assert total["variance"] / document["head_variance"] == pytest.approx(4, abs=1)


def test_correlation_of_trees_falls_with_the_dial() -> None:
    document = simulated("forest")
    assert document["trend"]["direction"] == "falls"
    by_dial = sorted(document["rows"], key=lambda row: float(row["dial"]))
    assert np.all(np.diff([row["rho_predicted"] for row in by_dial]) <= 0)


@pytest.mark.parametrize("name", ["forest", "colony"])
def test_fits_to_other_replicates_meet_the_measured_correlation(name: str) -> None:
    document = simulated(name)
    for row in document["rows"]:
        error = np.hypot(row["rho_standard_error"], row["rho_predicted_standard_error"])
        assert 0 < abs(row["rho"] - row["rho_predicted"]) < 4 * error
        inverse = row["inverse_members"]
        expected = row["v"] * (1 - inverse) * row["rho_predicted_standard_error"]
        assert row["law_predicted_standard_error"] == pytest.approx(expected, rel=1e-12)


def test_more_replicates_do_not_reuse_those_of_the_fit() -> None:
    """The second half of twice the replicates is what the fit of the first half was made of."""
    half, whole = (command.simulate("colony", "--exploration", 0.3, "--replicates", n)["rows"][0] for n in (20, 40))
    assert half["rho"] != whole["rho"]
    assert half["accuracy"] != whole["accuracy"] or half["v"] != whole["v"]
    both = (half["rho"] + half["rho_predicted"]) / 2
    assert whole["rho"] == pytest.approx(both, abs=0.3 * half["rho_standard_error"])


def test_latents_beyond_leading_order_say_so() -> None:
    rows = command.simulate("heads", "--design", "latents", "--head-dims", "2,8", "--replicates", 8)["rows"]
    for row, in_range in zip(rows, (True, False), strict=True):
        leading = growth(1, 1) ** row["dial"] / 1000
        assert row["left_out"] == pytest.approx(row["v"] / leading - 1, rel=1e-9)
        within = abs(row["left_out"]) <= max(0.02, 2 * row["left_out_standard_error"])
        assert within == row["in_range"] == in_range


def test_trees_on_all_rows_that_try_every_input_are_one_tree() -> None:
    same = ["forest", "--mtry", 5, "--n-inputs", 5, "--n-trees", 8, "--n-points", 20, "--replicates", 20]
    drawn, whole = command.simulate(*same), command.simulate(*same, "--no-bootstrap")
    # Splits that are equally good may differ.
    assert whole["rows"][0]["rho"] == pytest.approx(1, abs=0.005)
    assert drawn["rows"][0]["rho"] < 0.8


@pytest.mark.parametrize(("sites", "steps"), [(20, 20), (50, 50)])
def test_correlation_of_scouts_falls_with_exploration_on_hard_tasks(sites: int, steps: int) -> None:
    document = simulated("colony", "--n-sites", sites, "--n-steps", steps)
    assert document["trend"]["direction"] == "falls"
    assert document["estimate_trend"]["direction"] == "falls"


def test_on_an_easy_task_the_correlation_of_estimates_rises() -> None:
    document = simulated("colony", "--n-sites", 5, "--n-steps", 100)
    assert document["estimate_trend"]["direction"] == "rises"
    assert document["rows"][-1]["visited"] > 0.99


def test_thompson_scouts_and_a_quorum() -> None:
    thompson = simulated("colony", "--rule", "thompson", "--noise-sd", 0.2, "--n-steps", 60)
    assert thompson["rows"][0]["accuracy"] > 0.9
    quick = simulated("colony", "--quorum", 0.4, "--n-steps", 500)
    assert quick["rows"][0]["n_steps"] < 500


@pytest.mark.parametrize("name", ALL)
def test_the_seed_decides_and_threads_do_not(name: str) -> None:
    words = (*ALL[name][0], "--replicates", 5)
    one, many = (command.run("simulate", *words, "--seed", 7, "--json", "-", "--threads", t) for t in (1, 4))
    assert one.code == 0 and one.out == many.out
    assert command.run("simulate", *words, "--seed", 8, "--json", "-").out != one.out


@pytest.mark.parametrize("name", ALL)
def test_the_table_is_for_people(name: str) -> None:
    result = command.run("simulate", *ALL[name][0], "--replicates", 5)
    assert result.code == 0 and result.err == ""
    assert "fresh data sets" in result.out and "+-" in result.out and "nan" not in result.out


def test_one_setting_has_no_trend() -> None:
    result = command.run("simulate", "colony", "--exploration", 0.5, "--replicates", 4, "--n-steps", 5)
    assert "none of rho: the dial has one setting" in result.out
    facts = command.simulate("colony", "--exploration", 0.5, "--replicates", 4, "--n-steps", 5)
    assert (facts["trend"]["change_standard_error"], facts["trend"]["direction"]) == (None, "undecided")


TROUBLE: dict[str, tuple[list[object], str]] = {
    "no experiment": ([], "simulate: is followed by one of heads, forest, colony"),
    "unknown experiment": (["bees"], "simulate: 'bees' is none of heads, forest, colony"),
    "no whole number": (["heads", "--n", "1e12"], "whole one in digits alone"),
    "more than memory": (["forest", "--n", 10**15], "more memory than there is"),
    "angle": (["heads", "--degrees", "91"], "degrees"),
    "design": (["heads", "--design", "round"], "angles, latents or additive"),
    "kernel": (["heads", "--kernel", "laplace"], "gaussian or softmax"),
    "no kernel": (["heads", "--kernel", "round"], "gaussian or softmax"),
    "option of another design": (["heads", "--frequency", 3], "--design angles has no such option"),
    "budget": (["heads", "--design", "latents", "--budget", 5, "--head-dims", "6"], "budget"),
    "mtry": (["forest", "--mtry", "51"], "mtry"),
    "trees": (["forest", "--n-trees", 1], "n_trees"),
    "rule": (["colony", "--rule", "greedy"], "pheromone or thompson"),
    "exploration": (["colony", "--exploration", "1.5"], "exploration"),
    "noise": (["colony", "--noise-sd", 0], "noise_sd"),
    "replicates": (["colony", "--replicates", 2], "n_replicates"),
    "threads": (["forest", "--threads=-1"], "--threads"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(name: str) -> None:
    words, expected = TROUBLE[name]
    result = command.run("simulate", *words)
    assert (result.code, result.out) == (2, "")
    assert expected in result.err
