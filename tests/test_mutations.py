"""Random damage to files: an answer or an exit code of the contract, never a signal, a hang or another code."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from oracle import command, families

ROUNDS = 40


def damaged(raw: bytes, random: np.random.Generator, upto: int) -> bytes:
    out = bytearray(raw)
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(0, upto))
        kind = random.integers(0, 4)
        if kind == 0:
            out[at] = int(random.integers(0, 256))
        elif kind == 1:
            del out[at : at + int(random.integers(1, 20))]
        elif kind == 2:
            out[at:at] = bytes(random.integers(32, 127, size=int(random.integers(1, 20)), dtype=np.uint8))
        else:
            out[at : at + 1] = b"9" if chr(out[at]).isdigit() else b'"'
    return bytes(out)


@pytest.mark.parametrize("part", ["header", "config"])
def test_damage(tmp_path: Path, llama: families.Checkpoint, part: str) -> None:
    random = np.random.default_rng(20)
    folder = llama.write(tmp_path / "model")
    target = folder / ("model.safetensors" if part == "header" else "config.json")
    raw = target.read_bytes()
    upto = 8 + int(struct.unpack("<Q", raw[:8])[0]) if part == "header" else len(raw)
    codes = set()
    for i in range(ROUNDS):
        target.write_bytes(damaged(raw, random, upto))
        result = command.run("audit", folder, "--json", tmp_path / "out.json", timeout=20.0)
        assert result.code in (0, 3, 4), f"round {i}: exit code {result.code}: {result.text[:300]}"
        if result.code == 3:
            assert result.err.strip(), f"round {i}: no message"
        codes.add(result.code)
    assert 3 in codes
