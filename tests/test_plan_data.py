"""`headspan plan DATA` and `headspan plan --like CONFIG`: the schema, the grid beside the plan, complaints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import command

Check = Callable[[Any], None]
ROOT = Path(__file__).resolve().parent.parent


def table(path: Path, n: int = 120, d: int = 4) -> tuple[Path, Any, Any]:
    random = np.random.default_rng(5)
    x = random.normal(size=(n, d))
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.3 * random.normal(size=n)
    rows = [",".join([*(repr(float(v)) for v in row), "text"]) for row in np.column_stack([x, y])]
    path.write_text("\n".join([",".join([*(f"x{j}" for j in range(d)), "y", "word"]), *rows]) + "\n")
    return path, x, y


def loo_of_all_inputs(x: Any, y: Any, bandwidth: float) -> float:
    """Leave-one-out error of the one head that sees every input: the same whatever its rotation."""
    z = (x - x.mean(0)) / x.std(0)
    w = np.exp(-((z[:, None] - z[None]) ** 2).sum(-1) / (2 * bandwidth**2))
    np.fill_diagonal(w, 0)
    return float(np.mean((y - w @ y / w.sum(1)) ** 2))


def test_a_plan_from_a_table(tmp_path: Path, check_plan_data_schema: Check) -> None:
    path, x, y = table(tmp_path / "data.csv")
    document = command.plan(path, "--y", "y", "--budget", 8, "--at-n", 1e5, "--check", "--draws", 2)
    check_plan_data_schema(document)
    assert document["kind"] == "plan" and document["x"] == ["x0", "x1", "x2", "x3"]
    assert [(p["head_dim"], p["n_heads"]) for p in document["curve"]] == [(1, 8), (2, 4), (3, 2), (4, 2)]
    least = min(p["mse"] for p in document["curve"])
    assert document["best"]["mse"] == least and document["best"] in document["near_ties"]
    assert sum(p["chosen_share"] for p in document["curve"]) == pytest.approx(1)
    for point in document["curve"]:
        assert point["mse"] == pytest.approx(point["squared_bias"] + point["variance"], rel=1e-12)
    widest = document["curve"][-1]
    predicted = loo_of_all_inputs(x, y, widest["bandwidth"]) - document["pilot"]["noise"]
    assert widest["mse"] == pytest.approx(predicted, rel=1e-9)
    check = document["check"]
    assert check["pairs"][-1]["loo"] == pytest.approx(
        loo_of_all_inputs(x, y, check["pairs"][-1]["bandwidth"]), rel=1e-9
    )
    assert check["best"]["loo"] == min(p["loo"] for p in check["pairs"])
    assert check["regret"] == pytest.approx(check["planned"]["loo"] / check["best"]["loo"] - 1)
    assert 0 <= check["regret"] < 0.05
    # A head that sees everything is the same in every draw: one says all.
    assert [p["n_draws"] for p in check["pairs"]] == [2, 2, 2, 1] and check["pairs"][-1]["standard_error"] == 0
    assert document["notes"] == []
    assert any("833 times the rows measured" in note for note in document["at_n"]["notes"])
    assert document["at_n"]["n"] == 1e5 and document["at_n"]["best"]["variance"] < document["best"]["variance"]


def test_the_regret_has_an_error(tmp_path: Path, check_plan_data_schema: Check) -> None:
    path, _, _ = table(tmp_path / "data.csv")
    result = command.run("plan", path, "--y", "y", "--budget", 3, "--check", "--draws", 6, "--json", tmp_path / "plan")
    document = json.loads((tmp_path / "plan").read_text())
    check_plan_data_schema(document)
    check = document["check"]
    planned, best = check["planned"], check["best"]
    if planned == best:
        assert (check["regret"], check["regret_standard_error"], check["within_noise"]) == (0, 0, True)
        assert "the planned pair is the best on the grid" in " ".join(result.out.split())
    else:
        ratio = planned["loo"] / best["loo"]
        error = np.hypot(planned["standard_error"], ratio * best["standard_error"]) / best["loo"]
        assert check["regret_standard_error"] == pytest.approx(error)
        assert ("within noise" in result.out) == (ratio - 1 <= 2 * error) == check["within_noise"]


def test_results_do_not_depend_on_threads(tmp_path: Path) -> None:
    path, _, _ = table(tmp_path / "data.csv")
    runs = [command.plan(path, "--y", "y", "--budget", 8, "--threads", t) for t in (1, 2)]
    assert runs[0] == runs[1]


def test_real_tables_are_planned_within_five_percent(tables: Path, check_plan_data_schema: Check) -> None:
    regrets = []
    for name, target in (("diabetes", "target"), ("airquality", "Ozone"), ("boston", "medv"), ("cps1985", "wage")):
        document = command.plan(tables / f"{name}.csv", "--y", target, "--budget", 16, "--check")
        check_plan_data_schema(document)
        regrets.append(document["check"]["regret"])
    assert max(regrets) < 0.05, regrets


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["--budget", 8], "--y: is needed", 2),
        (["--y", "y"], "--budget: is needed", 2),
        (["--y", "y", "--budget", 8, "--noise", 1], "leave it out", 2),
        (["--y", "y", "--budget", 8, "--at-n", 2], "--at-n 2: must be above 2", 2),
        (["--y", "y", "--budget", 8, "--check", "--draws", 0], "--draws 0", 2),
        (["--y", "y", "--budget", 8, "--multiple-of", 16], "16 is above d_model 4", 2),
        (["--y", "y", "--budget", 16, "--multiple-of", 16], "above d_model 4", 2),
        (["--y", "z", "--budget", 8], "z", 3),
        (["--y", "y", "--x", "word", "--budget", 8], "word", 3),
    ],
)
def test_what_cannot_be_is_explained(tmp_path: Path, arguments: list[object], words: str, code: int) -> None:
    path, _, _ = table(tmp_path / "data.csv")
    result = command.run("plan", path, *arguments)
    assert result.code == code and result.out == ""
    assert words in result.err


@pytest.mark.parametrize(
    ("row", "n", "words"),
    [
        (lambda i: (i, 1), 20, "y: is 1 in every row; there is nothing to predict"),
        (lambda i: (1, i), 20, "x: no column varies"),
        (lambda i: (i, i), 5, "at least 8 rows, there are 5"),
        (lambda i: (i, f"{i}e299"), 20, "y: varies by 1.9e+300, whose powers leave the range of double"),
        (lambda i: (i, f"{i}e-200"), 20, "give it in other units"),
    ],
)
def test_tables_without_an_answer_are_explained(
    tmp_path: Path, row: Callable[[int], tuple[object, object]], n: int, words: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,y\n" + "".join("{},{}\n".format(*row(i)) for i in range(n)))
    result = command.run("plan", path, "--y", "y", "--budget", 4)
    assert (result.code, result.out) == (3, "")
    assert str(path) in result.err and words in result.err and "column 'y'" in result.err


def test_the_units_of_the_inputs_do_not_matter(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(size=(40, 2)), random.normal(size=40)
    errors = []
    for unit in (1.0, 1e-200, 1e300):
        path = tmp_path / f"{unit}.csv"
        path.write_text("a,b,y\n" + "".join(f"{a * unit},{b},{c}\n" for (a, b), c in zip(x, y, strict=True)))
        errors.append([pair["mse"] for pair in command.plan(path, "--y", "y", "--budget", 2)["curve"]])
    assert errors[1] == pytest.approx(errors[0], rel=1e-9) and errors[2] == pytest.approx(errors[0], rel=1e-9)


def config(tmp_path: Path, **keys: Any) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(keys))
    return path


def test_costs_of_a_model(tmp_path: Path, check_plan_model_schema: Check) -> None:
    path = config(
        tmp_path, model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8
    )  # fmt: skip
    document = command.plan("--like", path, "--context", 8192)
    check_plan_model_schema(document)
    assert document["model"]["head_dim"] == {"value": 128, "origin": "class default of llama: d_model/n_heads"}
    assert all(p["n_heads"] * p["head_dim"] == 4096 and p["n_heads"] % 8 == 0 for p in document["pairs"])
    own = [p for p in document["pairs"] if p["is_model"]]
    parameters = 32 * (2 * 4096**2 + 2 * 4096 * 1024)
    assert own == [
        {
            "head_dim": 128, "n_heads": 32, "n_kv_heads": 8, "parameters": parameters,
            "kv_cache_bytes": 131072, "flops": 2 * parameters + 32 * 4 * 8192 * 4096, "is_model": True,
        }
    ]  # fmt: skip


def test_a_model_of_an_unknown_family_and_one_that_shares_layers(
    tmp_path: Path, check_plan_model_schema: Check
) -> None:
    document = command.plan("--like", ROOT / "examples/char_gpt/config.json")
    check_plan_model_schema(document)
    assert document["model"]["n_kv_heads"] == {"value": 8, "origin": "as n_heads"}
    path = config(
        tmp_path, model_type="albert", hidden_size=64, num_hidden_layers=12, num_hidden_groups=1, num_attention_heads=4
    )  # fmt: skip
    pairs = command.plan("--like", path)["pairs"]
    assert {p["parameters"] for p in pairs} == {4 * 64 * 64}
    assert {p["kv_cache_bytes"] for p in pairs} == {12 * 2 * 64 * 2}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"hidden_size": 64, "num_hidden_layers": 2}, "n_heads: refused: is stated under none of"),
        ({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 5}, "5 heads do not divide d_model = 64"),
        ({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 0}, "must lie between 1 and"),
        (
            {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 3},
            "8 heads cannot share 3",
        ),
    ],
)
def test_bad_configurations_are_explained(tmp_path: Path, keys: dict[str, Any], words: str) -> None:
    result = command.run("plan", "--like", config(tmp_path, **keys))
    assert result.code == 3 and result.out == ""
    assert words in result.err
