"""Regression of tables: headspan's automatic choice beside its peers, on the same folds, in one run.

    PYTHONPATH=build/release/python python bench/tabular.py ../shared/data [--tables boston,diabetes] [--repeats 5]

Relative RMSE (root mean squared held-out error over the standard deviation of the target) by repeated 5-fold
cross-validation with fixed seeds, and the coverage of 90 % intervals. Everything is chosen inside the outer folds:
peers by a grid and 5-fold cross-validation, headspan by its own. Every contestant gets the same encoding: numbers as
they are, words one-hot (one column for two levels), rows with missing values left out; peers but the forest are
standardised. scikit-learn is the peer and is needed by this script alone.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from headspan import MultiHeadNWRegressor

Array = npt.NDArray[np.float64]
Predictor = Callable[[Array, Array, Array], Array]

TARGETS = {"diabetes": "target", "boston": "medv", "airquality": "Ozone", "cps1985": "wage", "ames": "Sale_Price"}
COVERAGE = 0.9


def column(texts: list[str]) -> Array:
    """[n] a column of numbers, or [n, levels] of one of words."""
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        levels = sorted(set(texts))
        return np.array([[float(text == level) for level in levels[len(levels) == 2 :]] for text in texts])


def table(folder: Path, name: str) -> tuple[Array, Array]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if name != "ames":  # whose NA are words of their own
        rows = [row for row in rows if "NA" not in row.values()]
    y = np.array([float(row.pop(TARGETS[name])) for row in rows])
    return np.column_stack([column([row[key] for row in rows]) for key in rows[0]]), y


def folds(n: int, repeat: int) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    order = np.random.default_rng(1000 + repeat).permutation(n)
    for k in range(5):
        held_out = np.sort(order[k::5])
        yield np.setdiff1d(np.arange(n), held_out), held_out


def searched(model: object, grid: Mapping[str, Sequence[object]]) -> Predictor:
    def predict(x: Array, y: Array, at: Array) -> Array:
        inner = KFold(5, shuffle=True, random_state=0)
        search = GridSearchCV(model, grid, cv=inner, scoring="neg_mean_squared_error")
        predicted: Array = make_pipeline(StandardScaler(), search).fit(x, y - y.mean()).predict(at) + y.mean()
        return predicted

    return predict


def forest(x: Array, y: Array, at: Array) -> Array:
    predicted: Array = RandomForestRegressor(500, random_state=0).fit(x, y).predict(at)
    return predicted


def one_head(heads: Literal["random", "diagonal"]) -> Predictor:
    """Nadaraya-Watson with one bandwidth, or one per column, of least leave-one-out error."""

    def predict(x: Array, y: Array, at: Array) -> Array:
        model = MultiHeadNWRegressor(heads, "mean", n_heads=1, head_dim=x.shape[1], n_folds=0, iterations=60)
        return model.fit(x, y).predict(at)

    return predict


def peers(p: int) -> dict[str, Predictor]:
    neighbours: dict[str, list[object]] = {
        "n_neighbors": [2, 3, 5, 7, 10, 15, 20, 30, 50],
        "weights": ["uniform", "distance"],
    }
    ridge = {"alpha": [1e-3, 1e-2, 0.1, 0.3, 1, 3, 10], "gamma": [g / p for g in (0.003, 0.01, 0.03, 0.1, 0.3, 1)]}
    return {
        "forest": forest,
        "neighbours": searched(KNeighborsRegressor(), neighbours),
        "nw": one_head("random"),
        "nw_per_column": one_head("diagonal"),
        "kernel_ridge": searched(KernelRidge(kernel="rbf"), ridge),
    }


class Auto:
    """headspan's choice; counts how often its intervals hold the target."""

    def __init__(self, effort: float) -> None:
        self.effort = effort
        self.bounds: list[tuple[Array, Array]] = []

    def __call__(self, x: Array, y: Array, at: Array) -> Array:
        model = MultiHeadNWRegressor(effort=self.effort).fit(x, y)
        low, high = model.predict_interval(at, COVERAGE)
        self.bounds.append((low, high))
        return model.predict(at)


def relative_rmse(predictor: Predictor, x: Array, y: Array, repeats: int) -> float:
    squares = 0.0
    for repeat in range(repeats):
        for seen, held_out in folds(len(y), repeat):
            predicted = predictor(x[seen], y[seen], x[held_out])
            squares += float(((y[held_out] - predicted) ** 2).sum())
    return float(np.sqrt(squares / repeats / len(y)) / y.std())


def coverage(auto: Auto, y: Array, repeats: int) -> float:
    held_out = [rows for repeat in range(repeats) for _, rows in folds(len(y), repeat)]
    inside = [(low <= y[rows]) & (y[rows] <= high) for (low, high), rows in zip(auto.bounds, held_out, strict=True)]
    return float(np.concatenate(inside).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", default=",".join(TARGETS))
    parser.add_argument("--contestants", help="names separated by commas; all unless given")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--effort", type=float, default=20000.0)
    arguments = parser.parse_args()
    print(f"{'table':<12}{'contestant':<16}{'relative RMSE':>14}{'coverage':>10}{'seconds':>9}")
    for name in arguments.tables.split(","):
        x, y = table(arguments.folder, name)
        auto = Auto(arguments.effort)
        contestants: dict[str, Predictor] = {"auto": auto, **peers(x.shape[1])}
        for who, predictor in contestants.items():
            if arguments.contestants and who not in arguments.contestants.split(","):
                continue
            start = time.monotonic()
            error = relative_rmse(predictor, x, y, arguments.repeats)
            inside = f"{coverage(auto, y, arguments.repeats):10.3f}" if who == "auto" else " " * 10
            print(f"{name:<12}{who:<16}{error:14.4f}{inside}{time.monotonic() - start:9.1f}", flush=True)


if __name__ == "__main__":
    main()
