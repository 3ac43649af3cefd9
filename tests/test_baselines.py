"""Baselines stated beside every HDI against random heads simulated here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from oracle import audit, command, compare, families

D, K, HEADS, KV = 24, 4, 6, 3
ROUNDS = 600


def random_layer(random: np.random.Generator, d: int = D, k: int = K, heads: int = HEADS, kv: int = KV) -> audit.Layer:
    query, key, value, output = (random.normal(size=(n, k, d)) for n in (heads, kv, kv, heads))
    return audit.Layer(query, key, value, output)


@pytest.fixture(scope="module")
def simulated() -> dict[str, audit.Array]:
    """HDI of every source over independent random layers."""
    random = np.random.default_rng(5)
    layers = [audit.audit_layer(random_layer(random)) for _ in range(ROUNDS)]
    return {s: np.array([layer[s].hdi for layer in layers], dtype=np.float64) for s in audit.SOURCES}


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> command.Document:
    made = families.Checkpoint("llama")
    families.llama_like.llama_like(
        made, "llama", families.Sizes(D, HEADS, KV, K), families.llama_like.RMS_LLAMA, head_dim=K
    )
    document = command.audit(made.write(tmp_path_factory.mktemp("random") / "model"))
    diversity: command.Document = document["layers"][0]["diversity"]
    return diversity


@pytest.mark.parametrize("source", audit.SOURCES)
def test_baseline_and_its_spread(simulated: dict[str, audit.Array], stated: command.Document, source: str) -> None:
    values, found = simulated[source], stated[source]
    error = values.std() / np.sqrt(ROUNDS)
    slack = 0.01 * (1.0 - found["baseline"]) if "energy" in source or source == "kernel" else 0.0
    assert abs(values.mean() - found["baseline"]) < 4.0 * error + slack, (values.mean(), found["baseline"])
    ratio = values.std() / found["baseline_sd"]
    assert 0.85 < ratio < 1.15, ratio


def pair_values(shared: bool, rounds: int = 4000) -> tuple[audit.Array, audit.Array]:
    """Score and head correlation of two random heads, with or without a key/value head in common."""
    random = np.random.default_rng(6)
    scores, heads = np.empty(rounds), np.empty(rounds)
    for i in range(rounds):
        layer = random_layer(random, heads=2, kv=1 if shared else 2)
        scores[i] = audit.score_matrix(layer)[0, 1]
        heads[i] = audit.head_matrix(layer)[0, 1]
    return scores, heads


@pytest.mark.parametrize("shared", [False, True])
def test_closed_forms_of_score_and_head(shared: bool) -> None:
    """sd 1/d, or sqrt(1/(k d) + 1/d^2) for a shared key head; for heads their squares."""
    scores, heads = pair_values(shared)
    variance = (1.0 / (K * D) if shared else 0.0) + 1.0 / D**2
    assert abs(scores.mean()) < 4.0 * scores.std() / np.sqrt(len(scores))
    assert scores.std() == pytest.approx(np.sqrt(variance), rel=0.05)
    assert heads.std() == pytest.approx(variance, rel=0.12)


def test_closed_form_of_energy() -> None:
    random = np.random.default_rng(7)
    values = [audit.energy_matrix(random.normal(size=(2, K, D)))[0, 1] for _ in range(4000)]
    assert float(np.mean(values)) == pytest.approx(K / (D + K + 1.0), rel=0.02)


def test_beta_law_of_the_overlap() -> None:
    """Haar sampling: the mean, the variance, and a uniform p."""
    random = np.random.default_rng(8)
    for k, other, d in ((1, 1, 5), (3, 5, 12), (4, 4, 24), (8, 8, 12)):
        overlaps, p = [], []
        for _ in range(3000):
            u, v = (np.linalg.qr(random.normal(size=(d, n)))[0] for n in (k, other))
            overlaps.append(float(np.sum((u.T @ v) ** 2)))
            p.append(audit.pair_law(overlaps[-1], k, other, d)[1])
        assert np.mean(overlaps) == pytest.approx(k * other / d, rel=0.02)
        assert np.var(overlaps) == pytest.approx(audit.overlap_variance(k, other, d), rel=0.12)
        assert scipy.stats.kstest(p, "uniform").pvalue > 1e-3, (k, other, d)


def test_pairs_of_random_heads_are_not_significant(tmp_path: Path) -> None:
    """p-values of every source are near uniform on weights with independent normal entries."""
    random = np.random.default_rng(9)
    d, k, heads = 64, 8, 12
    made = families.Checkpoint("llama")
    for n in range(8):
        at = f"model.layers.{n}.self_attn."
        for x in "qkvo":
            made.put(f"{at}{x}_proj.weight", random.normal(size=(d, heads * k) if x == "o" else (heads * k, d)))
    sizes = families.Sizes(d, heads, heads, k)
    made.config = families.llama_config("llama", sizes, head_dim=k, num_hidden_layers=8)
    document = command.audit(made.write(tmp_path / "model"))
    for source in audit.SOURCES:
        pairs = [p for row in document["layers"] for p in compare.pairs_of(row, source)]
        p = np.array([pair["p"] for pair in pairs])
        assert len(p) == 8 * heads * (heads - 1) // 2
        assert scipy.stats.kstest(p, "uniform").statistic < 0.08, source
        assert sum(pair["direction"] != "none" for pair in pairs) <= 0.02 * len(pairs), source
        z = [row["diversity"][source]["z"] for row in document["layers"]]
        assert max(abs(x) for x in z) < 4.0, (source, z)


def test_score_z_uses_the_closed_form(model: Path) -> None:
    """z of a pair: overlap over 1/d, or over sqrt(1/(k d) + 1/d^2) where both heads read one key head."""
    row = command.audit(model)["layers"][0]
    for pair in compare.pairs_of(row, "score"):
        shared = pair["a"] // 3 == pair["b"] // 3
        sd = np.sqrt((1.0 / (8 * 48) if shared else 0.0) + 1.0 / 48**2)
        compare.assert_close(pair["z"], pair["overlap"] / sd, "score z")


def test_every_hdi_has_its_baseline_and_bound(tmp_path: Path) -> None:
    for family in ("mistral", "gpt2", "falcon_7b", "bart", "clip", "albert", "vit_timm", "torch_unequal", "t5"):
        made = families.make(family)
        result = command.run("audit", made.write(tmp_path / family), "--json", "-", *made.flags)
        for row in json.loads(result.out)["layers"]:
            for source, found in row["diversity"].items():
                if found["hdi"] is not None:
                    for name in ("baseline", "baseline_sd", "z_method", "bound", "headroom", "p_method"):
                        assert found[name] is not None, (family, source, name)
