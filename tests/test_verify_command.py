"""`headspan verify`: verdicts against its own rule, wrong formulas that must fail, seeds, threads, complaints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import command

Check = Callable[[Any], None]

# Quick ones of every kind.
CLAIMS = ("closure", "small-angles", "overlap-mean", "equal-overlap")
STANDARD_ERRORS = 5.0


@pytest.fixture(scope="module")
def everything() -> Any:
    return command.verify()


def test_every_claim_holds(everything: Any, check_verify_schema: Check) -> None:
    check_verify_schema(everything)
    assert everything["options"] == {"seed": 0, "thorough": False, "mutate": False}
    for claim in everything["claims"]:
        wanted = "reproduced" if claim["kind"] == "counterexample" else "confirmed"
        assert claim["verdict"] == wanted, claim


def test_verdicts_follow_the_stated_rule(everything: Any) -> None:
    """From the numbers of the document alone: agreement, and the power to exclude the wrong formula."""
    for claim in everything["claims"]:
        rows = claim["comparisons"]
        if any(row["relation"] != "=" for row in rows):
            continue
        for row in rows:
            assert abs(row["measured"] - row["expected"]) <= row["margin"], (claim["id"], row)
            assert row["margin"] == pytest.approx(row["error"]) or row["margin"] == pytest.approx(
                STANDARD_ERRORS * row["error"]
            )
        sharpest = max(rows, key=lambda row: row["effect"] / row["margin"])
        assert sharpest["margin"] < 0.5 * sharpest["effect"], claim["id"]
        assert {key: claim[key] for key in ("expected", "measured", "error")} == {
            key: sharpest[key] for key in ("expected", "measured", "error")
        }


def test_directions_follow_theirs(everything: Any) -> None:
    """A claim of a sign: every number more than its margin on that side of zero, and no size is made up."""
    signs = {claim["id"]: claim for claim in everything["claims"] if claim["relation"] != "="}
    assert {id: claim["relation"] for id, claim in signs.items()} == {
        "forest-dial": "<",
        "colony-dial": "<",
        "colony-reversal": ">",
    }
    for claim in signs.values():
        for row in claim["comparisons"]:
            side = -1 if row["relation"] == "<" else 1
            assert (row["relation"], row["expected"], row["effect"]) == (claim["relation"], 0, None)
            assert side * row["measured"] > row["margin"] == pytest.approx(STANDARD_ERRORS * row["error"])


def test_every_wrong_formula_fails(check_verify_schema: Check) -> None:
    mutated = command.verify("--mutate", codes=(1,))
    check_verify_schema(mutated)
    assert {claim["verdict"] for claim in mutated["claims"]} == {"failed"}


def test_the_theory_is_covered(everything: Any) -> None:
    ids = {claim["id"] for claim in everything["claims"]}
    wanted = {
        "softmax-identity", "closure", "link-bias", "link-variance", "link-diversity", "kernel-angles", "softmax-angles",
        "softmax-beyond-orthogonal", "monotone-at-fixed-bias", "bias-in-subspace", "equal-overlap", "random-baseline",
        "random-baseline-variance", "frame-bound", "allocation", "planned-argmin", "logarithmic-head-dim",
        "near-linear-heads", "optimal-weights", "dominance", "one-law-heads", "one-law-forest", "one-law-colony",
        "colony-reversal",
    }  # fmt: skip
    assert wanted <= ids
    assert len(ids) == len(everything["claims"])


# Expected values that are known from elsewhere.


def comparison(document: Any, claim: str, what: str) -> Any:
    (found,) = [c for c in document["claims"] if c["id"] == claim]
    (row,) = [r for r in found["comparisons"] if r["what"] == what]
    return row


def test_published_values(everything: Any) -> None:
    gain = {row: (1.0 - rho) / 2.0 for row, rho in (("30 degrees", 0.6306), ("60 degrees", 0.1584))}
    for what, value in gain.items():
        assert comparison(everything, "kernel-angles", what)["expected"] == pytest.approx(value, abs=5e-5)
    assert comparison(everything, "equal-overlap", "two angles of 45 degrees")["expected"] == pytest.approx(
        1.681, abs=5e-4
    )
    assert comparison(everything, "equal-overlap", "angles of 0 and 90 degrees")["expected"] == pytest.approx(
        2.294, abs=5e-4
    )
    for what, value in (("n = 1000, D = 64", 10.45), ("n = 100000, D = 512", 17.82), ("n = 1e+10, D = 4096", 33.22)):
        assert comparison(everything, "allocation", what)["expected"] == pytest.approx(value, abs=5e-3)


def test_few_keys_take_all_against_a_simulation(everything: Any) -> None:
    """The exact finite-n law, by numpy: n E sum w^2 of a softmax over 2000 normal scores of variance 4."""
    random = np.random.default_rng(0)
    scores = 2.0 * random.normal(size=(3000, 2000))
    w = np.exp(scores - scores.max(axis=1, keepdims=True))
    values = 2000 * (w**2).sum(axis=1) / w.sum(axis=1) ** 2
    expected = comparison(everything, "few-keys-take-all", "score variance 4")["expected"]
    assert expected == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(len(values)))


# Words.


def test_seed_and_threads() -> None:
    first = command.run("verify", *CLAIMS, "--json", "-", "--threads", 1).out
    assert first == command.run("verify", *CLAIMS, "--json", "-", "--threads", 2).out
    other = command.verify(*CLAIMS, "--seed", 12)
    changed = [
        a["measured"] != b["measured"] for a, b in zip(json.loads(first)["claims"], other["claims"], strict=True)
    ]
    simulated = [claim["kind"] in ("simulation", "counterexample") for claim in other["claims"]]
    assert all(c for c, s in zip(changed, simulated, strict=True) if s)
    assert {claim["verdict"] for claim in other["claims"]} == {"confirmed", "reproduced"}


def test_named_claims_alone_and_the_table(tmp_path: Path) -> None:
    result = command.run("verify", "equal-overlap", "--json", tmp_path / "claims.json")
    assert result.code == 0
    assert "reproduced" in result.out and "Cosines squared (0.5, 0.5)" in result.out
    assert "1 claim: 1 reproduced" in result.out
    assert (tmp_path / "claims.json").read_text() == command.run("verify", "equal-overlap", "--json", "-").out
    assert command.run("verify", "equal-overlap", "--quiet").text == ""
    failed = command.run("verify", "closure", "--mutate")
    assert failed.code == 1 and "failed" in failed.out


def test_the_list(everything: Any) -> None:
    listed = command.run("verify", "--list")
    assert listed.code == 0
    for claim in everything["claims"]:
        assert claim["id"] in listed.out


TROUBLE: dict[str, tuple[list[object], int, str]] = {
    "unknown": (["equal-overlaps"], 2, "is 'equal-overlap' meant?"),
    "nothing like it": (["xyzzy"], 2, "--list"),
    "seed": (["--seed", "-1"], 2, "--seed"),
    "threads": (["--threads=-1"], 2, "--threads"),
    "list and names": (["--list", "closure"], 2, "--list"),
    "list and json": (["--list", "--json", "-"], 2, "--list"),
    "no folder": (["closure", "--json", "no/such/folder.json"], 5, "no folder"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(tmp_path: Path, name: str) -> None:
    arguments, code, words = TROUBLE[name]
    result = command.run("verify", *arguments, cwd=tmp_path)
    assert (result.code, result.out) == (code, "")
    assert words in result.err


def test_the_schema_has_teeth(check_verify_schema: Check) -> None:
    damages: tuple[Callable[[Any], Any], ...] = (
        lambda d: d.pop("options"),
        lambda d: d["claims"][0].update(verdict="passed"),
        lambda d: d["claims"][0].update(kind="closed_form"),
        lambda d: d["claims"][0].update(error=0),
        lambda d: d["claims"][0].update(relation="<="),
        lambda d: d["claims"][0]["comparisons"][0].pop("margin"),
        lambda d: d.update(claims=[]),
    )
    for damage in damages:
        document = command.verify("closure")
        check_verify_schema(document)
        damage(document)
        with pytest.raises(AssertionError):
            check_verify_schema(document)
