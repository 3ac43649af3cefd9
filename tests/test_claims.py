"""headspan.verify: the same numbers as the command line's."""

from __future__ import annotations

import pytest

import headspan
from oracle import command


def test_it_is_the_command() -> None:
    names = ("equal-overlap", "closure")
    document = command.verify(*names, "--seed", 3)
    found = headspan.verify(*names, seed=3)
    assert [claim.id for claim in found] == ["closure", "equal-overlap"]
    for claim, row in zip(found, document["claims"], strict=True):
        for key in ("id", "statement", "kind", "wrong", "relation", "expected", "measured", "error", "verdict"):
            assert getattr(claim, key) == row[key], key
        for comparison, line in zip(claim.comparisons, row["comparisons"], strict=True):
            assert {key: getattr(comparison, key) for key in line} == line


def test_mutated_claims_fail() -> None:
    (claim,) = headspan.verify("dominance", mutate=True)
    assert claim.verdict == "failed"


def test_names_seeds_and_threads() -> None:
    assert {"closure", "equal-overlap"} <= set(headspan.claim_ids())
    values = {headspan.verify("overlap-mean", threads=n)[0].measured for n in (1, 2)}
    assert len(values) == 1
    with pytest.raises(ValueError, match="is 'closure' meant"):
        headspan.verify("closur")
    with pytest.raises(ValueError, match="seed"):
        headspan.verify("closure", seed=-1)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="claims: names in quotes wanted, one an argument, not list"):
        headspan.verify(["closure", "ambiguity"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"there is no 'nope'; claim_ids\(\) names all"):
        headspan.verify("nope")
    with pytest.raises(TypeError, match="seed: an integer wanted"):
        headspan.verify("closure", seed=0.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mutate: True or False wanted"):
        headspan.verify("closure", mutate="yes")  # type: ignore[arg-type]
