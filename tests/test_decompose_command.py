"""`headspan decompose`: its terms and weights against numpy and scipy, its reading of tables, its complaints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import command, ensembles
from oracle.ensembles import Array

Check = Callable[[Any], None]
SINGLE = ("mse", "mean_member_mse", "ambiguity")
REPEATED = (*SINGLE, "bias2", "variance", "covariance", "disparity", "diversity")
WEIGHTS = (
    "uniform", "optimal", "shrunk", "simplex", "monotone",
    "geometric", "sub_exponential", "heavy_tailed", "fibonacci",
)  # fmt: skip


def ensemble(n_replicates: int, n_members: int, n_points: int, seed: int = 0) -> tuple[Array, Array]:
    """Predictions [R, H, m] with biases, unequal variances and a common part, and the truth [m]."""
    random = np.random.default_rng(seed)
    truth = random.normal(size=n_points)
    own = random.normal(size=(n_replicates, n_members, n_points)) * np.linspace(0.3, 1.2, n_members)[:, None]
    common = 0.4 * random.normal(size=(n_replicates, 1, n_points))
    return truth + own + common + 0.1 * np.sin(truth) * np.arange(n_members)[:, None], truth


def write(path: Path, columns: dict[str, Any]) -> Path:
    rows = zip(*columns.values(), strict=True)
    cells = [",".join(v if isinstance(v, str) else repr(float(v)) for v in row) for row in rows]
    path.write_text("\n".join([",".join(columns), *cells]) + "\n")
    return path


def single(path: Path, predictions: Array, truth: Array) -> Path:
    return write(path, {**{f"m{h}": f for h, f in enumerate(predictions)}, "y": truth})


def repeated(path: Path, predictions: Array, truth: Array, order: Array | None = None) -> Path:
    runs, _, points = predictions.shape
    place = np.arange(runs * points) if order is None else order
    columns = {
        "run": [f"run {r}" for r in np.repeat(np.arange(runs), points)[place]],
        "id": np.tile(np.arange(points), runs)[place],
        **{f"m{h}": predictions[:, h].ravel()[place] for h in range(predictions.shape[1])},
        "y": np.tile(truth, runs)[place],
    }
    return write(path, columns)


def test_one_training_set(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(1, 5, 80)
    document = command.decompose(single(tmp_path / "p.csv", predictions[0], truth), "--truth", "y")
    check_decompose_schema(document)
    expected = ensembles.terms(predictions, truth)
    moments = ensembles.second_moments(predictions, truth)
    for term in SINGLE:
        assert document[term] == pytest.approx(expected[term], rel=1e-12), term
        assert document["origin"][term] == "exact"
    assert document["unidentified"] == ["bias2", "variance", "covariance", "disparity", "diversity"]
    for term in document["unidentified"]:
        assert document[term] is None and document["origin"][term] is None and document["standard_error"][term] is None
    assert abs(document["closure"]) < 1e-14 and document["linking_closure"] is None and document["unbiased"] is None
    assert (document["n_points"], document["n_members"], document["n_replicates"]) == (80, 5, 1)
    np.testing.assert_allclose(document["error_second_moments"], moments, rtol=1e-12)
    check_correlation(document, ensembles.correlation(moments), "errors")


def check_correlation(document: Any, expected: Array, of: str) -> None:
    heads = len(expected)
    assert document["correlation_of"] == of
    np.testing.assert_allclose(document["correlation"], expected, rtol=1e-11, atol=1e-12)
    assert document["hdi"] == pytest.approx(1 - (expected.sum() - heads) / (heads * (heads - 1)), rel=1e-11)
    assert document["n_eff_2"] == pytest.approx(heads**2 / (expected**2).sum(), rel=1e-11)


def test_repeated_training_sets(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(7, 4, 30)
    order = np.random.default_rng(3).permutation(7 * 30)
    path = repeated(tmp_path / "p.csv", predictions, truth, order)
    document = command.decompose(path, "--truth", "y", "--replicate", "run", "--point", "id")
    check_decompose_schema(document)
    expected = ensembles.terms(predictions, truth)
    for term in REPEATED:
        assert document[term] == pytest.approx(expected[term], rel=1e-11), term
        assert document["origin"][term] == ("exact" if term in SINGLE else "estimated")
        assert document["standard_error"][term] > 0
    assert document["unidentified"] == [] and document["members"] == ["m0", "m1", "m2", "m3"]
    assert abs(document["closure"]) < 1e-13 and document["linking_closure"] < 1e-13
    parts = document["bias2"] + document["variance"] / 4 + 0.75 * document["covariance"]
    assert document["mse"] == pytest.approx(parts, rel=1e-12)
    off = predictions - predictions.mean(0)
    check_correlation(document, ensembles.correlation(np.einsum("rhi,rli->hl", off, off)), "replicates")


def test_unbiased_terms(tmp_path: Path) -> None:
    predictions, truth = ensemble(5, 3, 40)
    path = repeated(tmp_path / "p.csv", predictions, truth)
    asked = ("--truth", "y", "--replicate", "run", "--point", "id")
    document = command.decompose(path, *asked)
    unbiased = document["unbiased"]
    variance = predictions.mean(1).var(axis=0, ddof=1).mean()
    assert unbiased["bias2"]["value"] == pytest.approx(document["bias2"] - variance / 5, rel=1e-10)
    assert unbiased["variance"] == pytest.approx(predictions.var(axis=0, ddof=1).mean(), rel=1e-10)
    assert unbiased["mse"]["value"] == pytest.approx(document["mse"], rel=1e-12)
    two = command.decompose(repeated(path, predictions[:2], truth), *asked)
    assert two["unbiased"] is None and two["bias2"] > 0


def test_standard_errors_are_those_of_means_over_the_points(tmp_path: Path) -> None:
    predictions, truth = ensemble(1, 3, 400)
    path = single(tmp_path / "p.csv", predictions[0], truth)
    document = command.decompose(path, "--truth", "y", "--bootstrap", 2000)
    squares = (predictions[0].mean(0) - truth) ** 2
    assert document["standard_error"]["mse"] == pytest.approx(squares.std() / 20, rel=0.06)
    members = ((predictions[0] - truth) ** 2).mean(0)
    assert document["standard_error"]["mean_member_mse"] == pytest.approx(members.std() / 20, rel=0.06)
    without = command.decompose(path, "--truth", "y", "--bootstrap", 0)
    assert without["n_bootstrap"] == 0 and set(without["standard_error"].values()) == {None}


def check_weights(document: Any, moments: Array, rows: Array) -> None:
    weights = document["weights"]
    heads = len(moments)
    assert tuple(weights) == WEIGHTS
    for name, found in weights.items():
        a = np.array(found["weights"])
        assert a.sum() == pytest.approx(1, abs=1e-12), name
        assert found["risk"] == pytest.approx(a @ moments @ a, rel=1e-10), name
        assert found["gain_cv"] == pytest.approx(weights["uniform"]["risk_cv"] - found["risk_cv"], abs=1e-12)
    np.testing.assert_allclose(weights["uniform"]["weights"], np.full(heads, 1 / heads), rtol=1e-15)
    np.testing.assert_allclose(weights["optimal"]["weights"], ensembles.optimal(moments), rtol=1e-9)
    assert weights["optimal"]["risk"] == pytest.approx(1 / np.linalg.inv(moments).sum(), rel=1e-10)
    for name, monotone in (("simplex", False), ("monotone", True)):
        expected = ensembles.constrained(moments, monotone=monotone)
        np.testing.assert_allclose(weights[name]["weights"], expected, atol=2e-6)
        assert weights[name]["risk"] <= expected @ moments @ expected + 1e-12
        assert weights[name]["residual"] < 1e-12
    shrunk, shrinkage = ensembles.ledoit_wolf(rows)
    assert weights["shrunk"]["parameters"]["shrinkage"] == pytest.approx(shrinkage, rel=1e-9)
    np.testing.assert_allclose(weights["shrunk"]["weights"], ensembles.optimal(shrunk), rtol=1e-8)
    np.testing.assert_allclose(weights["fibonacci"]["weights"], ensembles.fibonacci(heads), rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_weights(tmp_path: Path, seed: int) -> None:
    predictions, truth = ensemble(1, 6, 50, seed)
    predictions[0, 2] -= 0.8 * (predictions[0, 0] - truth)  # so that a free optimum takes a sign
    document = command.decompose(single(tmp_path / "p.csv", predictions[0], truth), "--truth", "y")
    moments = ensembles.second_moments(predictions, truth)
    check_weights(document, moments, (predictions[0] - truth).T)
    for family in ensembles.LAWS:
        found = document["weights"][family]
        parameters = list(found["parameters"].values())
        np.testing.assert_allclose(found["weights"], ensembles.law(family, 6, parameters), rtol=1e-9, atol=1e-12)
        for factor in (0.8, 0.99, 1.01, 1.2):
            other = ensembles.law(family, 6, [min(parameters[0] * factor, 1.0), *parameters[1:]])
            assert found["risk"] <= other @ moments @ other + 1e-12, family


def test_bounded_norm(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(1, 6, 50)
    path = single(tmp_path / "p.csv", predictions[0], truth)
    document = command.decompose(path, "--truth", "y", "--greatest-norm2", 0.25)
    check_decompose_schema(document)
    moments = ensembles.second_moments(predictions, truth)
    for name, monotone in (("simplex", False), ("monotone", True)):
        expected = ensembles.constrained(moments, monotone=monotone, greatest_norm2=0.25)
        found = np.array(document["weights"][name]["weights"])
        assert found @ found == pytest.approx(0.25, abs=1e-10)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_cross_validation_with_a_fold_for_every_point(tmp_path: Path) -> None:
    predictions, truth = ensemble(1, 3, 15)
    path = single(tmp_path / "p.csv", predictions[0], truth)
    document = command.decompose(path, "--truth", "y", "--folds", 15)
    errors = predictions[0] - truth
    expected = 0.0
    for i in range(15):
        others = np.delete(errors, i, axis=1)
        a = ensembles.optimal(others @ others.T / 14)
        expected += float((a @ errors[:, i]) ** 2) / 15
    assert document["n_folds"] == 15
    assert document["weights"]["optimal"]["risk_cv"] == pytest.approx(expected, rel=1e-9)
    assert document["weights"]["uniform"]["risk_cv"] == pytest.approx(document["mse"], rel=1e-12)


def test_whole_training_sets_are_left_out(tmp_path: Path) -> None:
    predictions, truth = ensemble(5, 3, 12)
    path = repeated(tmp_path / "p.csv", predictions, truth)
    asked = [path, "--truth", "y", "--replicate", "run", "--point", "id"]
    document = command.decompose(*asked, "--folds", 12)
    assert document["n_folds"] == 5
    errors = predictions - truth
    expected = 0.0
    for r in range(5):
        others = np.delete(errors, r, axis=0)
        a = ensembles.optimal(np.einsum("rhi,rli->hl", others, others))
        expected += float(((a @ errors[r]) ** 2).mean()) / 5
    text = " ".join(command.run("decompose", *asked).out.split())
    assert "left out: 5 folds of training sets" in text and "the 5 training sets stay as they are" in text
    assert document["weights"]["optimal"]["risk_cv"] == pytest.approx(expected, rel=1e-9)


def test_alike_members_cannot_be_beaten_and_others_can(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    truth = random.normal(size=300)
    errors = random.normal(size=(5, 300)) + random.normal(size=300)
    path = single(tmp_path / "p.csv", truth + errors, truth)
    alike = command.decompose(path, "--truth", "y")
    assert alike["alike"]["holds"] is True and alike["alike"]["p"] > 0.05
    slope = alike["alike"]["diagonal"] - alike["alike"]["off_diagonal"]
    assert slope == pytest.approx(1, abs=0.3)
    for found in alike["weights"].values():
        norm2 = sum(w**2 for w in found["weights"])
        assert found["loss_if_alike"] == pytest.approx(slope * (norm2 - 0.2), abs=1e-12)
    assert "no structure can win" in " ".join(command.run("decompose", path, "--truth", "y").out.split())
    errors[0] *= 0.3
    other = command.decompose(single(path, truth + errors, truth), "--truth", "y")
    assert other["alike"]["holds"] is False and other["weights"]["geometric"]["gain_cv"] > 0


# Degenerate ensembles: each is defined, and said to be what it is.


def test_identical_members(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(1, 2, 30)
    copies = predictions[0][[0, 1, 1, 1]]
    path = single(tmp_path / "p.csv", copies, truth)
    document = command.decompose(path, "--truth", "y")
    check_decompose_schema(document)
    a = ensembles.optimal(ensembles.second_moments(predictions, truth))
    optimal = document["weights"]["optimal"]
    assert optimal["status"] == "singular"
    np.testing.assert_allclose(optimal["weights"], [a[0], *[a[1] / 3] * 3], atol=1e-9)
    assert "Not the only weights" in command.run("decompose", path, "--truth", "y").out


def test_all_members_identical(tmp_path: Path) -> None:
    predictions, truth = ensemble(1, 1, 30)
    document = command.decompose(single(tmp_path / "p.csv", predictions[0][[0, 0, 0]], truth), "--truth", "y")
    assert document["hdi"] == pytest.approx(0, abs=1e-12) and document["n_eff_2"] == pytest.approx(1)
    for name in WEIGHTS:
        assert document["weights"][name]["risk"] == pytest.approx(document["mse"], rel=1e-9), name
    for name in ("optimal", "simplex", "monotone"):
        assert document["weights"][name]["status"] == "singular"
        np.testing.assert_allclose(document["weights"][name]["weights"], np.full(3, 1 / 3), atol=1e-6)


def test_rounding_is_not_shown_as_a_number(tmp_path: Path) -> None:
    """Three equal members have no ambiguity and gain nothing, though the sums of their squares differ by rounding."""
    predictions, truth = ensemble(1, 1, 30)
    result = command.run("decompose", single(tmp_path / "p.csv", predictions[0][[0, 0, 0]], truth), "--truth", "y")
    lines = [line.split() for line in result.out.splitlines()]
    assert next(line for line in lines if line[:1] == ["ambiguity"])[1:3] == ["0", "0"]
    assert next(line for line in lines if line[:1] == ["hdi"])[1:3] == ["0", "(0),"]
    assert "e-1" not in result.out[result.out.index("hdi") :]


def test_one_member(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(3, 1, 20)
    path = repeated(tmp_path / "p.csv", predictions, truth)
    document = command.decompose(path, "--truth", "y", "--replicate", "run", "--point", "id")
    check_decompose_schema(document)
    assert document["ambiguity"] == 0 and document["diversity"] == 0
    assert document["unidentified"] == ["covariance", "hdi"]
    assert document["mse"] == pytest.approx(document["bias2"] + document["variance"], rel=1e-12)
    assert all(w["weights"] == [1] for w in document["weights"].values())


def test_more_members_than_points(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(1, 12, 6)
    path = single(tmp_path / "p.csv", predictions[0], truth)
    document = command.decompose(path, "--truth", "y")
    check_decompose_schema(document)
    optimal = document["weights"]["optimal"]
    assert optimal["status"] == "singular" and abs(optimal["risk"]) < 1e-12 and optimal["risk_cv"] > 0.01
    assert "are more than the points" in " ".join(command.run("decompose", path, "--truth", "y").out.split())


def test_constant_truth(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(1, 3, 20)
    path = single(tmp_path / "p.csv", predictions[0], np.full_like(truth, 2.0))
    document = command.decompose(path, "--truth", "y")
    check_decompose_schema(document)
    assert document["truth_is_constant"] is True
    assert document["mse"] == pytest.approx(((predictions[0].mean(0) - 2) ** 2).mean(), rel=1e-12)
    assert "same value in all rows" in command.run("decompose", path, "--truth", "y").out


def test_a_member_without_error(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(1, 3, 20)
    predictions[0, 1] = truth
    path = single(tmp_path / "p.csv", predictions[0], truth)
    document = command.decompose(path, "--truth", "y")
    check_decompose_schema(document)
    assert document["correlation"] is None and document["hdi"] is None and document["n_eff_2"] is None
    np.testing.assert_allclose(document["weights"]["optimal"]["weights"], [0, 1, 0], atol=1e-9)
    assert document["uncorrelated_members"] == ["m1"]
    assert "undefined where a member makes no error: m1" in " ".join(
        command.run("decompose", path, "--truth", "y").out.split()
    )


def test_a_column_that_is_no_prediction_is_doubted(tmp_path: Path) -> None:
    predictions, truth = ensemble(1, 2, 50)
    for first, reason, words in ((1000, "error", "over a hundred times"), (-25, "labels", "never repeat")):
        scale = 1 if reason == "error" else 20  # so that the truth is as large as the numbers of the rows
        columns = {"id": np.arange(50) + first, "a": predictions[0, 0], "b": truth + 1, "y": truth}
        path = write(tmp_path / "p.csv", {name: v * (1 if name == "id" else scale) for name, v in columns.items()})
        assert command.decompose(path, "--truth", "y")["doubtful_members"] == [{"member": "id", "reason": reason}]
        out = " ".join(command.run("decompose", path, "--truth", "y").out.split())
        assert "is id a prediction?" in out and words in out
        assert command.decompose(path, "--truth", "y", "--members", "a,b")["doubtful_members"] == []


def test_numbers_of_training_sets_are_doubted(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(6, 2, 5)
    columns = {
        "set": np.repeat(np.arange(6), 5),
        "a": predictions[:, 0].ravel(),
        "b": predictions[:, 1].ravel(),
        "y": np.tile(truth, 6),
    }
    path = write(tmp_path / "p.csv", columns)
    document = command.decompose(path, "--truth", "y")
    check_decompose_schema(document)
    assert document["doubtful_members"] == [{"member": "set", "reason": "groups"}]
    assert "(--replicate)" in command.run("decompose", path, "--truth", "y").out


def test_one_point(tmp_path: Path, check_decompose_schema: Check) -> None:
    path = write(tmp_path / "p.csv", {"a": [1.0], "b": [3.0], "y": [1.5]})
    document = command.decompose(path, "--truth", "y")
    check_decompose_schema(document)
    assert document["n_folds"] == 0 and document["n_bootstrap"] == 0
    assert document["weights"]["uniform"]["risk_cv"] is None
    assert document["mse"] == pytest.approx(0.25)


# Tables.


def test_members_are_the_other_numeric_columns(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("name,a,b,y,void,c\nu,1,2,1.5,,3\nv,2,1,1.4,,2\nw,2,4,2.5,,4\n")
    document = command.decompose(path, "--truth", "y")
    assert document["members"] == ["a", "b", "c"] and document["unused_columns"] == ["name", "void"]
    named = command.decompose(path, "--truth", "y", "--members", "c,a")
    assert named["members"] == ["c", "a"] and named["unused_columns"] == ["name", "b", "void"]
    assert named["mse"] == pytest.approx(((np.array([2, 2, 3]) - np.array([1.5, 1.4, 2.5])) ** 2).mean())
    out = command.run("decompose", path, "--truth", "y").out
    assert "not used" in out and "name, void" in out


def test_rows_with_missing_values_are_left_out_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("a,b,y\n1,2,1.5\nNA,1,1.4\n2,4,2.5\n3,3,\n")
    document = command.decompose(path, "--truth", "y")
    assert document["n_points"] == 2
    assert document["input"]["dropped"] == [{"line": 3, "column": "a"}, {"line": 5, "column": "y"}]
    assert "2 rows for a missing value" in command.run("decompose", path, "--truth", "y").out


def test_the_order_of_members_matters_to_structured_laws_alone(tmp_path: Path) -> None:
    predictions, truth = ensemble(1, 4, 40)
    path = single(tmp_path / "p.csv", predictions[0], truth)
    one = command.decompose(path, "--truth", "y", "--members", "m0,m1,m2,m3")
    other = command.decompose(path, "--truth", "y", "--members", "m3,m2,m1,m0")
    for name in ("uniform", "optimal", "simplex"):
        assert one["weights"][name]["risk_cv"] == pytest.approx(other["weights"][name]["risk_cv"], rel=1e-9)
    assert one["weights"]["monotone"]["risk"] < other["weights"]["monotone"]["risk"]


def test_threads_and_spellings_do_not_change_a_byte(tmp_path: Path) -> None:
    predictions, truth = ensemble(3, 4, 700)
    path = repeated(tmp_path / "p.csv", predictions, truth)
    asked = ("decompose", path, "--truth", "y", "--replicate", "run", "--point", "id", "--json", "-")
    text = command.run(*asked).out
    assert text
    for threads in (1, 2, 3):
        assert command.run(*asked, "--threads", threads).out == text
    assert command.run(*asked, "--members", "m0,m1", "--members", "m2,m3").out == text
    assert command.run(*asked, "--seed", 1).out != text
    with path.open("rb") as file:
        piped = json.loads(command.run("decompose", "-", *asked[2:], stdin=file).out)
    assert piped.pop("input")["path"] == "standard input"
    document = json.loads(text)
    document.pop("input")
    assert piped == document


def test_outputs(tmp_path: Path) -> None:
    predictions, truth = ensemble(1, 3, 20)
    path = single(tmp_path / "p.csv", predictions[0], truth)
    asked = ("decompose", path, "--truth", "y")
    shown = command.run(*asked, "--json", tmp_path / "d.json")
    assert (tmp_path / "d.json").read_text() == command.run(*asked, "--json", "-").out
    for words in ("ambiguity", "not identified", "closure", "n_eff_2", "simplex", "fibonacci"):
        assert words in shown.out
    assert command.run(*asked, "--quiet").text == ""
    assert command.run(*asked, "--json", path).code == 2
    assert command.run(*asked, "--json", tmp_path / "no/d.json").code == 5


def test_the_schema_has_teeth(tmp_path: Path, check_decompose_schema: Check) -> None:
    predictions, truth = ensemble(1, 3, 20)
    path = single(tmp_path / "p.csv", predictions[0], truth)
    damages: tuple[Callable[[Any], Any], ...] = (
        lambda d: d.pop("closure"),
        lambda d: d.update(kind="nw"),
        lambda d: d.update(mse=None),
        lambda d: d["origin"].update(mse="guessed"),
        lambda d: d["weights"].pop("simplex"),
        lambda d: d["weights"]["optimal"].update(status="fine"),
        lambda d: d["weights"]["optimal"]["parameters"].update(q=1),
        lambda d: d["input"].pop("separator"),
    )
    for damage in damages:
        document = command.decompose(path, "--truth", "y")
        check_decompose_schema(document)
        damage(document)
        with pytest.raises(AssertionError):
            check_decompose_schema(document)


RUNS = "run,id,a,b,y\n1,p,1,2,0\n1,q,2,3,1\n2,p,2,2,0\n"
TWO: list[object] = ["--replicate", "run", "--point", "id"]
TROUBLE: dict[str, tuple[str, list[object], int, str]] = {
    "no such truth": ("a,b,z\n1,2,3\n4,5,6\n", [], 3, "there is no column 'y'"),
    "no such member": ("aa,b,y\n1,2,3\n4,5,6\n", ["--members", "ab"], 3, "is 'aa' meant?"),
    "truth among members": ("a,b,y\n1,2,3\n4,5,6\n", ["--members", "a,y"], 2, "among the inputs"),
    "member twice": ("a,b,y\n1,2,3\n4,5,6\n", ["--members", "a,a"], 2, "named twice"),
    "two members of one name": ("a,a,y\n1,2,3\n4,5,6\n", [], 3, "both called so; rename one"),
    "no members": ("name,y\nu,3\nv,6\n", [], 3, "there are no members"),
    "a mistake in a member": ("a,b,y\n1,2,3\n4,5,6\n7,8o,9\n1,2,3\n", [], 3, "line 4: column 'b'"),
    "truth of words": ("a,y\n1,u\n4,v\n", [], 3, "column of words"),
    "infinite": ("a,b,y\n1,2,3\ninf,5,6\n", [], 3, "line 3: column 'a'"),
    "too large": ("a,b,y\n1,2,3\n1e200,5,6\n", [], 3, "line 3: column 'a'"),
    "too small": ("a,y\n1e-200,2e-200\n3e-200,1e-200\n", [], 3, "leave double"),
    "nothing complete": ("a,b,y\n1,,3\n,5,6\n", [], 3, "none of 2 rows"),
    "replicate without point": (RUNS, ["--replicate", "run"], 2, "--point"),
    "point without replicate": (RUNS, ["--point", "id"], 2, "--replicate"),
    "one column for both": (RUNS, ["--replicate", "id", "--point", "id"], 2, "both name id"),
    "truth as replicate": (RUNS, ["--replicate", "y", "--point", "id"], 2, "truth or a member"),
    "no such replicate": (RUNS, ["--replicate", "rum", "--point", "id"], 3, "is 'run' meant?"),
    "a point missing": (RUNS, TWO, 3, "id 'q' of run '2' has no row"),
    "a point without a value": (RUNS + "2,q,,3,1\n", TWO, 3, "line 5: column 'a'"),
    "a point twice": (RUNS + "2,q,3,3,1\n2,q,3,3,1\n", TWO, 3, "line 6: refused: id 'q' of run '2' is on line 5"),
    "a label missing": (RUNS + "2,,3,3,1\n", TWO, 3, "line 5: column 'id'"),
    "two truths": (RUNS + "2,q,3,3,1.5\n", TWO, 3, "line 5: column 'y'"),
    "one replicate": ("run,id,a,b,y\n1,p,1,2,0\n1,q,2,3,1\n", TWO, 3, "one training set only"),
    "bootstrap": ("a,y\n1,2\n2,3\n", ["--bootstrap", 1], 2, "--bootstrap 1"),
    "folds": ("a,y\n1,2\n2,3\n", ["--folds", 1], 2, "--folds 1"),
    "threads": ("a,y\n1,2\n2,3\n", ["--threads=-1"], 2, "--threads"),
    "norm": ("a,b,y\n1,2,2\n2,3,2\n", ["--greatest-norm2", 0.4], 2, "1/H = 0.5"),
    "negative norm": ("a,b,y\n1,2,2\n2,3,2\n", ["--greatest-norm2=-1"], 2, "--greatest-norm2"),
    "empty": ("", [], 3, "empty"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_named(tmp_path: Path, name: str) -> None:
    text, arguments, code, words = TROUBLE[name]
    path = tmp_path / "t.csv"
    path.write_text(text)
    result = command.run("decompose", path, "--truth", "y", *arguments)
    assert (result.code, result.out) == (code, ""), result.text
    assert words in result.err
