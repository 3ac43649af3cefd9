"""Asserting that a layer of the JSON document says what the formulas say."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import audit
from .audit import Array, Layer

TOLERANCE = 1e-9
Row = dict[str, Any]


def numbers(value: Any) -> Array:
    """A list of the document as an array, null as NaN."""
    return np.array(value, dtype=np.float64)


def assert_close(found: Any, expected: float | None, what: str, tolerance: float = TOLERANCE) -> None:
    if expected is None:
        assert found is None, f"{what}: {found} where null is right"
        return
    assert found is not None, f"{what}: null where {expected} is right"
    scale = max(1.0, abs(expected))
    assert abs(found - expected) <= tolerance * scale, f"{what}: {found} for {expected}"


def assert_source(found: Row, expected: audit.SourceValues, what: str) -> None:
    matrix = numbers(found["matrix"])
    assert matrix.shape == expected.matrix.shape, f"{what}: matrix {matrix.shape} for {expected.matrix.shape}"
    worst = float(np.max(np.abs(matrix - expected.matrix)))
    assert worst <= TOLERANCE, f"{what}: matrix off by {worst}"
    for name in ("hdi", "bound", "headroom", "n_eff_1", "n_eff_2", "n_eff_inf"):
        assert_close(found[name], getattr(expected, name), f"{what} {name}")
    if expected.hdi is None:
        assert found["baseline"] is None and found["z"] is None, f"{what}: a comparison of one head"
        return
    assert found["baseline"] is not None and found["baseline_sd"] is not None, f"{what}: HDI without its baseline"
    assert found["z_method"], f"{what}: baseline without its method"
    if expected.baseline is not None:
        assert_close(found["baseline"], expected.baseline, f"{what} baseline")
    if expected.baseline_sd is not None:
        assert_close(found["baseline_sd"], expected.baseline_sd, f"{what} baseline_sd")
    if found["baseline_sd"] > 0.0:
        assert_close(found["z"], (found["hdi"] - found["baseline"]) / found["baseline_sd"], f"{what} z", 1e-8)


def pairs_of(row: Row, source: str) -> list[Row]:
    return [pair for pair in row["pairs"] if pair["source"] == source]


def assert_pairs(row: Row, layer: Layer, source: str, alpha: float, covariance: Array | None = None) -> None:
    """Overlap, z, p, q, direction and forced zeros of every pair of a subspace source."""
    bases = audit.source_frames(layer, source, covariance)
    pairs, d = pairs_of(row, source), bases[0].shape[1]
    n = len(bases)
    assert [(p["a"], p["b"]) for p in pairs] == [(a, b) for a in range(n) for b in range(a + 1, n)]
    expected_p = []
    for pair in pairs:
        u, v = bases[pair["a"]], bases[pair["b"]]
        overlap = float(np.sum((u @ v.T) ** 2))
        what = f"{source} {pair['a']} {pair['b']}"
        assert_close(pair["overlap"], overlap / np.sqrt(len(u) * len(v)), what)
        assert pair["forced_zero_angles"] == max(0, len(u) + len(v) - d), what
        if audit.overlap_variance(len(u), len(v), d) == 0.0:
            assert pair["z"] is None and pair["p"] is None, what
            continue
        z, p = audit.pair_law(overlap, len(u), len(v), d)
        assert_close(pair["z"], z, what + " z", 1e-7)
        assert abs(pair["p"] - p) <= 1e-9 + 1e-6 * p, f"{what} p: {pair['p']} for {p}"
        expected_p.append(p)
    assert_adjusted(pairs, alpha, source)


def assert_adjusted(pairs: list[Row], alpha: float, what: str) -> None:
    """q is Benjamini-Hochberg of the p stated, and the direction follows from q and z."""
    tested = [pair for pair in pairs if pair["p"] is not None]
    if not tested:
        return
    q = audit.benjamini_hochberg(numbers([pair["p"] for pair in tested]))
    for pair, expected in zip(tested, q, strict=True):
        assert_close(pair["q"], float(expected), f"{what} q", 1e-12)
        significant = "aligned" if pair["z"] > 0 else "repelled"
        assert pair["direction"] == (significant if pair["q"] <= alpha else "none"), f"{what}: {pair}"


def assert_angles(row: Row, layer: Layer, source: str, tolerance: float = TOLERANCE) -> None:
    """Angles of every pair that has them, largest first."""
    bases = audit.source_frames(layer, source, None)
    for pair in pairs_of(row, source):
        if pair["angles"] is None:
            continue
        expected = audit.principal_angles(bases[pair["a"]], bases[pair["b"]])
        found = numbers(pair["angles"])
        assert found.shape == expected.shape, f"{source}: {len(found)} angles for {len(expected)}"
        assert np.all(np.diff(found) <= 0.0), f"{source}: angles not largest first"
        assert float(np.max(np.abs(found - expected), initial=0.0)) <= tolerance, f"{source}: {found} for {expected}"


def assert_layer(
    row: Row, layer: Layer, bandwidth: float | None = None, covariance: Array | None = None, alpha: float = 0.05
) -> None:
    """Every source of a layer without trouble, and its subspace pairs."""
    assert row["status"] == "ok", f"{row['status']}: {row['reason']}"
    assert row["n_heads"] == len(layer.query) and row["n_kv_heads"] == len(layer.key)
    assert row["head_dim"] == layer.query.shape[1]
    assert_layer_values(row, layer, bandwidth, covariance)
    for source in audit.SUBSPACES:
        assert_pairs(row, layer, source, alpha, covariance)
    for source in audit.SOURCES:
        pairs = pairs_of(row, source)
        assert_adjusted(pairs, alpha, source)
        counts = [sum(pair["direction"] == way for pair in pairs) for way in ("aligned", "repelled")]
        found = row["diversity"][source]
        assert counts == [found["n_aligned"], found["n_repelled"]], source
    assert_heads(row, layer)


def assert_layer_values(
    row: Row, layer: Layer, bandwidth: float | None = None, covariance: Array | None = None
) -> None:
    """The matrix of every source and what follows from it."""
    for source, expected in audit.audit_layer(layer, bandwidth, covariance).items():
        assert_source(row["diversity"][source], expected, source)
        assert row["diversity"][source]["n_heads"] == len(expected.matrix), source


def assert_heads(row: Row, layer: Layer) -> None:
    maps, outputs = audit.score_maps(layer), audit.output_maps(layer)
    assert [head["head"] for head in row["heads"]] == list(range(len(layer.query)))
    for h, head in enumerate(row["heads"]):
        assert head["status"] == "ok"
        assert_close(head["qk_norm"], float(np.linalg.norm(maps[h])), f"qk_norm {h}")
        assert_close(head["ov_norm"], float(np.linalg.norm(outputs[h])), f"ov_norm {h}")
        g = h // layer.group
        stored = {"query": layer.query[h], "key": layer.key[g], "value": layer.value[g], "output": layer.output[h]}
        for role, weights in stored.items():
            assert head["rank"][role] == audit.rank(weights, layer.roundoff), f"rank of {role} {h}"
