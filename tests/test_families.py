"""Every family: the heads found are the heads that were put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from oracle import audit, command, compare, families, safetensors_file

DTYPES = ("F32", "BF16", "F16", "F64")
CASES = [(family, DTYPES[i % len(DTYPES)]) for i, family in enumerate(families.BUILDERS)]


@pytest.mark.parametrize("fold", ["no", "auto"])
@pytest.mark.parametrize(("family", "dtype"), CASES)
def test_family(tmp_path: Path, check_schema: Callable[[Any], None], family: str, dtype: str, fold: str) -> None:
    made = families.make(family, dtype)
    document = command.audit(made.write(tmp_path / "model"), "--fold-norm", fold, *made.flags)
    check_schema(document)
    assert document["model"]["layout_code"].split("+T")[0] == made.code.split("+T")[0]
    assert len(document["layers"]) == len(made.truths)
    for truth in made.truths:
        row = command.row_of(document, truth.tensor, truth.attention)
        assert row["layer"] == truth.layer
        compare.assert_layer(row, truth.weights if fold == "no" else audit.fold(truth.weights))


@pytest.mark.parametrize("family", [name for name in families.BUILDERS if name != "gemma3_defaults"])
def test_folding_is_recorded(tmp_path: Path, family: str) -> None:
    """Which norm was folded, by name; nothing is claimed where nothing was."""
    made = families.make(family)
    document = command.audit(made.write(tmp_path / "model"), *made.flags)
    for truth in made.truths:
        row = command.row_of(document, truth.tensor, truth.attention)
        norm = truth.weights.norm
        if norm is None:
            assert row["folded"] is None or row["folded"].startswith("none"), row["folded"]
        else:
            assert norm.kind in row["folded"], row["folded"]
            assert "input_norm" in row["tensors"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox", "falcon_40b", "codegen", "t5"])
def test_every_dtype(tmp_path: Path, family: str, dtype: str) -> None:
    made = families.make(family, dtype, seed=1)
    document = command.audit(made.write(tmp_path / "model"), "--fold-norm", "yes")
    for truth in made.truths:
        row = command.row_of(document, truth.tensor, truth.attention)
        compare.assert_layer_values(row, audit.fold(truth.weights))
        tolerance = max(audit.rank_tolerance(head, truth.weights.roundoff) for head in truth.weights.output)
        if dtype != "F64":  # there the floor is that of computing in double
            assert row["rank_tolerance"]["output"] == pytest.approx(tolerance, rel=1e-9)


@pytest.mark.parametrize(
    ("prefix", "reported"),
    [
        ("module.", "module."),
        ("_orig_mod.module.", "_orig_mod."),
        ("_fsdp_wrapped_module.", "_fsdp_wrapped_module."),
        ("student.backbone.", "student."),
        ("base_model.model.", "base_model."),
    ],
)
def test_prefixes(tmp_path: Path, prefix: str, reported: str) -> None:
    made = families.Checkpoint("llama", prefix=prefix)
    families.llama_like.llama(made)
    document = command.audit(made.write(tmp_path / "model"))
    assert any(reported.rstrip(".") in text for text in document["model"]["prefixes"]), document["model"]["prefixes"]
    for truth in made.truths:
        compare.assert_layer(command.row_of(document, truth.tensor), audit.fold(truth.weights))


def test_shared_block_counts_once(tmp_path: Path) -> None:
    document = command.audit(families.make("albert").write(tmp_path / "model"))
    assert [row["used_by"] for row in document["layers"]] == [12]
    assert document["summary"]["n_heads"] == 6


def test_two_towers_have_their_own_counts(tmp_path: Path) -> None:
    document = command.audit(families.make("clip").write(tmp_path / "model"))
    counts = {(row["stack"], row["n_heads"]) for row in document["layers"]}
    assert {n for _, n in counts} == {4, 6} and len(counts) == 2


def test_many_layers_come_in_numerical_order(tmp_path: Path) -> None:
    made = families.Checkpoint("llama")
    families.add_stack(made, families.llama_like.LLAMA, families.llama_like.RMS_LLAMA, families.GQA, 12)
    made.config = families.llama_config("llama", families.GQA, num_hidden_layers=12)
    document = command.audit(made.write(tmp_path / "model"))
    assert [row["layer"] for row in document["layers"]] == list(range(12))


def test_layers_that_lack_attention(tmp_path: Path) -> None:
    """A hybrid keeps the numbers of its layers; those without attention are said to be of another kind."""
    made = families.make("llama")
    at = "model.layers.0."
    made.tensors = {n.replace(at, "model.layers.7.") if n.startswith(at) else n: v for n, v in made.tensors.items()}
    for n in (0, 2, 3, 4, 5, 6):
        made.put(f"model.layers.{n}.mamba.in_proj.weight", made.draw(4, 48))
    assert made.config is not None
    made.config["num_hidden_layers"] = 8
    document = command.audit(made.write(tmp_path / "model"))
    assert [(row["layer"], row["status"]) for row in document["layers"]] == [(1, "ok"), (7, "ok")]
    assert any("0, 2-6" in note and "mamba" in note for note in document["model"]["notes"])


def test_hybrid_layers_of_a_lone_shard_are_not_judged(tmp_path: Path) -> None:
    """Their attention may lie in another shard."""
    made = families.make("llama")
    made.tensors = {n: v for n, v in made.tensors.items() if not n.startswith("model.layers.1.self_attn.")}
    folder = made.write(tmp_path / "model")
    shard = folder / "model-00001-of-00002.safetensors"
    (folder / "model.safetensors").rename(shard)
    document = command.audit(shard, codes=(4,))
    assert [(row["layer"], row["status"]) for row in document["layers"]] == [(0, "ok"), (1, "refused")]


def test_a_layer_promised_but_absent_keeps_its_row(tmp_path: Path) -> None:
    made = families.make("llama")
    made.tensors = {n: v for n, v in made.tensors.items() if not n.startswith("model.layers.1.")}
    document = command.audit(made.write(tmp_path / "model"), codes=(4,))
    assert [(row["layer"], row["status"]) for row in document["layers"]] == [(0, "ok"), (1, "refused")]
    assert "num_hidden_layers" in document["layers"][1]["reason"]


def test_text_tower_of_a_multimodal_model(tmp_path: Path) -> None:
    """A vision tower with its own heads beside the language model does not disturb the language model."""
    made = families.make("gemma3_nested")
    made.prefix = "vision_tower."
    vision = families.Sizes(d=32, heads=4, kv=4, k=8)
    names = families.encoders.opt_names(norm="layer_norm1.weight")
    n_text = len(made.truths)
    families.add_stack(made, "vision_model.encoder.layers.{}.", names, vision)
    assert made.config is not None
    made.config["vision_config"] = {
        "model_type": "siglip_vision_model",
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
    }
    document = command.audit(made.write(tmp_path / "model"), codes=(0, 4))
    for truth in made.truths[:n_text]:
        compare.assert_layer(command.row_of(document, truth.tensor), audit.fold(truth.weights))
    for truth in made.truths[n_text:]:
        rows = [row for row in document["layers"] if truth.tensor in row["tensors"].values()]
        for row in rows:
            if row["status"] != "refused":
                assert row["n_heads"] == 4


def test_mixed_dtypes(tmp_path: Path) -> None:
    """The tolerance follows the type of each projection."""
    made = families.make("llama", "BF16")
    kinds = {name: "F32" if "k_proj" in name else "BF16" for name in made.tensors}
    folder = tmp_path / "model"
    made.write(folder)
    (folder / "model.safetensors").write_bytes(safetensors_file.image(made.tensors, kinds))
    row = command.row_of(command.audit(folder, "--fold-norm", "no"), made.truths[0].tensor)
    key, query = row["rank_tolerance"]["key"], row["rank_tolerance"]["query"]
    weights = made.truths[0].weights
    assert key == pytest.approx(max(audit.rank_tolerance(h, 2.0**-24) for h in weights.key))
    assert query == pytest.approx(max(audit.rank_tolerance(h, 2.0**-8) for h in weights.query))


def test_the_reference_writer_is_read(tmp_path: Path) -> None:
    """A file written by the safetensors library itself."""
    made = families.make("llama")
    folder = made.write(tmp_path / "model")
    arrays = {n: np.ascontiguousarray(v, dtype=np.float32) for n, v in made.tensors.items()}
    save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})
    document = command.audit(folder)
    for truth in made.truths:
        compare.assert_layer(command.row_of(document, truth.tensor), audit.fold(truth.weights))


def test_fused_and_separate_give_the_same_numbers(tmp_path: Path) -> None:
    """The same heads stored in four orders."""
    base = families.make("gpt_neox")
    weights = [truth.weights for truth in base.truths]
    results = [command.audit(base.write(tmp_path / "neox"), "--fold-norm", "no")]
    for name, fuse, family in (("phi3", families.sections, "phi3"), ("internlm2", families.per_group, "internlm2")):
        made = families.make(family)
        made.tensors, made.truths = {}, []
        for i, w in enumerate(weights):
            fused, output = (
                ("self_attn.qkv_proj.weight", "self_attn.o_proj.weight")
                if family == "phi3"
                else ("attention.wqkv.weight", "attention.wo.weight")
            )
            made.put(f"model.layers.{i}.{fused}", fuse(w.query, w.key, w.value))
            made.put(f"model.layers.{i}.{output}", families.rows(w.output).T)
        made.config = families.llama_config(family, families.Sizes())
        results.append(command.audit(made.write(tmp_path / name), "--fold-norm", "no"))
    for other in results[1:]:
        for a, b in zip(results[0]["layers"], other["layers"], strict=True):
            for source in audit.SOURCES:
                assert a["diversity"][source]["matrix"] == b["diversity"][source]["matrix"], source


def test_group_reads_its_own_key_head(tmp_path: Path) -> None:
    """Query head h reads key head h // (H/G), not h mod G."""
    made = families.make("llama")
    truth = made.truths[0]
    row = command.row_of(command.audit(made.write(tmp_path / "model"), "--fold-norm", "no"), truth.tensor)
    tiled = replace(truth.weights, key=np.tile(truth.weights.key, (3, 1, 1)))
    wrong = audit.score_matrix(tiled)
    found = compare.numbers(row["diversity"]["score"]["matrix"])
    assert np.max(np.abs(found - wrong)) > 1e-3
    assert np.max(np.abs(found - audit.score_matrix(truth.weights))) < compare.TOLERANCE
