"""Where head counts come from, and contradictions between configuration and weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import audit, command, compare, families


def write(folder: Path, made: families.Checkpoint, **changes: Any) -> Path:
    assert made.config is not None
    made.config.update(changes)
    return made.write(folder)


def refused(result: command.Result, *shown: str) -> None:
    """Not read, with both numbers in view."""
    assert result.code in (3, 4), f"exit code {result.code}: {result.text}"
    for text in shown:
        assert text in result.text, f"{text!r} is not in: {result.text}"


def test_origin_is_told(tmp_path: Path) -> None:
    origin = command.audit(families.make("llama").write(tmp_path / "a"))["model"]["origin"]
    assert "num_attention_heads" in origin["n_heads"] and "config.json" in origin["n_heads"]
    assert "num_key_value_heads" in origin["n_kv_heads"]
    assert origin["head_dim"]


def test_class_default_is_told(tmp_path: Path) -> None:
    model = command.audit(families.make("mistral_default_kv").write(tmp_path / "a"))["model"]
    assert model["n_kv_heads"] == 8
    assert "default" in model["origin"]["n_kv_heads"]


def test_flags_are_told_and_win(tmp_path: Path) -> None:
    made = families.make("llama_mha")
    assert made.config is not None
    made.config["num_attention_heads"] = 3
    folder = made.write(tmp_path / "a")
    document = command.audit(folder, "--heads", 6, "--kv-heads", 6, "--head-dim", 8)
    assert "--heads" in document["model"]["origin"]["n_heads"]
    compare.assert_layer(command.row_of(document, made.truths[0].tensor), audit.fold(made.truths[0].weights))


@pytest.mark.parametrize("family", ["llama_mha", "mistral_default_kv", "gemma3_defaults"])
def test_explicit_nulls_mean_absent(tmp_path: Path, family: str) -> None:
    made = families.make(family)
    assert made.config is not None
    target = made.config.get("text_config", made.config)
    for key in ("num_key_value_heads", "head_dim"):
        target.setdefault(key, None)
    if family == "gemma3_defaults":
        target["num_attention_heads"] = None
    document = command.audit(made.write(tmp_path / "a"), "--fold-norm", "no")
    for truth in made.truths:
        compare.assert_layer(command.row_of(document, truth.tensor), truth.weights)


def test_head_dim_is_never_d_over_h_when_shapes_say_otherwise(tmp_path: Path) -> None:
    """q_proj [48, 36] with 6 heads over a width of 36: heads of 8, not 6."""
    made = families.make("mistral")
    assert made.config is not None
    del made.config["head_dim"]
    result = command.run("audit", made.write(tmp_path / "a"), "--json", "-")
    if result.code == 0:
        assert json.loads(result.out)["model"]["head_dim"] == 8
    else:
        refused(result, "48")


def test_config_against_head_dim(tmp_path: Path) -> None:
    refused(command.run("audit", write(tmp_path / "a", families.make("mistral"), head_dim=6)), "48", "6")


def test_config_of_32_kv_heads_against_weights_of_16(tmp_path: Path) -> None:
    made = families.Checkpoint("llama")
    families.llama_like.llama_like(
        made, "llama", families.Sizes(d=64, heads=32, kv=16, k=2), families.llama_like.RMS_LLAMA
    )
    result = command.run("audit", write(tmp_path / "a", made, num_key_value_heads=32))
    refused(result, "32")
    assert "16" in result.text or ("64" in result.text and "32, 64" in result.text), result.text


def test_seven_heads_over_two(tmp_path: Path) -> None:
    made = families.Checkpoint("llama")
    made.put("model.layers.0.self_attn.q_proj.weight", made.draw(56, 56))
    for x in "kv":
        made.put(f"model.layers.0.self_attn.{x}_proj.weight", made.draw(16, 56))
    made.put("model.layers.0.self_attn.o_proj.weight", made.draw(56, 56))
    made.config = families.llama_config("llama", families.Sizes(d=56, heads=7, kv=2))
    refused(command.run("audit", made.write(tmp_path / "a")), "7", "2")


def test_query_norm_of_no_known_length(tmp_path: Path) -> None:
    made = families.make("qwen3")
    made.tensors["model.layers.1.self_attn.q_norm.weight"] = np.ones(13)
    document = command.audit(made.write(tmp_path / "a"), codes=(4,))
    assert [row["status"] for row in document["layers"]] == ["ok", "refused"]
    assert "13" in document["layers"][1]["reason"]


def test_a_head_without_its_norm(tmp_path: Path) -> None:
    """One norm tensor per head, and the last one missing."""
    made = families.make("stablelm_12b")
    for layer in range(2):
        del made.tensors[f"model.layers.{layer}.self_attn.q_layernorm.norms.5.weight"]
    result = command.run("audit", made.write(tmp_path / "model"))
    assert result.code == 3 and "norms.4.weight" in result.err and "6 heads" in result.err


def test_query_norm_over_all_heads_is_told_from_per_head(tmp_path: Path) -> None:
    all_heads = command.audit(families.make("olmo2").write(tmp_path / "a"))["layers"][0]
    per_head = command.audit(families.make("qwen3").write(tmp_path / "b"))["layers"][0]
    assert (all_heads["qk_norm"], per_head["qk_norm"]) == ("all_heads", "per_head")


def test_one_layer_of_another_shape_is_refused_alone(tmp_path: Path) -> None:
    made = families.make("llama")
    made.tensors["model.layers.1.self_attn.k_proj.weight"] = made.draw(24, 48)
    document = command.audit(made.write(tmp_path / "a"), codes=(4,))
    good, bad = document["layers"]
    compare.assert_layer(good, audit.fold(made.truths[0].weights))
    assert bad["status"] == "refused" and "24" in bad["reason"]
    assert all(source["hdi"] is None for source in bad["diversity"].values())


def test_a_layer_without_its_output_projection(tmp_path: Path) -> None:
    made = families.make("llama")
    del made.tensors["model.layers.1.self_attn.o_proj.weight"]
    result = command.run("audit", made.write(tmp_path / "a"), "--json", "-")
    refused(result, "o_proj")


def test_no_config(tmp_path: Path) -> None:
    made = families.make("llama")
    folder = made.write(tmp_path / "a")
    (folder / "config.json").unlink()
    result = command.run("audit", folder)
    assert result.code == 3 and "--heads" in result.err
    document = command.audit(folder, "--heads", 6, "--kv-heads", 2)
    compare.assert_layer(command.row_of(document, made.truths[0].tensor), audit.fold(made.truths[0].weights))


def test_config_beside_a_lone_file(tmp_path: Path) -> None:
    made = families.make("llama")
    folder = made.write(tmp_path / "a")
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    (folder / "config.json").rename(folder / "weights.config.json")
    document = command.audit(folder / "weights.safetensors")
    assert "weights.config.json" in document["model"]["origin"]["n_heads"]


def test_config_by_name(tmp_path: Path) -> None:
    made = families.make("llama")
    folder = made.write(tmp_path / "a")
    (folder / "config.json").rename(tmp_path / "other.json")
    document = command.audit(folder, "--config", tmp_path / "other.json")
    assert "other.json" in document["model"]["origin"]["n_heads"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"num_attention_heads": "six"}', '{"a": 1, "a": 2}', "\x00", '{"x": NaN}']
)
def test_unusable_config(tmp_path: Path, text: str) -> None:
    folder = families.make("llama").write(tmp_path / "a")
    (folder / "config.json").write_text(text)
    result = command.run("audit", folder)
    assert result.code == 3 and "config.json" in result.err, result.text


@pytest.mark.parametrize("value", [0, -6, 2.5, 10**30, True, "6", [6]])
def test_senseless_head_count(tmp_path: Path, value: Any) -> None:
    result = command.run("audit", write(tmp_path / "a", families.make("llama"), num_attention_heads=value))
    refused(result, "num_attention_heads")


def test_no_attention_tensors(tmp_path: Path) -> None:
    made = families.Checkpoint("mlp")
    made.put("layers.0.linear.weight", made.draw(4, 4))
    made.put("embedding.weight", made.draw(9, 4))
    made.config = families.llama_config("llama", families.Sizes())
    result = command.run("audit", made.write(tmp_path / "a"))
    assert result.code == 3 and "attention" in result.err and result.out == ""


def test_unknown_model_type_is_found_by_names(tmp_path: Path) -> None:
    made = families.make("llama")
    document = command.audit(write(tmp_path / "a", made, model_type="brand_new"))
    for truth in made.truths:
        compare.assert_layer(command.row_of(document, truth.tensor), audit.fold(truth.weights))


def test_gpt2_and_nanogpt_are_told_apart_by_shape(tmp_path: Path) -> None:
    """The same names, opposite orientations, no model_type at all."""
    for family, code in (("gpt2_prefixed", "S3+T"), ("nanogpt", "S3")):
        made = families.make(family)
        assert made.config is not None
        made.config.pop("model_type", None)
        document = command.audit(made.write(tmp_path / family), "--fold-norm", "no")
        assert document["model"]["layout_code"] == code
        compare.assert_layer(command.row_of(document, made.truths[0].tensor), made.truths[0].weights)


def test_one_head(tmp_path: Path) -> None:
    """Nothing to compare: no HDI, no baseline, no bound, no pair; not an error."""
    made = families.Checkpoint("llama")
    families.llama_like.llama_like(
        made, "llama", families.Sizes(d=16, heads=1, kv=1, k=8), families.llama_like.RMS_LLAMA, head_dim=8
    )
    document = command.audit(made.write(tmp_path / "a"))
    for row in document["layers"]:
        assert row["status"] == "ok" and row["pairs"] == []
        for source in row["diversity"].values():
            for name in ("hdi", "baseline", "baseline_sd", "z", "bound", "headroom"):
                assert source[name] is None, name
            assert source["reason"] and source["matrix"] == [[1.0]]


def test_multi_query_has_no_key_index(tmp_path: Path) -> None:
    document = command.audit(families.make("falcon_7b").write(tmp_path / "a"))
    diversity = document["layers"][0]["diversity"]
    assert diversity["key_subspace"]["hdi"] is None and "one" in diversity["key_subspace"]["reason"]
    assert diversity["query_subspace"]["hdi"] is not None and diversity["score"]["hdi"] is not None


def test_wide_heads_force_zero_angles(tmp_path: Path) -> None:
    """2 d_k > D: 2 d_k - D angles are zero for any pair."""
    made = families.Checkpoint("llama")
    families.llama_like.llama_like(
        made, "llama", families.Sizes(d=10, heads=3, kv=3, k=8), families.llama_like.RMS_LLAMA, head_dim=8
    )
    document = command.audit(made.write(tmp_path / "a"), "--all-angles")
    for truth in made.truths:
        row = command.row_of(document, truth.tensor)
        compare.assert_layer(row, audit.fold(truth.weights))
        for pair in compare.pairs_of(row, "query_subspace"):
            assert pair["forced_zero_angles"] == 6
            assert max(pair["angles"][-6:]) < 1e-14
