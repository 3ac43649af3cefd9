"""Decoders with the names of Llama: separate or fused projections behind an RMSNorm."""

from __future__ import annotations

from typing import Any

from .checkpoint import GQA, HF, QKVO, Checkpoint, Names, Sizes, add_stack, llama_config, per_group, separate

LLAMA = "model.layers.{}."


def llama_like(out: Checkpoint, kind: str, s: Sizes, names: Names, pattern: str = LLAMA, **config: Any) -> Checkpoint:
    add_stack(out, pattern, names, s)
    out.put("model.embed_tokens.weight", out.draw(11, s.d))
    out.config = llama_config(kind, s, **config)
    return out


RMS_LLAMA = separate(HF, QKVO, norm="input_layernorm.weight")
WIDE = Sizes(d=36, heads=6, kv=3, k=8)  # head_dim is not d / heads


def llama(out: Checkpoint) -> Checkpoint:
    return llama_like(out, "llama", GQA, RMS_LLAMA)


def llama_mha(out: Checkpoint) -> Checkpoint:
    """num_key_value_heads absent: the class default is as many as query heads."""
    llama_like(out, "llama", Sizes(), RMS_LLAMA)
    assert out.config is not None
    del out.config["num_key_value_heads"]
    return out


def mistral(out: Checkpoint) -> Checkpoint:
    return llama_like(out, "mistral", WIDE, RMS_LLAMA, head_dim=8)


def mistral_default_kv(out: Checkpoint) -> Checkpoint:
    """An absent num_key_value_heads means 8 in Mistral, whatever the query heads."""
    s = Sizes(d=64, heads=16, kv=8, k=4)
    llama_like(out, "mistral", s, RMS_LLAMA)
    assert out.config is not None
    del out.config["num_key_value_heads"]
    return out


def mixtral(out: Checkpoint) -> Checkpoint:
    llama_like(out, "mixtral", GQA, RMS_LLAMA)
    for i in range(2):
        out.put(f"model.layers.{i}.block_sparse_moe.gate.weight", out.draw(4, 48))
        out.put(f"model.layers.{i}.block_sparse_moe.experts.0.w1.weight", out.draw(12, 48))
    return out


def qwen2(out: Checkpoint) -> Checkpoint:
    biases = tuple(f"self_attn.{x}_proj.bias" for x in "qkv")
    return llama_like(out, "qwen2", GQA, separate(HF, QKVO, norm="input_layernorm.weight", biases=biases))


PER_HEAD_NORMS: dict[str, Any] = {"query_norm": "self_attn.q_norm.weight", "key_norm": "self_attn.k_norm.weight"}


def qwen3(out: Checkpoint) -> Checkpoint:
    names = separate(HF, QKVO, norm="input_layernorm.weight", **PER_HEAD_NORMS)
    return llama_like(out, "qwen3", WIDE, names, head_dim=8)


def gemma(out: Checkpoint) -> Checkpoint:
    names = separate(HF, QKVO, norm="input_layernorm.weight", norm_offset=1.0)
    return llama_like(out, "gemma", WIDE, names, head_dim=8)


def gemma2(out: Checkpoint) -> Checkpoint:
    names = separate(HF, QKVO, norm="input_layernorm.weight", norm_offset=1.0)
    llama_like(out, "gemma2", WIDE, names, head_dim=8)
    for i in range(2):
        out.put(f"model.layers.{i}.post_attention_layernorm.weight", out.gain(WIDE.d))
        out.put(f"model.layers.{i}.pre_feedforward_layernorm.weight", out.gain(WIDE.d))
    return out


def gemma3(out: Checkpoint) -> Checkpoint:
    names = separate(HF, QKVO, norm="input_layernorm.weight", norm_offset=1.0, **PER_HEAD_NORMS)
    return llama_like(out, "gemma3_text", WIDE, names, head_dim=8)


def gemma3_nested(out: Checkpoint) -> Checkpoint:
    """Text settings nested in text_config, tensors under language_model."""
    out.prefix = "language_model."
    gemma3(out)
    assert out.config is not None
    out.config = {"model_type": "gemma3", "text_config": out.config}
    return out


def gemma3_defaults(out: Checkpoint) -> Checkpoint:
    """Heads, KV heads and head_dim all absent: 8, 4, 256."""
    names = separate(HF, QKVO, norm="input_layernorm.weight", norm_offset=1.0, **PER_HEAD_NORMS)
    s = Sizes(d=32, heads=8, kv=4, k=256)
    llama_like(out, "gemma3_text", s, names)
    out.config = {
        "model_type": "gemma3",
        "text_config": {"model_type": "gemma3_text", "hidden_size": 32, "num_hidden_layers": 2},
    }
    return out


def olmo2(out: Checkpoint) -> Checkpoint:
    """Norms over all heads before the split, and no norm in front of the projections."""
    names = separate(HF, QKVO, qk_all_heads=True, **PER_HEAD_NORMS)
    llama_like(out, "olmo2", GQA, names)
    for i in range(2):
        out.put(f"model.layers.{i}.post_attention_layernorm.weight", out.gain(48))
    return out


def phi3(out: Checkpoint) -> Checkpoint:
    names = Names(fused="self_attn.qkv_proj.weight", output="self_attn.o_proj.weight", norm="input_layernorm.weight")
    out.code = "S3"
    return llama_like(out, "phi3", GQA, names)


def stablelm(out: Checkpoint) -> Checkpoint:
    """Llama names with a LayerNorm in front."""
    names = separate(HF, QKVO, norm="input_layernorm.weight", norm_kind="layer", norm_bias=True)
    return llama_like(out, "stablelm", GQA, names)


def stablelm_12b(out: Checkpoint) -> Checkpoint:
    """A norm tensor for each head."""
    names = separate(
        HF,
        QKVO,
        norm="input_layernorm.weight",
        norm_kind="layer",
        norm_bias=True,
        query_norm="self_attn.q_layernorm.norms.{head}.weight",
        key_norm="self_attn.k_layernorm.norms.{head}.weight",
    )
    return llama_like(out, "stablelm", GQA, names, qk_layernorm=True)


def gpt_oss(out: Checkpoint) -> Checkpoint:
    biases = tuple(f"self_attn.{x}_proj.bias" for x in "qkvo")
    names = separate(HF, QKVO, norm="input_layernorm.weight", biases=biases)
    llama_like(out, "gpt_oss", WIDE, names, head_dim=8)
    for i in range(2):
        out.put(f"model.layers.{i}.self_attn.sinks", out.draw(6))
    return out


def internlm2(out: Checkpoint) -> Checkpoint:
    names = Names(
        fused="attention.wqkv.weight", output="attention.wo.weight", fuse=per_group, norm="attention_norm.weight"
    )
    out.code = "IG"
    return llama_like(out, "internlm2", GQA, names)


BUILDERS = (
    llama,
    llama_mha,
    mistral,
    mistral_default_kv,
    mixtral,
    qwen2,
    qwen3,
    gemma,
    gemma2,
    gemma3,
    gemma3_nested,
    gemma3_defaults,
    olmo2,
    phi3,
    stablelm,
    stablelm_12b,
    gpt_oss,
    internlm2,
)
