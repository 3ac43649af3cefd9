"""Small random checkpoints of every family, with the head weights they were made from.

Each builder writes tensors under the names and in the order of the library that publishes the family.
"""

from __future__ import annotations

from collections.abc import Callable

from . import encoders, gpt_like, llama_like
from .checkpoint import (
    GQA,
    Checkpoint,
    Names,
    Sizes,
    Truth,
    add_stack,
    llama_config,
    per_group,
    rows,
    sections,
)

__all__ = [
    "BUILDERS",
    "GQA",
    "Checkpoint",
    "Names",
    "Sizes",
    "Truth",
    "add_stack",
    "encoders",
    "llama_config",
    "llama_like",
    "make",
    "per_group",
    "rows",
    "sections",
]

BUILDERS: dict[str, Callable[[Checkpoint], Checkpoint]] = {
    build.__name__: build for build in (*llama_like.BUILDERS, *gpt_like.BUILDERS, *encoders.BUILDERS)
}


def make(family: str, dtype: str = "F32", seed: int = 0) -> Checkpoint:
    return BUILDERS[family](Checkpoint(family, dtype, seed))
