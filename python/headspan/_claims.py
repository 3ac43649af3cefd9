"""The claims of the theory as experiments."""

from __future__ import annotations

import difflib

from . import _arrays, _core
from ._core import Claim


def claim_ids() -> list[str]:
    """The names of all claims, in the order of the theory."""
    return _core.claim_ids()


def verify(
    *claims: str, seed: int = 0, thorough: bool = False, mutate: bool = False, threads: int | None = None
) -> list[Claim]:
    """Measures the claims named, all of them without names, each against its formula.

    A claim is "confirmed" (a counterexample "reproduced") where every measurement agrees with the formula within five
    standard errors, or within the bound of an exact comparison, and one of them excludes a wrong formula that stands
    beside it; "undecided" where none is sharp enough for that; "failed" where one disagrees. thorough: a hundred times
    the draws. mutate: the wrong formula of each claim in place of the right one, so that every claim should fail.

    Names are separate arguments: verify("closure", "ambiguity"), or verify(*names). Raises ValueError on an unknown
    name. The same numbers for any number of threads.
    """
    known = claim_ids()
    for claim in claims:
        if not isinstance(claim, str):
            raise TypeError(f"claims: names in quotes wanted, one an argument, not {type(claim).__name__}")
        if claim not in known:
            near = difflib.get_close_matches(claim, known, 1)
            remedy = f"is {near[0]!r} meant?" if near else "claim_ids() names all of them"
            raise ValueError(f"claims: there is no {claim!r}; {remedy}")
    return _core.verify(
        list(claims),
        _arrays.seed_number(seed),
        _arrays.flag("thorough", thorough),
        _arrays.flag("mutate", mutate),
        _arrays.thread_count(threads),
    )
