"""A wrong split of a fused matrix is invisible to shapes; the weights themselves may tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import command, families, shared_files

Order = Callable[[Any, Any, Any], Any]
ORDERS: dict[str, Order] = {"S3": families.sections, "IG": families.per_group}


def fused_stories(checkpoints: Path, folder: Path, family: str, order: Order) -> Path:
    """The trained weights of stories260K as one fused matrix per layer."""
    made = families.make(family)
    made.tensors, made.truths = {}, []
    fused, output = (
        ("self_attn.qkv_proj.weight", "self_attn.o_proj.weight")
        if family == "phi3"
        else ("attention.wqkv.weight", "attention.wo.weight")
    )
    for truth in shared_files.stories(checkpoints):
        w = truth.weights
        made.put(f"model.layers.{truth.layer}.{fused}", order(w.query, w.key, w.value))
        made.put(f"model.layers.{truth.layer}.{output}", families.rows(w.output).T)
    made.config = families.llama_config(family, families.Sizes(d=64, heads=8, kv=4, k=8), num_hidden_layers=5)
    return made.write(folder)


@pytest.mark.parametrize("family", ["phi3", "internlm2"])
def test_trained_weights(checkpoints: Path, tmp_path: Path, family: str) -> None:
    """In their true order they are never contradicted; in another they are never confirmed."""
    stated = families.make(family).code
    for code, order in ORDERS.items():
        folder = fused_stories(checkpoints, tmp_path / code, family, order)
        document = command.audit(folder, codes=(0, 4))
        verdicts = [row["roles"]["verdict"] for row in document["layers"]]
        wrong = "contradicts" if code == stated else "agrees"
        assert wrong not in verdicts, (code, verdicts)
        for row in document["layers"]:
            roles = row["roles"]
            assert roles["stated"] == stated and 0.0 <= roles["confidence"] <= 1.0
            assert (row["status"] == "doubtful") == (roles["verdict"] == "contradicts")


def test_separate_matrices_need_no_verdict(model: Path) -> None:
    assert all(row["roles"] is None for row in command.audit(model)["layers"])


@pytest.mark.parametrize("family", ["phi3", "gpt_neox", "falcon_40b", "internlm2", "gpt2", "vit_timm"])
def test_independent_random_weights_are_rarely_decided(tmp_path: Path, family: str) -> None:
    """Weights with independent normal entries carry no order at all."""
    verdicts = []
    for seed in range(4):
        made = families.make(family, seed=seed)
        random = np.random.default_rng(seed)
        made.tensors = {n: random.normal(size=v.shape) if v.ndim == 2 else v for n, v in made.tensors.items()}
        document = command.audit(made.write(tmp_path / str(seed)), *made.flags, codes=(0, 4))
        verdicts += [row["roles"]["verdict"] for row in document["layers"]]
    assert verdicts.count("contradicts") == 0, verdicts
    assert verdicts.count("cannot tell") >= len(verdicts) - 1, verdicts
