"""Programs taking turns: what bench/compare.py times them with."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

MOST_ERROR = 4e-5
"""Of the peers; those that add 100,000 float weights one after the other come near it."""


def installed(name: str) -> Any | None:
    """The module, or None where it cannot be imported; says why."""
    try:
        return importlib.import_module(name)
    except Exception as reason:  # noqa: BLE001 - a peer that is half installed may raise anything
        print(f"  without {name}: {type(reason).__name__}: {str(reason).splitlines()[0] if str(reason) else ''}")
        return None


def run_json(*command: object) -> dict[str, Any]:
    """What a program of ours printed."""
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@dataclass
class Entry:
    """One way to the answer, and what it took."""

    name: str
    work: Callable[[], Any]
    share: float = 1.0
    """Of the work that is done; times are scaled up by its inverse."""
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def peak_gflops(folder: Path, threads: int) -> dict[str, Any]:
    return run_json(folder / "bench_fma", threads, 50)


def take_turns(entries: list[Entry], rounds: int, calibrate: Callable[[], float]) -> list[float]:
    """Times of every entry, in rounds, after one untimed call each; the calibrations, one before each round."""
    answers = {entry.name: entry.work() for entry in entries}
    verify(entries, answers)
    peaks = []
    for _ in range(rounds):
        peaks.append(calibrate())
        for entry in entries:
            wall, cpu = time.perf_counter(), time.process_time()
            entry.work()
            entry.cpu.append((time.process_time() - cpu) / entry.share)
            entry.wall.append((time.perf_counter() - wall) / entry.share)
    return peaks


def verify(entries: list[Entry], answers: dict[str, Any]) -> None:
    """Every answer, or the first part of it, against that of the first entry: float means of values of size 1."""
    wanted = np.asarray(answers[entries[0].name], dtype=np.float64)
    for entry in entries[1:]:
        answer = np.asarray(answers[entry.name], dtype=np.float64)
        np.testing.assert_allclose(answer, wanted[: len(answer)], rtol=0, atol=MOST_ERROR, err_msg=entry.name)


def show(title: str, entries: list[Entry], peaks: list[float], operations: float) -> None:
    """A table: times, times as a multiple of ours within the same round, share of the calibrated peak."""
    load = os.getloadavg()[0]
    peak = median(peaks)
    print(f"\n{title}   [load {load:.1f}, calibrated {peak:.0f} GFLOP/s, floor {operations / peak * 1e-9:.4f} s]")
    ours = entries[0]
    print(f"  {'':34}{'wall s':>10}{'cpu s':>10}{'x ours':>9}{'x ours, cpu':>13}{'of peak':>9}")
    for entry in entries:
        by_wall = median(a / b for a, b in zip(entry.wall, ours.wall, strict=True))
        by_cpu = median(a / b for a, b in zip(entry.cpu, ours.cpu, strict=True))
        of_peak = median(operations / t * 1e-9 / p for t, p in zip(entry.wall, peaks, strict=True))
        print(
            f"  {entry.name:34}{median(entry.wall):10.4f}{median(entry.cpu):10.4f}{by_wall:9.2f}{by_cpu:13.2f}"
            f"{of_peak:9.1%}",
            flush=True,
        )
