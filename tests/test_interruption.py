"""Files that change while they are read, and Ctrl-C: an error and no half-written file, never a crash."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import pytest

from oracle import command, families


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large enough to be caught at work: 16 layers of width 512."""
    made = families.Checkpoint("llama")
    s = families.Sizes(d=512, heads=8, kv=8, k=64)
    families.add_stack(made, families.llama_like.LLAMA, families.llama_like.RMS_LLAMA, s, 16)
    made.config = families.llama_config("llama", s, num_hidden_layers=16)
    return made.write(tmp_path_factory.mktemp("slow") / "model")


@pytest.fixture
def copy(slow_model: Path, tmp_path: Path) -> Path:
    target = tmp_path / "model"
    target.mkdir()
    for file in slow_model.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


@pytest.mark.parametrize(("share", "settle"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.05)])
def test_truncated_while_read(copy: Path, share: float, settle: float) -> None:
    file = copy / "model.safetensors"
    (length,) = struct.unpack("<Q", file.read_bytes()[:8])
    keep = 8 + length + int(share * (file.stat().st_size - 8 - length))
    target = copy.parent / "out.json"
    result = command.interrupted(
        ["audit", copy, "--threads", 1, "--json", target], file, lambda _: os.truncate(file, keep), settle
    )
    assert result.code == 3, f"exit code {result.code}: {result.err}"
    assert "truncated" in result.err and "model.safetensors" in result.err, result.err
    assert not target.exists()


def test_replaced_while_read(copy: Path) -> None:
    """Another file under the same name: the old one is read to its end, or the change is an error."""
    file = copy / "model.safetensors"

    def replace(_: int) -> None:
        other = copy / "other"
        other.write_bytes(b"short")
        other.replace(file)

    result = command.interrupted(["audit", copy, "--threads", 1, "--json", "-"], file, replace)
    assert result.code in (0, 3, 4), result.err


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_signal_leaves_no_half_file(slow_model: Path, tmp_path: Path, name: str, code: int) -> None:
    target, table = tmp_path / "out.json", tmp_path / "out.csv"
    target.write_text("old")
    result = command.interrupted(
        ["audit", slow_model, "--threads", 1, "--json", target, "--csv", table],
        slow_model / "model.safetensors",
        lambda pid: os.kill(pid, getattr(signal, name)),
    )
    assert result.code == code, f"exit code {result.code}: {result.err}"
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json"]
    assert result.out == ""
