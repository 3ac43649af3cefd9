"""The claims of the theory as experiments."""

from __future__ import annotations

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

    Raises ValueError on an unknown name. The same numbers for any number of threads.
    """
    if seed < 0 or seed >= 2**64:
        raise ValueError(f"seed: must lie between 0 and 2**64 - 1, not {seed}")
    return _core.verify(list(claims), seed, thorough, mutate, _arrays.thread_count(threads))
