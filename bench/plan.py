#!/usr/bin/env python3
"""Does the planned pair do as well as the best on the grid? Real tables, five splits each.

Usage: PYTHONPATH=build/release/python bench/plan.py [--budget D] [--draws R] [TABLE ...]

For each fifth of a table's rows in turn the others are planned for by `headspan plan`, which sees nothing else. Then
every pair of the grid is fitted on them as the pilot's own model says: heads on random orthonormal blocks, the
bandwidth of least leave-one-out error, the mean of R draws; its error is measured on the fifth left out. Prints per
table: the pairs planned, the error of the plan over that of the pair that is best on average over the five splits,
over that of each split's own best in hindsight (which no planner can know), and the regret in leave-one-out error on
the rows planned for. +- is the standard error over the draws. A best pair is the least of several that were measured, so
all three err upwards.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import headspan

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT.parent / "shared/data"
BINARY = os.environ.get("HEADSPAN_BIN", str(ROOT / "build/release/bin/headspan"))
TARGETS = {"diabetes": "target", "boston": "medv", "airquality": "Ozone", "cps1985": "wage", "ames": "Sale_Price"}
N_SPLITS = 5

Array = NDArray[Any]


def numeric_rows(name: str) -> tuple[Array, Array]:
    """Inputs and target: the columns of numbers, the rows without a missing value."""
    with (TABLES / f"{name}.csv").open(newline="") as file:
        header, *rows = list(csv.reader(file))

    def number(cell: str) -> float | None:
        try:
            return float(cell)
        except ValueError:
            return None

    columns = list(zip(*rows, strict=True))
    kept = [j for j, column in enumerate(columns) if all(c == "NA" or number(c) is not None for c in column)]
    values = np.array([[np.nan if row[j] == "NA" else float(row[j]) for j in kept] for row in rows])
    values = values[np.isfinite(values).all(1)]
    target = [header[j] for j in kept].index(TARGETS[name])
    return np.delete(values, target, axis=1), values[:, target]


def planned(x: Array, y: Array, budget: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.csv"
        names = [f"x{j}" for j in range(x.shape[1])] + ["y"]
        rows = [",".join(repr(float(v)) for v in row) for row in np.column_stack([x, y])]
        path.write_text("\n".join([",".join(names), *rows]) + "\n")
        command = [BINARY, "plan", str(path), "--y", "y", "--budget", str(budget), "--json", "-"]
        document: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return document


def frames(n_heads: int, head_dim: int, d: int, random: np.random.Generator) -> list[Array]:
    """Orthonormal blocks of Haar bases."""
    found: list[Array] = []
    while len(found) < n_heads:
        q, r = np.linalg.qr(random.normal(size=(d, d)))
        basis = (q * np.sign(np.diag(r))).T
        found += [basis[j * head_dim : (j + 1) * head_dim] for j in range(d // head_dim)]
    return found[:n_heads]


def ensemble(x: Array, y: Array, at: Array | None, heads: Sequence[Array], bandwidth: float) -> Array:
    found = headspan.estimate_heads(
        x, y, at, projections=heads, bandwidth=bandwidth, leave_one_out=at is None, covariance=False
    )
    mean: Array = np.mean([head.output for head in found.heads], axis=0)
    return mean


def fitted(x: Array, y: Array, heads: Sequence[Array], start: float) -> tuple[float, float]:
    """Bandwidth and leave-one-out error: downhill by half octaves from `start`."""
    known: dict[int, float] = {}

    def loo(step: int) -> float:
        if step not in known:
            known[step] = float(np.mean((y - ensemble(x, y, None, heads, start * 2 ** (step / 2))) ** 2))
        return known[step]

    at = 0
    while True:
        best = min((at, at - 1, at + 1), key=loo)
        if best == at:
            return start * 2 ** (at / 2), loo(at)
        at = best


def split_errors(x: Array, y: Array, out: Array, document: dict[str, Any], draws: int) -> Array:
    """[draws, pairs, 2]: held-out and leave-one-out errors of every pair of the grid. One that sees all inputs is the
    same in every draw."""
    train = ~out
    spread = x[train].std(0)
    seen = spread > 0
    scaled = (x[:, seen] - x[train][:, seen].mean(0)) / spread[seen]
    found = np.empty((draws, len(document["curve"]), 2))
    for at, point in enumerate(document["curve"]):
        for draw in range(1 if point["head_dim"] == scaled.shape[1] else draws):
            random = np.random.default_rng([draw, point["head_dim"]])
            heads = frames(point["n_heads"], point["head_dim"], scaled.shape[1], random)
            bandwidth, loo = fitted(scaled[train], y[train], heads, point["bandwidth"])
            fit = ensemble(scaled[train], y[train], scaled[out], heads, bandwidth)
            found[draw:, at] = np.mean((y[out] - fit) ** 2), loo
    return found


def with_error(draws: Array, chosen: Sequence[int], best: Sequence[int]) -> str:
    """Mean over splits of the error of the chosen pair over that of the best one, less 1. draws: [splits, draws, pairs]."""
    ratios, variances = [], []
    for split, planned, least in zip(draws, chosen, best, strict=True):
        mean, error = split.mean(0), split.std(0, ddof=1) / np.sqrt(len(split))
        ratios.append(mean[planned] / mean[least] - 1)
        if planned != least:
            variances.append(
                (error[planned] ** 2 + (error[least] * mean[planned] / mean[least]) ** 2) / mean[least] ** 2
            )
    return f"{np.mean(ratios):+.3f} +- {np.sqrt(sum(variances)) / len(ratios):.3f}"


def report(name: str, budget: int, draws: int) -> None:
    x, y = numeric_rows(name)
    fold = np.random.default_rng(0).permutation(len(y)) % N_SPLITS
    errors, chosen, pairs = [], [], []
    for split in range(N_SPLITS):
        out = fold == split
        document = planned(x[~out], y[~out], budget)
        errors.append(split_errors(x, y, out, document, draws))
        dimensions = [point["head_dim"] for point in document["curve"]]
        best = document["best"]
        chosen.append(dimensions.index(best["head_dim"]))
        pairs.append(f"{best['n_heads']}x{best['head_dim']}")
    held_out, left_out = np.moveaxis(np.array(errors), -1, 0)
    means, own_loo = held_out.mean(1), left_out.mean(1).argmin(1).tolist()
    overall = [int(means.mean(0).argmin())] * N_SPLITS
    print(
        f"{name:<11} n {len(y):>4}  D {budget:>3}  planned {' '.join(pairs):<36}"
        f" over the best pair {with_error(held_out, chosen, overall)}"
        f"  over each split's own {with_error(held_out, chosen, means.argmin(1).tolist())}"
        f"  leave-one-out {with_error(left_out, chosen, own_loo)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TARGETS))
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--draws", type=int, default=12)
    arguments = parser.parse_args()
    for name in arguments.tables:
        report(name, arguments.budget, arguments.draws)


if __name__ == "__main__":
    main()
