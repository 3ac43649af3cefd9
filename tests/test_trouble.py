"""Heads and layers with trouble keep their rows, and a missing value is never a number."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import audit, command, compare, families, safetensors_file

Q = "model.layers.0.self_attn.q_proj.weight"
K = "model.layers.0.self_attn.k_proj.weight"
V = "model.layers.0.self_attn.v_proj.weight"
O = "model.layers.0.self_attn.o_proj.weight"  # noqa: E741


def audit_partly(made: families.Checkpoint, folder: Path, check_schema: Callable[[Any], None]) -> command.Document:
    document = command.audit(made.write(folder), "--fold-norm", "no", codes=(4,))
    check_schema(document)
    assert document["summary"]["complete"] is False
    compare.assert_layer(document["layers"][1], made.truths[1].weights)  # the other layer is untouched
    return document


def without(layer: audit.Layer, source: str, kept: list[int]) -> audit.SourceValues:
    """Values of `source` over the heads kept; score and head are taken of the whole and cut."""
    if source in ("score", "head"):
        maps = audit.score_matrix(layer) if source == "score" else audit.head_matrix(layer)
        return audit.values_of(maps[np.ix_(kept, kept)], len(kept) / (len(kept) - 1.0), (1.0, None))
    role = "key" if source == "kernel" else source.split("_", maxsplit=1)[0]
    cut = replace(layer, **{role: getattr(layer, role)[kept]})
    return audit.source_values(cut, source)


def assert_left_out(row: compare.Row, source: str, layer: audit.Layer, left_out: list[int]) -> None:
    found = row["diversity"][source]
    assert found["heads_left_out"] == left_out, source
    matrix = compare.numbers(found["matrix"])
    n = len(matrix)
    kept = [h for h in range(n) if h not in left_out]
    assert np.all(np.isnan(matrix[left_out])) and np.all(np.isnan(matrix[:, left_out])), source
    expected = without(layer, source, kept)
    assert np.max(np.abs(matrix[np.ix_(kept, kept)] - expected.matrix)) < compare.TOLERANCE, source
    for name in ("hdi", "bound", "n_eff_1", "n_eff_2", "n_eff_inf"):
        compare.assert_close(found[name], getattr(expected, name), f"{source} {name}")
    for pair in compare.pairs_of(row, source):
        missing = pair["a"] in left_out or pair["b"] in left_out
        for name in ("overlap", "z", "p", "q"):
            assert (pair[name] is None) == missing, (source, pair)
        assert not missing or (pair["angles"] is None and pair["direction"] == "none")
    compare.assert_adjusted([p for p in compare.pairs_of(row, source) if p["p"] is not None], 0.05, source)


QUERY_SOURCES = ("query_subspace", "query_energy", "score", "head")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["F32", "BF16", "F16"])
def test_non_finite_query_head(tmp_path: Path, check_schema: Callable[[Any], None], value: float, dtype: str) -> None:
    made = families.make("llama", dtype)
    truth = made.truths[0].weights
    made.tensors[Q] = made.tensors[Q].copy()
    made.tensors[Q][17, 5] = value  # head 2
    row = audit_partly(made, tmp_path / "a", check_schema)["layers"][0]
    assert row["status"] != "ok" and row["reason"]
    assert [head["status"] for head in row["heads"]] == ["ok", "ok", "non_finite", "ok", "ok", "ok"]
    assert row["heads"][2]["rank"]["query"] is None and row["heads"][2]["qk_norm"] is None
    assert row["heads"][2]["ov_norm"] is not None
    for source in QUERY_SOURCES:
        assert_left_out(row, source, truth, [2])
    for source in audit.SOURCES:
        if source not in QUERY_SOURCES:
            assert_left_out(row, source, truth, [])


def test_non_finite_key_head_concerns_the_queries_that_read_it(
    tmp_path: Path, check_schema: Callable[[Any], None]
) -> None:
    made = families.make("llama")
    truth = made.truths[0].weights
    made.tensors[K] = made.tensors[K].copy()
    made.tensors[K][9, 0] = np.nan  # key head 1, read by query heads 3, 4, 5
    row = audit_partly(made, tmp_path / "a", check_schema)["layers"][0]
    assert [head["status"] for head in row["heads"]] == ["ok"] * 3 + ["non_finite"] * 3
    for source in ("score", "head"):
        assert_left_out(row, source, truth, [3, 4, 5])
    assert_left_out(row, "query_subspace", truth, [])
    assert row["diversity"]["key_subspace"]["hdi"] is None  # one key head is left
    assert row["diversity"]["key_subspace"]["heads_left_out"] == [1]
    assert row["diversity"]["key_subspace"]["reason"]


def test_dead_head(tmp_path: Path, check_schema: Callable[[Any], None]) -> None:
    made = families.make("llama")
    truth = made.truths[0].weights
    made.tensors[Q] = made.tensors[Q].copy()
    made.tensors[Q][8:16] = 0.0
    row = audit_partly(made, tmp_path / "a", check_schema)["layers"][0]
    assert row["heads"][1]["status"] == "dead" and row["heads"][1]["rank"]["query"] == 0
    for source in QUERY_SOURCES:
        assert_left_out(row, source, truth, [1])


def test_all_zero_query_projection(tmp_path: Path, check_schema: Callable[[Any], None]) -> None:
    made = families.make("llama")
    made.tensors[Q] = np.zeros_like(made.tensors[Q])
    row = audit_partly(made, tmp_path / "a", check_schema)["layers"][0]
    assert row["status"] == "dead"
    assert {head["status"] for head in row["heads"]} == {"dead"}
    for source in QUERY_SOURCES:
        found = row["diversity"][source]
        for name in ("hdi", "baseline", "z", "bound", "headroom", "n_eff_1", "n_eff_2", "n_eff_inf"):
            assert found[name] is None, (source, name)
        assert found["heads_left_out"] == list(range(6)) and found["reason"]
    assert_left_out(row, "value_subspace", made.truths[0].weights, [])


def test_pruned_output_head(tmp_path: Path, check_schema: Callable[[Any], None]) -> None:
    made = families.make("llama")
    truth = made.truths[0].weights
    made.tensors[O] = made.tensors[O].copy()
    made.tensors[O][:, 40:48] = 0.0
    row = audit_partly(made, tmp_path / "a", check_schema)["layers"][0]
    assert row["heads"][5]["status"] == "dead" and row["heads"][5]["rank"]["output"] == 0
    for source in ("output_subspace", "output_energy", "head"):
        assert_left_out(row, source, truth, [5])
    assert_left_out(row, "score", truth, [])


@pytest.mark.parametrize("dtype", ["F32", "BF16", "F16"])
@pytest.mark.parametrize("rank", [1, 3, 7])
def test_rank_deficient_head(tmp_path: Path, check_schema: Callable[[Any], None], dtype: str, rank: int) -> None:
    """Rounding to the storage type makes the matrix of full rank in double; its noise is not counted."""
    made = families.make("llama", dtype)
    truth = made.truths[0].weights
    random = np.random.default_rng(rank)
    low = random.normal(size=(8, rank)) @ random.normal(size=(rank, 48))
    stored = safetensors_file.as_stored(low, dtype)
    assert np.linalg.matrix_rank(stored) == 8  # in double
    made.tensors[Q] = made.tensors[Q].copy()
    made.tensors[Q][24:32] = stored
    row = audit_partly(made, tmp_path / "a", check_schema)["layers"][0]
    query = truth.query.copy()
    query[3] = stored
    changed = replace(truth, query=query)
    head = row["heads"][3]
    assert head["status"] == "rank_deficient" and head["rank"]["query"] == rank
    assert [h["status"] for h in row["heads"]].count("ok") == 5
    for source in audit.SOURCES:
        compare.assert_source(row["diversity"][source], audit.source_values(changed, source), source)
    compare.assert_pairs(row, changed, "query_subspace", 0.05)
    compare.assert_angles(row, changed, "query_subspace")


def test_rank_deficient_key_enters_the_kernel(tmp_path: Path, check_schema: Callable[[Any], None]) -> None:
    made = families.make("llama_mha")
    truth = made.truths[0].weights
    key = truth.key.copy()
    key[2, 5:] = key[2, :3]
    made.tensors[K] = families.rows(key)
    row = audit_partly(made, tmp_path / "a", check_schema)["layers"][0]
    changed = replace(truth, key=key)
    assert row["heads"][2]["rank"]["key"] == 5
    expected = audit.source_values(changed, "kernel")
    matrix = compare.numbers(row["diversity"]["kernel"]["matrix"])
    assert np.max(np.abs(matrix - expected.matrix)) < compare.TOLERANCE
    compare.assert_close(row["diversity"]["kernel"]["hdi"], expected.hdi, "kernel hdi")


def test_identical_heads_have_angles_of_zero(tmp_path: Path) -> None:
    """Not 1e-8, which is what arccos of a rounded cosine gives."""
    made = families.make("llama_mha")
    made.tensors[Q] = made.tensors[Q].copy()
    made.tensors[Q][0:8] = made.tensors[Q][40:48]
    mixing = np.random.default_rng(0).normal(size=(8, 8))
    row = command.audit(made.write(tmp_path / "a"), "--fold-norm", "no")["layers"][0]
    pair = next(p for p in compare.pairs_of(row, "query_subspace") if (p["a"], p["b"]) == (0, 5))
    assert pair["direction"] == "aligned" and pair["overlap"] == pytest.approx(1.0, abs=1e-12)
    assert max(pair["angles"]) < 1e-14
    made = families.make("llama_mha", "F64")
    made.tensors[Q] = made.tensors[Q].copy()
    made.tensors[Q][0:8] = mixing @ made.tensors[Q][40:48]
    row = command.audit(made.write(tmp_path / "b"), "--fold-norm", "no")["layers"][0]
    pair = next(p for p in compare.pairs_of(row, "query_subspace") if (p["a"], p["b"]) == (0, 5))
    assert max(pair["angles"]) < 1e-14 * np.linalg.cond(mixing) * 10


def test_small_angles_are_resolved(tmp_path: Path) -> None:
    """Planes tilted by 1e-12 to 1e-2 come back with all their digits."""
    tilts = np.array([1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.5])
    made = families.make("llama_mha", "F64")
    q = np.zeros((6, 8, 48))
    q[:, :, :8] = np.eye(8)
    for h in range(1, 6):
        shift = slice(8 * h, 8 * h + 8)
        q[h, :, :8] = np.diag(np.cos(tilts))
        q[h, :, shift] = np.diag(np.sin(tilts))
    made.tensors[Q] = families.rows(q)
    row = command.audit(made.write(tmp_path / "a"), "--fold-norm", "no", "--all-angles")["layers"][0]
    for pair in compare.pairs_of(row, "query_subspace"):
        if pair["a"] == 0:
            assert np.array(pair["angles"])[::-1] == pytest.approx(tilts, rel=1e-10, abs=1e-17)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scale_of_weights_does_not_matter(tmp_path: Path, scale: float) -> None:
    """Products of four such weights leave the range of a double; correlations do not care."""
    made = families.make("llama", "F64")
    plain = command.audit(made.write(tmp_path / "a"), "--fold-norm", "no")["layers"][0]
    for name in (Q, K, V, O):
        made.tensors[name] = made.tensors[name] * scale**3
    scaled = command.audit(made.write(tmp_path / "b"), "--fold-norm", "no", codes=(0,))["layers"][0]
    for source in audit.SOURCES:
        before, after = (compare.numbers(x["diversity"][source]["matrix"]) for x in (plain, scaled))
        assert np.max(np.abs(before - after)) < compare.TOLERANCE, source


@pytest.mark.parametrize("dtype", ["F8_E4M3", "U8", "I32", "BOOL", "F4"])
def test_other_dtypes_are_named_and_refused(tmp_path: Path, dtype: str) -> None:
    made = families.make("llama")
    folder = made.write(tmp_path / "a")
    raw = safetensors_file.image(made.tensors)
    (length,) = np.frombuffer(raw[:8], dtype="<u8")
    header = raw[8 : 8 + int(length)].decode()
    table = json.loads(header)
    bits = {"F8_E4M3": 8, "U8": 8, "I32": 32, "BOOL": 8, "F4": 4}[dtype]
    table[Q] = {**table[Q], "dtype": dtype, "shape": [48, 48 * 32 // bits]}
    (folder / "model.safetensors").write_bytes(safetensors_file.frame(json.dumps(table), raw[8 + int(length) :]))
    document = command.audit(folder, codes=(4,))
    bad, good = document["layers"]
    assert bad["status"] == "refused" and dtype in bad["reason"]
    compare.assert_layer(good, audit.fold(made.truths[1].weights))
