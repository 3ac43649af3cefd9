"""`headspan fit`, `predict`, `evaluate` and `inspect`: real tables, the model file, and their complaints."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import command

Check = Callable[[Any], None]
# Heads enough to be a model, and no more time than a test may take.
QUICK = ("--effort", "low", "--n-heads", 3, "--head-dim", 2)
TARGETS = {
    "boston.csv": "medv",
    "airquality.csv": "Ozone",
    "cars_bom.csv": "Miles_per_Gallon",
    "prestige_semicolon_decimalcomma.csv": "prestige",
    "cps1985.csv": "wage",
}


def made(tmp_path: Path, n: int = 80, seed: int = 0, name: str = "data.csv") -> Path:
    """A table with words and gaps, y = sin(2a) + group + noise."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, n))
    group = random.integers(0, 3, size=n)
    y = np.sin(2 * a) + group + 0.1 * random.normal(size=n)
    lines = ["a,b,group,y"]
    for i in range(n):
        lines.append(f"{'' if i % 9 == 4 else a[i]},{b[i]},{'xyz'[group[i]]},{y[i]}")
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def fit(tmp_path: Path, data: Path, target: str, *arguments: object) -> tuple[Path, Any]:
    model = tmp_path / "model.headspan"
    return model, command.regression("fit", data, "--target", target, "-o", model, *QUICK, *arguments)


def decisions(document: Any) -> dict[str, tuple[str, str]]:
    return {c["name"]: (c["use"], c["exclusion"]) for c in document["encoding"]["columns"]}


@pytest.mark.parametrize("name", TARGETS)
def test_real_tables(tables: Path, tmp_path: Path, check_regression_schema: Check, name: str) -> None:
    data, target = tables / name, TARGETS[name]
    model, document = fit(tmp_path, data, target)
    check_regression_schema(document)
    assert document["n_rows"] == document["input"]["n_rows"] - document["input"]["n_dropped"]
    assert document["held_out"]["relative_rmse"] < 0.97
    predicted = command.regression("predict", model, data, "--interval", 0.9)
    check_regression_schema(predicted)
    assert len(predicted["rows"]) == predicted["input"]["n_rows"]
    assert all(r["lower"] <= r["prediction"] <= r["upper"] for r in predicted["rows"])
    inspected = command.regression("inspect", model)
    check_regression_schema(inspected)
    assert inspected["trend_share"] + sum(h["share"] for h in inspected["heads"]) == pytest.approx(1.0, rel=1e-9)
    for head in inspected["heads"]:
        assert sum(head["influence"]) == pytest.approx(1.0, rel=1e-9)


def test_what_becomes_of_the_columns(tables: Path, tmp_path: Path) -> None:
    _, cars = fit(tmp_path, tables / "cars_bom.csv", "Miles_per_Gallon")
    assert cars["input"]["byte_order_mark"] and cars["input"]["n_dropped"] == 8
    assert decisions(cars)["Name"] == ("left out", "free form")
    assert decisions(cars)["Year"] == ("left out", "dates")
    assert decisions(cars)["Origin"] == ("category", "none")
    assert {"Horsepower missing", "Origin = Europe"} <= set(cars["encoding"]["inputs"])
    _, air = fit(tmp_path, tables / "airquality.csv", "Ozone")
    assert air["input"]["n_dropped"] == 37 and air["repairs"][0]["name"] == "Solar.R"
    _, prestige = fit(tmp_path, tables / "prestige_semicolon_decimalcomma.csv", "prestige")
    assert (prestige["input"]["separator"], prestige["input"]["decimal_mark"]) == (";", ",")
    assert decisions(prestige)["occupation"] == ("left out", "free form")
    assert "type missing" in prestige["encoding"]["inputs"]


def test_the_search_says_what_each_would_have_given(tmp_path: Path, check_regression_schema: Check) -> None:
    data, model = made(tmp_path), tmp_path / "auto.headspan"
    document = command.regression("fit", data, "--target", "y", "-o", model, "--effort", "low")
    check_regression_schema(document)
    search = document["search"]
    tried = [c for c in search["candidates"] if c["tried"]]
    assert tried and search["effort_spent"] > 0 and not search["partial"]
    assert sum(c["weight"] for c in tried) == pytest.approx(1.0)
    assert document["held_out"]["relative_rmse"] < 0.6
    assert len(document["estimates"]) >= 1
    shown = command.run("fit", data, "--target", "y", "-o", model, "--effort", "low").out
    assert "search" in shown and "held out" in shown
    predicted = command.regression("predict", model, data, "--interval", 0.9)
    assert all(r["lower"] <= r["upper"] for r in predicted["rows"])


def test_a_leak_is_shouted_about(tables: Path, tmp_path: Path) -> None:
    bikes = tables / "bikes_all_quoted_crlf.csv"
    model = tmp_path / "model.headspan"
    asked = ("fit", bikes, "--target", "bikes_available", "-o", model, *QUICK)
    refused = command.run(*asked)
    assert refused.code == 3 and not model.exists()
    for words in ("'station_id' (constant)", "'docks_available' (leak)", "'time' (dates)"):
        assert words in refused.err
    kept = command.run(*asked, "--keep", "docks_available")
    assert kept.code == 0 and "WARNING" in kept.out and "kept as asked" in kept.out


def test_predictions_after_reload_are_the_same(tmp_path: Path) -> None:
    data = made(tmp_path)
    model, _ = fit(tmp_path, data, "y")
    first = command.run("predict", model, data, "--interval", 0.8, "--csv", "-")
    assert first.code == 0
    rows = list(csv.DictReader(io.StringIO(first.out)))
    assert list(rows[0]) == ["line", "y", "lower", "upper", "n_eff", "extrapolated"]
    document = command.regression("predict", model, data, "--interval", 0.8)
    assert [float(r["y"]) for r in rows] == [r["prediction"] for r in document["rows"]]
    again = tmp_path / "again.headspan"
    command.regression("fit", data, "--y", "y", "-o", again, *QUICK, "--threads", 1)
    assert again.read_bytes() == model.read_bytes()


def test_variances_of_predictions(tmp_path: Path, check_regression_schema: Check) -> None:
    data, model = made(tmp_path), tmp_path / "model.headspan"
    command.regression("fit", data, "--y", "y", "-o", model, *QUICK, "--sharpen")
    document = command.regression("predict", model, data, "--variance", "constant")
    check_regression_schema(document)
    noises = {row["noise_variance"] for row in document["rows"]}
    assert document["noise"] == "constant" and len(noises) == 1
    assert all(row["fit_variance"] > 0 for row in document["rows"])
    assert sum(row["fit_variance"] for row in document["rows"]) < len(document["rows"]) * noises.pop()
    local = command.run("predict", model, data, "--variance", "local", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(local.out)))
    assert list(rows[0]) == ["line", "y", "fit_variance", "noise_variance", "n_eff", "extrapolated"]
    assert len({row["noise_variance"] for row in rows}) > 1
    assert command.regression("predict", model, data)["noise"] is None


def test_a_fit_without_folds_says_why(tmp_path: Path, check_regression_schema: Check) -> None:
    data, model = made(tmp_path), tmp_path / "model.headspan"
    asked = ("fit", data, "--y", "y", "-o", model, *QUICK)
    assert command.regression(*asked)["intervals"] == {"residuals": "held_out", "reason": None}
    without = command.regression(*asked, "--inner-folds", 0)
    check_regression_schema(without)
    assert without["held_out"] is None
    assert without["intervals"] == {"residuals": "leave_one_out", "reason": "no inner folds were asked for"}


@pytest.mark.parametrize("options", [("--trend",), ("--sharpen", "--combiner", "mean")], ids=["trend", "sharpened"])
def test_predictions_are_those_of_the_format(tmp_path: Path, options: tuple[str, ...]) -> None:
    """docs/formats/model.md is enough to predict with numpy and the safetensors package."""
    safetensors = pytest.importorskip("safetensors.numpy")
    data = made(tmp_path)
    model, _ = fit(tmp_path, data, "y", *options)
    raw = model.read_bytes()
    tensors = safetensors.load(raw)
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    metadata = header["__metadata__"]
    stated = metadata["checksum"].encode()
    zeroed = raw.replace(b'"checksum":"' + stated, b'"checksum":"00000000')
    assert f"{zlib.crc32(zeroed):08x}" == metadata["checksum"]
    columns = {c["name"]: c for c in json.loads(metadata["table"])["columns"]}
    with data.open(newline="") as file:
        rows = list(csv.DictReader(file))
    x = np.array([
        [float(r["a"] or columns["a"]["fill"]), float(not r["a"]), float(r["b"]), *(float(r["group"] == g) for g in "xyz")]
        for r in rows
    ])  # fmt: skip
    used = tensors["input.used"].astype(int)
    x = ((x - tensors["input.center"]) / np.where(tensors["input.scale"] > 0, tensors["input.scale"], 1))[:, used]
    keys = tensors["row.inputs"][tensors["ensemble.rows"].astype(int)]
    weight, intercept, _ = tensors["ensemble.0.numbers"]
    sum_ = intercept + x @ tensors["ensemble.0.trend"]
    for h in range(json.loads(metadata["structure"])["ensemble"][0]["n_fitted"]):
        p = tensors[f"ensemble.0.head.{h}.projection"]
        distance = ((x[:, None, :] @ p.T - keys[None] @ p.T) ** 2).sum(-1)
        w = tensors["row.frequency"] * np.exp(-distance / 2)
        output = (w @ tensors["ensemble.0.values"][:, h]) / w.sum(1)
        if "--sharpen" in options:
            output = output.clip(*tensors[f"ensemble.0.head.{h}.bounds"])
        sum_ += tensors[f"ensemble.0.head.{h}.numbers"][0] * output
    mean, deviation = tensors["target.numbers"]
    have = [r["prediction"] for r in command.regression("predict", model, data)["rows"]]
    np.testing.assert_allclose(have, mean + deviation * weight * sum_, rtol=1e-10)


def test_rows_of_weight_two_are_two_rows(tmp_path: Path) -> None:
    data = made(tmp_path, n=40)
    lines = data.read_text().splitlines()
    weighted, repeated = tmp_path / "weighted.csv", tmp_path / "repeated.csv"
    weighted.write_text("\n".join([lines[0] + ",w", *(f"{v},{2 - i % 2}" for i, v in enumerate(lines[1:]))]))
    repeated.write_text("\n".join([lines[0], *(v for i, v in enumerate(lines[1:]) for _ in range(2 - i % 2))]))
    _, document = fit(tmp_path, weighted, "y", "--weights", "w")
    assert document["total_weight"] == 60
    first = command.regression("predict", tmp_path / "model.headspan", data)["rows"]
    fit(tmp_path, repeated, "y")
    assert command.regression("predict", tmp_path / "model.headspan", data)["rows"] == first


def test_another_table_by_name(tmp_path: Path) -> None:
    model, _ = fit(tmp_path, made(tmp_path), "y")
    other = tmp_path / "other.csv"
    other.write_text("more;group;b;a\n1;q;0,5;\n2;x;50;-0,25\n")
    document = command.regression("predict", model, other)
    assert document["ignored"] == ["more"]
    assert [r["name"] for r in document["repairs"]] == ["a", "group"]
    assert document["repairs"][1]["unseen"] == "q" and document["repairs"][1]["first_unseen"] == 2
    assert document["rows"][1]["extrapolated"]
    shown = command.run("predict", model, other).out
    for words in ("'q'", "far away", "more", "1 missing value got the median"):
        assert words in shown, shown


def test_evaluate_is_k_fold(tmp_path: Path, check_regression_schema: Check) -> None:
    data = made(tmp_path)
    document = command.regression("evaluate", data, "--target", "y", "--folds", 4, "--inner-folds", 3, *QUICK)
    check_regression_schema(document)
    assert sum(f["n_rows"] for f in document["folds"]) == document["n_rows"] == 80
    with data.open(newline="") as file:
        deviation = np.std([float(r["y"]) for r in csv.DictReader(file)])
    for fold in document["folds"]:
        assert fold["relative_rmse"] == pytest.approx(fold["rmse"] / deviation)
    for key in ("rmse", "mae", "r2", "coverage"):
        values = [f[key] for f in document["folds"]]
        assert document["mean"][key] == pytest.approx(np.mean(values))
        assert document["sd"][key] == pytest.approx(np.std(values, ddof=1))
    assert document["mean"]["relative_rmse"] < 0.6 and document["mean"]["coverage"] > 0.75
    seeded = command.regression("evaluate", data, "--y", "y", "--folds", 4, "--inner-folds", 3, *QUICK, "--seed", 1)
    assert seeded["folds"] != document["folds"]


def test_evaluate_scores_are_those_of_fits(tmp_path: Path) -> None:
    """Two folds by hand: fit on the rows of one, predict the rows of the other."""
    data = made(tmp_path, n=60)
    lines = data.read_text().splitlines()
    asked = (*QUICK, "--inner-folds", 2)
    document = command.regression("evaluate", data, "--target", "y", "--folds", 2, *asked)
    # The folds are not told, but each row was predicted by a model of 30 rows: errors of the right size.
    half, rest = tmp_path / "half.csv", tmp_path / "rest.csv"
    half.write_text("\n".join([lines[0], *lines[1::2]]))
    rest.write_text("\n".join([lines[0], *lines[2::2]]))
    model, _ = fit(tmp_path, half, "y", "--inner-folds", 2)
    have = [r["prediction"] for r in command.regression("predict", model, rest)["rows"]]
    rmse = np.sqrt(np.mean([(float(v.split(",")[-1]) - p) ** 2 for v, p in zip(lines[2::2], have, strict=True)]))
    assert document["mean"]["rmse"] == pytest.approx(rmse, rel=0.5)


@pytest.mark.parametrize("moment", [0.0, 0.05, 0.3, 1.0])
def test_killed_at_any_moment_the_old_model_stays(tmp_path: Path, moment: float) -> None:
    model, _ = fit(tmp_path, made(tmp_path), "y")
    before = model.read_bytes()
    large = made(tmp_path, n=400, name="large.csv")
    process = command.start("fit", large, "--target", "y", "-o", model, "--effort", "high")
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, "the fit ended before it was killed: make the table larger"
    assert model.read_bytes() == before
    assert command.run("predict", model, large, "--quiet").code == 0


def test_interrupted_while_it_fits(tmp_path: Path) -> None:
    model = tmp_path / "model.headspan"
    model.write_bytes(b"old")
    large = made(tmp_path, n=400)
    process = command.start("fit", large, "--target", "y", "-o", model, "--effort", "high")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.wait()
    assert process.returncode == 130 and model.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "model.headspan"]


def test_where_it_writes(tmp_path: Path) -> None:
    data = made(tmp_path)
    model, _ = fit(tmp_path, data, "y")
    assert command.run("fit", data, "--y", "y", "-o", "-", *QUICK).code == 2
    assert command.run("fit", data, "--y", "y", "-o", data, *QUICK).code == 2
    assert command.run("fit", data, "--y", "y", "-o", tmp_path / "no/m.headspan", *QUICK).code == 5
    assert command.run("predict", model, data, "--csv", model).code == 2
    assert command.run("predict", model, data, "--quiet").text == ""
    with data.open("rb") as file:
        piped = command.run("predict", model, "-", "--csv", "-", stdin=file)
    assert piped.out == command.run("predict", model, data, "--csv", "-").out
    link = tmp_path / "link.headspan"
    os.symlink(model, link)
    before = model.read_bytes()
    command.regression("fit", data, "--y", "y", "-o", link, *QUICK, "--seed", 5)
    assert link.is_symlink() and model.read_bytes() != before


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    data = made(tmp_path)
    model, _ = fit(tmp_path, data, "y")
    whole = model.read_bytes()
    for name, damaged, words in (
        ("cut", whole[:-100], "truncated"),
        ("flipped", whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:], "checksum"),
        ("newer", whole.replace(b'"format_version":"3"', b'"format_version":"9"'), "newer headspan"),
        ("table", data.read_bytes(), "not safetensors"),
    ):
        other = tmp_path / f"{name}.headspan"
        other.write_bytes(damaged)
        for arguments in (("predict", other, data), ("inspect", other)):
            result = command.run(*arguments)
            assert result.code == 3 and words in result.err and other.name in result.err, result.err


def test_the_schema_has_teeth(tmp_path: Path, check_regression_schema: Check) -> None:
    _, document = fit(tmp_path, made(tmp_path), "y")
    check_regression_schema(document)
    damages: tuple[Callable[[Any], Any], ...] = (
        lambda d: d.pop("encoding"),
        lambda d: d.update(kind="nw"),
        lambda d: d["encoding"]["columns"][0].update(use="maybe"),
        lambda d: d["estimates"][0].update(heads="tall"),
        lambda d: d.update(extra=1),
    )
    for damage in damages:
        damaged = json.loads(json.dumps(document))
        damage(damaged)
        with pytest.raises(AssertionError):
            check_regression_schema(damaged)


PLAIN = "a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 5}\n" for i in range(12))
TROUBLE: dict[str, tuple[str, list[object], int, str]] = {
    "no such target": (PLAIN, ["--target", "z"], 3, "The columns are: a, b, y"),
    "words as target": ("a,y\n1,red\n2,blue\n", [], 3, "line 2: column 'y'"),
    "decimal commas that became separators": ("a,b,y\n1,5,2,5,3\n2,5,1,5,4\n", [], 3, "line 2"),
    "one wrecked row": (PLAIN + "1,5,2,3\n", [], 3, "line 14"),
    "negative weight": ("a,w,y\n1,1,2\n2,-1,4\n3,1,5\n", ["--weights", "w"], 3, "line 3: column 'w'"),
    "weight is the target": (PLAIN, ["--weights", "y"], 2, "named twice"),
    "no such weights": (PLAIN, ["--weights", "w"], 3, "no column 'w'"),
    "no such column to drop": (PLAIN, ["--drop", "q"], 3, "no column 'q'"),
    "nothing left": (PLAIN, ["--drop", "a,b"], 3, "'a' (asked), 'b' (asked)"),
    "only a leak": ("a,y\n1,2\n2,4\n3,6\n4,8\n", [], 3, "'a' (leak)"),
    "infinite": ("a,y\n1,2\ninf,4\n3,7\n", [], 3, "line 3: column 'a'"),
    "no target anywhere": ("a,y\n1,\n2,\n", [], 3, "every value is missing"),
    "heads": (PLAIN, ["--heads", "tall"], 2, "random, principal, learned, diagonal"),
    "combiner": (PLAIN, ["--combiner", "vote"], 2, "least_squares"),
    "n-heads": (PLAIN, ["--n-heads=-1"], 2, "--n-heads -1"),
    "head-dim": (PLAIN, ["--head-dim", 0], 2, "--head-dim 0"),
    "effort": (PLAIN, ["--effort", "some"], 2, "low, medium or high"),
    "inner folds": (PLAIN, ["--inner-folds", 1], 2, "--inner-folds 1"),
    "search without folds": (PLAIN, ["--inner-folds", 0], 2, "the search needs folds"),
    "seconds of a given model": (PLAIN, ["--seconds", 5, "--n-heads", 3], 2, "no search"),
    "seconds": (PLAIN, ["--seconds", 0], 2, "--seconds 0"),
    "threads": (PLAIN, ["--threads=-1"], 2, "--threads"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(tmp_path: Path, name: str) -> None:
    text, arguments, code, words = TROUBLE[name]
    path = tmp_path / "t.csv"
    path.write_text(text)
    target: list[object] = [] if "--target" in arguments else ["--target", "y"]
    result = command.run("fit", path, *target, "-o", tmp_path / "m.headspan", *arguments)
    assert (result.code, result.out) == (code, ""), result.err
    assert words in result.err, result.err
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


PREDICT_TROUBLE: dict[str, tuple[str, list[object], int, str]] = {
    "missing column": ("a,group\n1,x\n", [], 3, "no column 'b'"),
    "words for numbers": ("a,b,group\n1,red,x\n", [], 3, "line 2: column 'b'"),
    "interval": ("a,b,group\n1,2,x\n", ["--interval", 90], 2, "--interval 90"),
    "no file": ("", ["--csv", "-", "--json", "-"], 2, "standard output"),
}


@pytest.mark.parametrize("name", PREDICT_TROUBLE)
def test_trouble_of_predictions_is_named(tmp_path: Path, name: str) -> None:
    text, arguments, code, words = PREDICT_TROUBLE[name]
    model, _ = fit(tmp_path, made(tmp_path), "y", "--inner-folds", 0)
    path = tmp_path / "t.csv"
    path.write_text(text)
    result = command.run("predict", model, path, *arguments)
    assert (result.code, result.out) == (code, ""), result.err
    assert words in result.err, result.err
    few = command.run("evaluate", made(tmp_path), "--y", "y", "--folds", 1)
    assert few.code == 2 and "--folds 1" in few.err


def test_ames(tables: Path, tmp_path: Path) -> None:
    """40 text columns of many levels."""
    _, document = fit(tmp_path, tables / "ames.csv", "Sale_Price", "--inner-folds", 2)
    assert document["n_rows"] == 2930 and document["held_out"]["relative_rmse"] < 0.7
    assert decisions(document)["Neighborhood"] == ("category", "none")
