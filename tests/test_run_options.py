"""Options that every command has say the same everywhere: seeds are whole numbers from 0 on, threads within reason."""

from __future__ import annotations

import pytest

from oracle import command

COMMANDS = [
    "audit model.safetensors",
    "decompose x.csv --truth y",
    "evaluate x.csv --y y",
    "fit x.csv --y y -o x.headspan",
    "nw x.csv --x a --y b",
    "plan x.csv --y y --budget 4",
    "simulate colony",
    "simulate forest",
    "simulate heads",
    "verify",
]


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("seed", ["-1", "1.5", "one", "18446744073709551616"])
def test_a_seed_that_is_none_is_refused(words: str, seed: str) -> None:
    result = command.run(*words.split(), f"--seed={seed}")
    assert result.code == 2
    assert "--seed" in result.err
    assert seed in result.err


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("threads", ["-1", "4097", "two"])
def test_threads_that_cannot_be_are_refused(words: str, threads: str) -> None:
    result = command.run(*words.split(), f"--threads={threads}")
    assert result.code == 2
    assert "--threads" in result.err
    assert threads in result.err
