"""`headspan nw` with columns of words and of ordered levels: its numbers, its words, its complaints."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headspan
from oracle import category_weights, command, weighted_means
from oracle.weighted_means import close

Check = Callable[[Any], None]
Array = NDArray[Any]

ROWS = """size,place,a,y
2,south,0.5,1.5
9,north,1.5,2.5
2,south,2.5,3.5
10,west,0.25,0.5
9,south,3.5,6.5
10,north,,1.5
2,west,1.75,4.5
"""
X = ("--x", "a,place,size", "--y", "y", "--ordered", "size")


def table(tmp_path: Path) -> Path:
    path = tmp_path / "d.csv"
    path.write_text(ROWS)
    return path


def values(document: Any, key: str = "fit") -> Array:
    return np.array([np.nan if p[key] is None else p[key] for p in document["points"]])


def weights_of(points: list[list[Any]], rows: list[list[Any]], h: float, kernels: list[str], lambdas: Any) -> Array:
    at, keys = (np.array([[row[0]] for row in some], dtype=float) for some in (points, rows))
    weights = np.exp(weighted_means.log_weights("gaussian", "radial", at, keys, np.array([h])))
    orders = [sorted({row[1] for row in rows}), sorted({row[2] for row in rows}, key=float)]
    for k, (kernel, lam) in enumerate(zip(kernels, lambdas, strict=True)):
        here, there = ([row[k + 1] for row in some] for some in (points, rows))
        weights *= category_weights.column_weights(here, there, kernel, lam, orders[k])
    return weights


@pytest.mark.parametrize(
    ("asked", "kernels"),
    [
        ([], ["aitchison_aitken", "li_racine_ordered"]),
        (["--category-kernel", "li_racine"], ["li_racine", "li_racine_ordered"]),
        (["--category-kernel", "wang_van_ryzin,li_racine"], ["li_racine", "wang_van_ryzin"]),
    ],
)
def test_numbers_are_those_of_the_definition(
    tmp_path: Path, check_nw_schema: Check, asked: list[str], kernels: list[str]
) -> None:
    document = command.nw(table(tmp_path), *X, "--bandwidth", 0.8, "--lambda", "0.3,0.6", "--loo", *asked)
    check_nw_schema(document)
    assert [(c["column"], c["ordered"], c["kernel"]) for c in document["categories"]] == [
        ("place", False, kernels[0]), ("size", True, kernels[1]),
    ]  # fmt: skip
    assert [c["levels"] for c in document["categories"]] == [["north", "south", "west"], ["2", "9", "10"]]
    assert document["lambda"] == [0.3, 0.6] == document["options"]["lambda"] and document["bandwidth"] == [0.8]
    assert document["x"] == ["a", "place", "size"] and document["points"][0]["x"] == [0.5, "south", "2"]
    assert document["input"]["dropped"] == [{"line": 7, "column": "a"}]
    rows, y = [p["x"] for p in document["points"]], np.array([1.5, 2.5, 3.5, 0.5, 6.5, 4.5])
    weights = weights_of(rows, rows, 0.8, kernels, [0.3, 0.6])
    close(values(document), category_weights.means(weights, y), rtol=1e-11)
    others = weights * (1 - np.eye(6))
    close(values(document, "loo_fit"), category_weights.means(others, y), rtol=1e-11)
    assert document["loo"] == pytest.approx(category_weights.loo(weights, y), rel=1e-10)


def test_points_of_another_table(tmp_path: Path, check_nw_schema: Check) -> None:
    at = tmp_path / "at.csv"
    at.write_text("place,size,a\nnorth,2,1\neast,10,2\n")
    document = command.nw(table(tmp_path), *X, "--bandwidth", 0.8, "--lambda", 0.3, "--at", at)
    check_nw_schema(document)
    points = [p["x"] for p in document["points"]]
    assert points == [[1, "north", "2"], [2, "east", "10"]]
    rows = [[0.5, "south", "2"], [1.5, "north", "9"], [2.5, "south", "2"], [0.25, "west", "10"], [3.5, "south", "9"],
            [1.75, "west", "2"]]  # fmt: skip
    weights = weights_of(points, rows, 0.8, ["aitchison_aitken", "li_racine_ordered"], [0.3, 0.3])
    close(values(document), category_weights.means(weights, np.array([1.5, 2.5, 3.5, 0.5, 6.5, 4.5])), rtol=1e-11)
    at.write_text("place,size,a\nnorth,3,1\n")
    refused = command.run("nw", table(tmp_path), *X, "--bandwidth", 0.8, "--lambda", 0.3, "--at", at)
    assert refused.code == 3 and "line 2: column 'size'" in refused.err and "2 < 9 < 10" in refused.err


def test_lambda_zero_may_leave_a_point_without_a_neighbour(tmp_path: Path, check_nw_schema: Check) -> None:
    at = tmp_path / "at.csv"
    at.write_text("place\neast\nwest\n")
    asked = (table(tmp_path), "--x", "place", "--y", "y", "--lambda", 0, "--at", at)
    document = command.nw(*asked, codes=(4,))
    check_nw_schema(document)
    assert [p["status"] for p in document["points"]] == ["no neighbour", "ok"]
    assert [p["fit"] for p in document["points"]] == [None, 2.5] and document["bandwidth"] == []
    assert command.nw(*asked, "--nearest")["points"][0]["status"] == "nearest neighbour"


def wages(tables: Path) -> tuple[Array, Array, list[list[str]]]:
    with (tables / "cps1985.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    x = np.array([[float(row["education"]), float(row["experience"])] for row in rows])
    words = [[row["gender"], row["occupation"]] for row in rows]
    return x, np.array([float(row["wage"]) for row in rows]), words


def test_real_wages(tables: Path, check_nw_schema: Check) -> None:
    asked = (tables / "cps1985.csv", "--x", "education,experience,gender,occupation", "--y", "wage")
    document = command.nw(*asked, "--starts", 2)
    check_nw_schema(document)
    assert document["n"] == 534 and [c["column"] for c in document["categories"]] == ["gender", "occupation"]
    numbers = command.nw(tables / "cps1985.csv", "--x", "education,experience", "--y", "wage")
    assert document["loo"] < 0.95 * numbers["loo"]
    x, y, words = wages(tables)
    widths = np.array([np.inf if h is None else h for h in document["bandwidth"]])
    scores = headspan.smoother_scores(x, y, bandwidth=widths, categories=words, lambda_=document["lambda"])
    assert document["loo"] == pytest.approx(scores.loo, rel=1e-12)
    close(values(document), scores.fit, rtol=1e-12)
    weights = np.exp(weighted_means.log_weights("gaussian", "radial", x, x, widths))
    for k, lam in enumerate(document["lambda"]):
        column = [row[k] for row in words]
        weights *= category_weights.column_weights(column, column, "aitchison_aitken", lam, sorted(set(column)))
    close(values(document), category_weights.means(weights, y), rtol=1e-9)
    assert command.nw(*asked, "--starts", 2, "--threads", 1) == document


def test_it_says_what_it_understood(tmp_path: Path) -> None:
    said = command.run("nw", table(tmp_path), *X, "--bandwidth", 0.8, "--lambda", "0.3,0.6").out
    for words in (
        "place, unordered: north, south, west", "size, ordered: 2 < 9 < 10", "0.3 (place), aitchison_aitken",
        "0.6 (size), li_racine_ordered, from 0 to 1", "0.8 (a)",
    ):  # fmt: skip
        assert words in said


def test_without_categories_there_is_no_word_of_them(tmp_path: Path) -> None:
    asked = ("nw", table(tmp_path).name, "--x", "a,size", "--y", "y", "--bandwidth", 1)
    for said in (command.run(*asked, cwd=tmp_path).out, command.run(*asked, "--json", "-", cwd=tmp_path).out):
        assert "lambda" not in said and "categor" not in said


TROUBLE: dict[str, tuple[list[object], int, str]] = {
    "half": (["--bandwidth", 1], 2, "chosen together"),
    "other half": (["--lambda", 0.1], 2, "chosen together"),
    "lambdas": (["--bandwidth", 1, "--lambda", "0.1,0.2,0.3"], 2, "3 numbers for 2 columns"),
    "range": (["--bandwidth", 1, "--lambda", 0.7], 2, "of column 'place'; aitchison_aitken with 3 levels"),
    "negative": (["--bandwidth", 1, "--lambda=-0.1"], 2, "non-negative"),
    "kernel": (["--category-kernel", "gaussian"], 2, "aitchison_aitken and li_racine"),
    "ordered": (["--ordered", "q"], 2, "column 'q' is not among the inputs"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(tmp_path: Path, name: str) -> None:
    arguments, code, words = TROUBLE[name]
    result = command.run("nw", table(tmp_path), *X, *arguments)
    assert (result.code, result.out) == (code, "")
    assert words in result.err


def test_what_is_no_category(tmp_path: Path) -> None:
    path = table(tmp_path)
    no_number = command.run("nw", path, "--x", "place", "--y", "y", "--bandwidth", 1)
    assert no_number.code == 2 and "every input is a category" in no_number.err
    no_category = command.run("nw", path, "--x", "a", "--y", "y", "--lambda", 0.1)
    assert no_category.code == 2 and "no input is a category" in no_category.err
    path.write_text("w,a,y\nsame,1,2\nsame,2,3\nsame,3,5\n")
    one_level = command.run("nw", path, "--x", "w,a", "--y", "y")
    assert one_level.code == 3 and "the same value, 'same', in all 3 rows" in one_level.err


def test_the_schema_has_teeth(tmp_path: Path, check_nw_schema: Check) -> None:
    damages: tuple[Callable[[Any], Any], ...] = (
        lambda d: d.pop("lambda"),
        lambda d: d.update({"lambda": [1.5, 0]}),
        lambda d: d["categories"][0].pop("levels"),
        lambda d: d["categories"][0].update(kernel="gaussian"),
        lambda d: d["points"][0].update(x=[None]),
    )
    for damage in damages:
        document = command.nw(table(tmp_path), *X, "--bandwidth", 0.8, "--lambda", 0.3)
        check_nw_schema(document)
        damage(document)
        with pytest.raises(AssertionError):
            check_nw_schema(document)
