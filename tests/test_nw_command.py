"""`headspan nw`: its numbers against numpy and published values, its reading of tables, its complaints."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle import command, smoother
from oracle.smoother import Array

Check = Callable[[Any], None]
NAMES = ("a", "b", "c")


def write(path: Path, columns: dict[str, Any], separator: str = ",") -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [separator.join(columns), *(separator.join(repr(float(v)) for v in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def table(tmp_path: Path, n: int = 60, d: int = 2, seed: int = 0) -> tuple[Path, Array, Array]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d)) * np.array([1.0, 30.0, 0.01])[:d]
    x[1] = x[0]  # a repeated row, as rounded data have
    y = np.sin(2 * x[:, 0]) + 0.1 * random.normal(size=n) + 5
    path = write(tmp_path / "data.csv", {**dict(zip(NAMES, x.T, strict=False)), "y": y})
    return path, x, y


def values(document: Any, key: str) -> Array:
    return np.array([np.nan if p[key] is None else p[key] for p in document["points"]])


@pytest.mark.parametrize("kernel", list(smoother.KERNELS))
@pytest.mark.parametrize("shape", ["radial", "product"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_numbers_are_those_of_the_definition(
    tmp_path: Path, check_nw_schema: Check, kernel: str, shape: str, d: int
) -> None:
    path, x, y = table(tmp_path, d=d)
    bandwidth = [0.7, 25.0, 0.012][:d]
    document = command.nw(
        path, "--x", ",".join(NAMES[:d]), "--y", "y", "--kernel", kernel, "--shape", shape,
        "--bandwidth", ",".join(map(str, bandwidth)), "--loo",
    )  # fmt: skip
    check_nw_schema(document)
    expected = smoother.scores(x, y, bandwidth, kernel, shape)
    assert document["kind"] == "nw" and document["n"] == len(y) and document["bandwidth"] == bandwidth
    for key in ("loo", "gcv", "aicc", "trace", "trace_wwt", "sigma2"):
        assert document[key] == pytest.approx(getattr(expected, key), rel=1e-10), key
    assert document["n_isolated"] == expected.n_isolated
    assert document["n_loo"] == len(y) - expected.n_isolated
    np.testing.assert_array_equal([p["x"] for p in document["points"]], x)
    np.testing.assert_allclose(values(document, "fit"), expected.fit, rtol=1e-11)
    np.testing.assert_allclose(values(document, "n_eff"), expected.n_eff, rtol=1e-10)
    np.testing.assert_allclose(values(document, "loo_fit"), expected.loo_fit, rtol=1e-10)
    states = [p["loo_status"] for p in document["points"]]
    assert states == ["no other key" if alone else "ok" for alone in np.isnan(expected.loo_fit)]


def test_one_bandwidth_serves_all_inputs(tmp_path: Path) -> None:
    path, x, y = table(tmp_path)
    document = command.nw(path, "--x", "a,b", "--y", "y", "--bandwidth", "2.5")
    np.testing.assert_allclose(values(document, "fit"), smoother.scores(x, y, 2.5).fit, rtol=1e-11)


def test_relative_error_bounds_every_estimate(tmp_path: Path, check_nw_schema: Check) -> None:
    path, _, y = table(tmp_path, n=3000)
    asked = (path, "--x", "a,b", "--y", "y", "--bandwidth", "0.05,2", "--loo")
    exact, near = command.nw(*asked), command.nw(*asked, "--relative-error", 0.1)
    check_nw_schema(near)
    assert exact["options"]["relative_error"] == 0 and near["options"]["relative_error"] == 0.1
    for fits in ("fit", "loo_fit"):
        gap = np.abs(values(near, fits) - values(exact, fits)).max()
        assert 0 < gap <= 0.1 * np.ptp(y), "blocks of keys are left out, and no more than allowed"
    assert near["loo"] == exact["loo"] and near["trace"] == exact["trace"]


def test_softmax_is_a_dot_product(tmp_path: Path) -> None:
    path, x, y = table(tmp_path, d=1)
    document = command.nw(path, "--x", "a", "--y", "y", "--kernel", "softmax", "--bandwidth", "0.8")
    score = x @ x.T / 0.8**2
    w = np.exp(score - score.max(axis=1, keepdims=True))
    np.testing.assert_allclose(values(document, "fit"), w @ y / w.sum(axis=1), rtol=1e-11)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "aicc"])
def test_auto_minimises_the_criterion(tmp_path: Path, check_nw_schema: Check, criterion: str) -> None:
    path, x, y = table(tmp_path, d=1)
    document = command.nw(path, "--x", "a", "--y", "y", "--criterion", criterion)
    check_nw_schema(document)
    (h,) = document["bandwidth"]
    least = getattr(smoother.scores(x, y, h), criterion)
    assert document[criterion] == pytest.approx(least, rel=1e-10)
    assert document["selection"]["value"] == pytest.approx(least, rel=1e-10)
    for other in (*np.geomspace(0.05, 5.0, 60), h * 0.999, h * 1.001):
        assert getattr(smoother.scores(x, y, other), criterion) >= least * (1 - 1e-9)


def test_an_irrelevant_input_is_called_so(tmp_path: Path, check_nw_schema: Check) -> None:
    path, x, y = table(tmp_path)
    document = command.nw(path, "--x", "a,b", "--y", "y", "--loo")
    check_nw_schema(document)
    h, none = document["bandwidth"]
    assert none is None and document["selection"]["irrelevant"] == [False, True]
    expected = smoother.scores(x[:, :1], y, h)
    np.testing.assert_allclose(values(document, "fit"), expected.fit, rtol=1e-11)
    np.testing.assert_allclose(values(document, "loo_fit"), expected.loo_fit, rtol=1e-10)
    assert document["loo"] == pytest.approx(expected.loo, rel=1e-10)
    assert "b is left out" in command.run("nw", path, "--x", "a,b", "--y", "y").out


# Published values: ../shared/data/README.md says where each comes from.


def test_stata(tables: Path, tmp_path: Path) -> None:
    with (tables / "expected_stata_nw_h1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    grid = write(tmp_path / "grid.csv", {"lnservice": [r["x"] for r in rows]})
    for kernel in ("gaussian", "epanechnikov"):
        document = command.nw(
            tables / "ship_accidents.csv", "--x", "lnservice", "--y", "accident",
            "--bandwidth", 1, "--kernel", kernel, "--at", grid,
        )  # fmt: skip
        expected = [float(r[f"stata_{kernel}"]) for r in rows]
        np.testing.assert_allclose(values(document, "fit"), expected, rtol=1e-6, atol=5e-7)


def test_faithful(tables: Path, tmp_path: Path) -> None:
    grid = write(tmp_path / "grid.csv", {"eruptions": [2, 3, 4]})
    asked = (tables / "faithful.csv", "--x", "eruptions", "--y", "waiting")
    document = command.nw(*asked, "--bandwidth", 0.25, "--at", grid)
    np.testing.assert_allclose(values(document, "fit"), [53.91403349, 65.43419505, 79.13604283], rtol=1e-9)
    assert document["trace"] == pytest.approx(5.1821524, rel=1e-7)
    assert document["trace_wwt"] == pytest.approx(3.6770358, rel=1e-7)
    assert command.nw(*asked)["bandwidth"] == pytest.approx([0.2614], rel=1e-3)


def test_mcycle(tables: Path) -> None:
    document = command.nw(tables / "mcycle.csv", "--x", "times", "--y", "accel")
    assert document["bandwidth"] == pytest.approx([0.9138], rel=1e-3)


def test_r_np(tables: Path) -> None:
    document = command.nw(tables / "np_case_n60.csv", "--x", "c1,c2", "--y", "y")
    assert document["bandwidth"] == pytest.approx([0.6163835, 0.1649656], rel=1e-5)
    expected = [31.49157, 37.29536, 43.72332, 40.58997, 36.80711]
    np.testing.assert_allclose(values(document, "fit")[:5], expected, rtol=1e-5)


# Points.


def test_points_of_another_file(tmp_path: Path) -> None:
    path, x, y = table(tmp_path)
    at = tmp_path / "at.csv"
    at.write_text("b;z;a\n3,5;word;0,25\n;word;1\n-7;word;-1,5\n")
    document = command.nw(path, "--x", "a,b", "--y", "y", "--bandwidth", "0.5,20", "--at", at)
    queries = np.array([[0.25, 3.5], [-1.5, -7.0]])
    expected = smoother.weights(queries, x, [0.5, 20], "gaussian", "radial") @ y
    np.testing.assert_allclose(values(document, "fit"), expected, rtol=1e-11)
    assert [p["line"] for p in document["points"]] == [2, 4]
    assert document["at"]["decimal_mark"] == "," and document["at"]["separator"] == ";"
    assert document["at"]["dropped"] == [{"line": 3, "column": "b"}]
    assert document["input"]["n_dropped"] == 0


def test_no_neighbour(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", {"x": [0, 1, 2, 3], "y": [5, 6, 8, 9]})
    at = write(tmp_path / "at.csv", {"x": [1, 50, -4]})
    asked = (path, "--x", "x", "--y", "y", "--kernel", "epanechnikov", "--bandwidth", 1.5, "--at", at)
    document = command.nw(*asked, codes=(4,))
    assert [p["status"] for p in document["points"]] == ["ok", "no neighbour", "no neighbour"]
    assert [p["fit"] for p in document["points"][1:]] == [None, None]
    assert "2 of 3 points" in command.run("nw", *asked, "--quiet").err
    nearest = command.nw(*asked, "--nearest")
    assert [p["status"] for p in nearest["points"]] == ["ok", "nearest neighbour", "nearest neighbour"]
    assert [p["fit"] for p in nearest["points"][1:]] == [9, 5]
    far = command.nw(path, "--x", "x", "--y", "y", "--bandwidth", 0.01, "--at", at)
    assert [p["fit"] for p in far["points"]] == [6, 9, 5]


def test_isolated_rows_are_left_out_of_loo(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", {"x": [0, 1, 2, 30], "y": [5, 6, 8, 9]})
    document = command.nw(path, "--x", "x", "--y", "y", "--kernel", "uniform", "--bandwidth", 1, "--loo")
    assert (document["n_loo"], document["n_isolated"]) == (3, 1)
    assert document["loo"] == pytest.approx(((5 - 6) ** 2 + (6 - 6.5) ** 2 + (8 - 6) ** 2) / 3)
    last = document["points"][3]
    assert (last["fit"], last["loo_fit"], last["loo_status"]) == (9, None, "no other key")


# Tables.


def test_every_dialect_gives_the_same(tmp_path: Path) -> None:
    path, x, y = table(tmp_path, d=1)
    expected = command.nw(path, "--x", "a", "--y", "y", "--bandwidth", "0.5")["points"]
    rows = [(repr(float(a)), repr(float(b))) for a, b in zip(x[:, 0], y, strict=True)]
    texts = {
        "quoted CRLF": "\r\n".join(['"a","y"', *(f'"{a}","{b}"' for a, b in rows)]) + "\r\n",
        "semicolon, decimal comma": "\n".join(["a;y", *(f"{a};{b}".replace(".", ",") for a, b in rows)]),
        "quoted decimal comma": "\n".join(["a,y", *('"{}","{}"'.format(*r).replace(".", ",") for r in rows)]).replace(
            '","', '\0'
        ).replace("\0", '","'),
        "tabs, CR": "\r".join(["a\ty", *(f"{a}\t{b}" for a, b in rows)]),
        "bars, mark, blanks": "\ufeff" + "\n".join(["a | y", *(f" {a} | {b} " for a, b in rows), ""]),
    }  # fmt: skip
    for name, text in texts.items():
        other = tmp_path / "other.csv"
        other.write_bytes(text.encode())
        document = command.nw(other, "--x", "a", "--y", "y", "--bandwidth", "0.5")
        assert document["points"] == expected, name


finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e150, max_value=1e150)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.tuples(finite, finite), min_size=2, max_size=8),
    separator=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_number_comes_back(
    tmp_path: Path, numbers: list[tuple[float, float]], separator: str, quoting: Any, end: str
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerow(["a", 'the "y"'])
    writer.writerows(numbers)
    path = tmp_path / "numbers.csv"
    path.write_bytes(text.getvalue().encode())
    asked = (path, "--x", 'the "y"', "--y", "a", "--kernel", "uniform", "--bandwidth", "1e200")
    document = command.nw(*asked)
    assert [p["x"] for p in document["points"]] == [[y] for _, y in numbers]
    assert document["points"][0]["fit"] == pytest.approx(np.mean([x for x, _ in numbers]), rel=1e-9, abs=1e137)


def test_rows_with_missing_values_are_listed(tables: Path, check_nw_schema: Check) -> None:
    document = command.nw(tables / "airquality.csv", "--x", "Solar.R", "--y", "Ozone")
    check_nw_schema(document)
    with (tables / "airquality.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    missing = [i + 2 for i, r in enumerate(rows) if "NA" in (r["Ozone"], r["Solar.R"])]
    assert [d["line"] for d in document["input"]["dropped"]] == missing
    assert document["n"] == len(rows) - len(missing) == document["input"]["n_rows"] - document["input"]["n_dropped"]
    assert {c["name"]: c["n_missing"] for c in document["input"]["columns"]} == {
        "Ozone": 37, "Solar.R": 7, "Wind": 0, "Temp": 0, "Month": 0, "Day": 0,
    }  # fmt: skip


def test_what_was_understood(tables: Path) -> None:
    asked = (tables / "prestige_semicolon_decimalcomma.csv", "--x", "education", "--y", "prestige")
    read = command.nw(*asked)["input"]
    assert (read["separator"], read["decimal_mark"], read["line_ending"], read["quotes"]) == (";", ",", "CRLF", True)
    assert {c["name"]: c["type"] for c in read["columns"] if c["type"] != "number"} == {
        "occupation": "text", "type": "text",
    }  # fmt: skip
    out = command.run("nw", *asked).out
    for words in ("separator semicolon, decimal comma", "CRLF", "type text (4 missing)", "102 rows", "bandwidth"):
        assert words in out


def test_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("1,2\n2,3\n3,5\n")
    document = command.nw(path, "--x", "V1", "--y", "V2", "--bandwidth", 1)
    assert document["n"] == 3 and document["input"]["header"] is False
    named = command.nw(path, "--x", "1", "--y", "2", "--bandwidth", 1, "--header", "yes")
    assert named["n"] == 2 and named["input"]["header_was_set"] is True


def test_other_missing_values_and_separators(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x:y\n1:2\n-999:3\n3:none\n4:5\n")
    document = command.nw(path, "--x", "x", "--y", "y", "--bandwidth", 1, "--separator", ":", "--missing", "-999,none")
    assert [p["x"] for p in document["points"]] == [[1], [4]]


# Words.


def test_spellings_and_threads_do_not_change_a_byte(tmp_path: Path) -> None:
    path, _, _ = table(tmp_path)
    text = command.run("nw", path, "--x", "a,b", "--y", "y", "--json", "-").out
    assert text
    assert command.run("nw", path, "--x", "a", "--x", "b", "--target", "y", "--json", "-").out == text
    assert command.run("nw", path, "--x", "a, b", "--y", "y", "--json", "-").out == text
    for threads in (1, 2, 3):
        assert command.run("nw", path, "--x", "a,b", "--y", "y", "--json", "-", "--threads", threads).out == text
    with path.open("rb") as file:
        piped = command.nw("-", "--x", "a,b", "--y", "y", stdin=file)
    document = json.loads(text)
    assert piped["input"].pop("path") == "standard input" and document["input"].pop("path") == str(path)
    assert piped == document


def test_a_name_with_a_comma(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('"age, years",y\n1,2\n2,3\n')
    assert command.nw(path, "--x", "age, years", "--y", "y", "--bandwidth", 1)["x"] == ["age, years"]


def test_where_it_writes(tmp_path: Path) -> None:
    path, _, _ = table(tmp_path)
    asked = ("nw", path, "--x", "a", "--y", "y", "--bandwidth", 1)
    shown = command.run(*asked, "--json", tmp_path / "fit.json")
    assert (tmp_path / "fit.json").read_text() == command.run(*asked, "--json", "-").out
    assert "bandwidth" in shown.out
    assert command.run(*asked, "--quiet").text == ""
    assert command.run(*asked, "--json", path).code == 2
    assert command.run(*asked, "--json", tmp_path / "no/fit.json").code == 5


def test_the_schema_has_teeth(tmp_path: Path, check_nw_schema: Check) -> None:
    path, _, _ = table(tmp_path)
    damages: tuple[Callable[[Any], Any], ...] = (
        lambda d: d.pop("trace"),
        lambda d: d.update(kind="audit"),
        lambda d: d["points"][0].update(status="fine"),
        lambda d: d["points"][0].update(fit="1"),
        lambda d: d["input"].pop("separator"),
        lambda d: d["input"]["columns"][0].update(type="float"),
        lambda d: d.update(bandwidth=[0]),
    )
    for damage in damages:
        document = command.nw(path, "--x", "a", "--y", "y", "--bandwidth", 1)
        check_nw_schema(document)
        damage(document)
        with pytest.raises(AssertionError):
            check_nw_schema(document)


TROUBLE: dict[str, tuple[str, list[object], int, str]] = {
    "no such column": ("eruptions,y\n1,2\n3,4\n", ["--x", "eruption"], 3, "is 'eruptions' meant?"),
    "no such target": ("x,y\n1,2\n3,4\n", ["--x", "x", "--y", "q"], 3, "The columns are: x, y"),
    "text": ("x,y\n1,2\n2,3\nred,4\n", ["--x", "x"], 3, "line 4: column 'x': refused: numbers are wanted"),
    "infinite": ("x,y\n1,2\ninf,4\n", ["--x", "x"], 3, "line 3"),
    "ragged": ("x,y\n1,2\n3\n", ["--x", "x"], 3, "line 3"),
    "named twice in the file": ("x,x,y\n1,2,3\n4,5,6\n", ["--x", "x"], 3, "rename one"),
    "nothing complete": ("x,y\n1,\n,2\n", ["--x", "x"], 3, "none of 2 rows"),
    "constant": ("x,y\n1,2\n1,4\n", ["--x", "x"], 3, "same value, 1"),
    "one row": ("x,y\n1,2\n", ["--x", "x"], 3, "give --bandwidth"),
    "words": ("x,y\n1,red\n2,blue\n", ["--x", "x"], 3, "column of words"),
    "empty": ("", ["--x", "x"], 3, "empty"),
    "UTF-16": ("\0x\0,\0y\0\n", ["--x", "x"], 3, "UTF-16"),
    "HTML": ("<html>", ["--x", "x"], 3, "HTML"),
    "named twice": ("x,y\n1,2\n3,4\n", ["--x", "x,x"], 2, "named twice"),
    "target among inputs": ("x,y\n1,2\n3,4\n", ["--x", "x,y"], 2, "among the inputs"),
    "empty name": ("x,y\n1,2\n3,4\n", ["--x", "x,"], 2, "empty"),
    "no inputs": ("x,y\n1,2\n3,4\n", [], 2, "--x"),
    "zero bandwidth": ("x,y\n1,2\n3,4\n", ["--x", "x", "--bandwidth", 0], 2, "positive"),
    "negative bandwidth": ("x,y\n1,2\n3,4\n", ["--x", "x", "--bandwidth=-1"], 2, "positive"),
    "bandwidth of NaN": ("x,y\n1,2\n3,4\n", ["--x", "x", "--bandwidth", "nan"], 2, "positive"),
    "bandwidth below 0": ("x,y\n1,2\n3,4\n", ["--x", "x", "--bandwidth=-inf"], 2, "positive"),
    "infinite lambda": ("x,y\na,2\nb,4\n", ["--x", "x", "--lambda", "inf"], 2, "non-negative"),
    "half a bandwidth": ("x,y\n1,2\n3,4\n", ["--x", "x", "--bandwidth", "1,"], 2, "positive"),
    "too many bandwidths": ("x,y\n1,2\n3,4\n", ["--x", "x", "--bandwidth", "1,2"], 2, "2 numbers for 1 inputs"),
    "kernel": ("x,y\n1,2\n3,4\n", ["--x", "x", "--kernel", "cosine"], 2, "epanechnikov"),
    "shape": ("x,y\n1,2\n3,4\n", ["--x", "x", "--shape", "round"], 2, "radial or product"),
    "criterion": ("x,y\n1,2\n3,4\n", ["--x", "x", "--criterion", "bic"], 2, "loo, gcv or aicc"),
    "starts": ("x,y\n1,2\n3,4\n", ["--x", "x", "--starts", 0], 2, "--starts"),
    "threads": ("x,y\n1,2\n3,4\n", ["--x", "x", "--threads=-1"], 2, "--threads"),
    "relative error": ("x,y\n1,2\n3,4\n", ["--x", "x", "--relative-error=1"], 2, "--relative-error 1"),
    "negative relative error": ("x,y\n1,2\n3,4\n", ["--x", "x", "--relative-error=-0.1"], 2, "--relative-error"),
    "header": ("x,y\n1,2\n3,4\n", ["--x", "x", "--header", "maybe"], 2, "auto, yes or no"),
    "separator": ("x,y\n1,2\n3,4\n", ["--x", "x", "--separator", "ab"], 2, "one character"),
    "decimal": ("x,y\n1,2\n3,4\n", ["--x", "x", "--decimal", ";"], 2, "point or comma"),
    "loo elsewhere": ("x,y\n1,2\n3,4\n", ["--x", "x", "--loo", "--at", "x.csv"], 2, "--loo"),
    "no file of points": ("x,y\n1,2\n3,4\n", ["--x", "x", "--at", "there-is-none.csv"], 3, "no such file"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(tmp_path: Path, name: str) -> None:
    text, arguments, code, words = TROUBLE[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    target: list[object] = [] if "--y" in arguments else ["--y", "y"]
    result = command.run("nw", path, *arguments, *target, cwd=tmp_path)
    assert (result.code, result.out) == (code, "")
    assert words in result.err


def test_scores_left_out_and_an_infinite_bandwidth(tmp_path: Path, check_nw_schema: Check) -> None:
    path, x, y = table(tmp_path)
    asked = (path, "--x", "a,b", "--y", "y", "--bandwidth", "0.7,inf")
    document, whole = command.nw(*asked, "--no-scores"), command.nw(*asked)
    check_nw_schema(document)
    for key in ("loo", "gcv", "aicc", "trace", "trace_wwt", "sigma2", "n_loo", "n_isolated"):
        assert document[key] is None and whole[key] is not None, key
    assert document["points"] == whole["points"]
    assert whole["loo"] == pytest.approx(smoother.scores(x[:, :1], y, [0.7], "gaussian", "radial").loo, rel=1e-10)
