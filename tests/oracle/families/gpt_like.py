"""Decoders with fused projections: GPT-2 and its relatives, GPT-NeoX, BLOOM, Falcon, MPT."""

from __future__ import annotations

from typing import Any

import numpy as np

from .checkpoint import (
    GQA,
    LAYER_NORM,
    Checkpoint,
    Fuse,
    Names,
    Sizes,
    add_stack,
    llama_config,
    per_group,
    per_head,
    qvk_slabs,
    sections,
    separate,
)

GPT = "transformer.h.{}."
MASKS = ("attn.bias", "attn.masked_bias")
GPT_NORM: dict[str, Any] = {"norm": "ln_1.weight", **LAYER_NORM}
C_ATTN: dict[str, Any] = {
    "fused": "attn.c_attn.weight",
    "output": "attn.c_proj.weight",
    "biases": ("attn.c_attn.bias", "attn.c_proj.bias"),
    **GPT_NORM,
}


def gpt_config(kind: str, s: Sizes, **others: Any) -> dict[str, Any]:
    return {"model_type": kind, "n_embd": s.d, "n_head": s.heads, "n_layer": 2, **others}


def add_masks(out: Checkpoint, pattern: str, names: tuple[str, ...]) -> None:
    """Causal-mask buffers under names that look like biases."""
    for i in range(2):
        for name in names:
            out.put(pattern.format(i) + name, np.tril(np.ones((1, 1, 5, 5))))


def gpt2(out: Checkpoint) -> Checkpoint:
    add_stack(out, "h.{}.", Names(in_out=True, **C_ATTN), Sizes())
    add_masks(out, "h.{}.", MASKS)
    out.config, out.code = gpt_config("gpt2", Sizes()), "S3+T"
    return out


def gpt2_prefixed(out: Checkpoint) -> Checkpoint:
    out.prefix = "transformer."
    return gpt2(out)


def nanogpt(out: Checkpoint) -> Checkpoint:
    """GPT-2's names with the other orientation; the configuration is nanoGPT's model_args."""
    out.prefix = "_orig_mod."
    add_stack(out, GPT, Names(**C_ATTN), Sizes())
    out.config = {"n_layer": 2, "n_head": 6, "n_embd": 48, "block_size": 32, "bias": True, "vocab_size": 65}
    out.code = "S3"
    return out


def gptj(out: Checkpoint) -> Checkpoint:
    add_stack(out, GPT, separate("attn.{}_proj.weight", "q k v out", **GPT_NORM), Sizes())
    add_masks(out, GPT, MASKS)
    out.config = gpt_config("gptj", Sizes(), rotary_dim=4)
    return out


def gpt_neo(out: Checkpoint) -> Checkpoint:
    names = separate("attn.attention.{}_proj.weight", "q k v out", biases=("attn.attention.out_proj.bias",), **GPT_NORM)
    add_stack(out, GPT, names, Sizes())
    out.config = {"model_type": "gpt_neo", "hidden_size": 48, "num_heads": 6, "num_layers": 2}
    return out


def codegen(out: Checkpoint) -> Checkpoint:
    s = Sizes(d=48, heads=8, kv=8, k=6)
    names = Names(fused="attn.qkv_proj.weight", output="attn.out_proj.weight", fuse=qvk_slabs, **GPT_NORM)
    add_stack(out, GPT, names, s)
    out.config, out.code = gpt_config("codegen", s, rotary_dim=4), "QVK4"
    return out


def gpt_bigcode(out: Checkpoint) -> Checkpoint:
    s = Sizes(kv=1)
    add_stack(out, GPT, Names(**C_ATTN), s)
    out.config, out.code = gpt_config("gpt_bigcode", s, multi_query=True), "S3"
    return out


def gpt_bigcode_mha(out: Checkpoint) -> Checkpoint:
    add_stack(out, GPT, Names(fuse=per_head, **C_ATTN), Sizes())
    out.config, out.code = gpt_config("gpt_bigcode", Sizes(), multi_query=False), "I3"
    return out


NEOX_ATTENTION = "attention.query_key_value.weight"


def gpt_neox(out: Checkpoint) -> Checkpoint:
    names = Names(
        fused=NEOX_ATTENTION,
        output="attention.dense.weight",
        fuse=per_head,
        norm="input_layernorm.weight",
        biases=("attention.query_key_value.bias", "attention.dense.bias"),
        **LAYER_NORM,
    )
    add_stack(out, "gpt_neox.layers.{}.", names, Sizes())
    add_masks(out, "gpt_neox.layers.{}.", ("attention.bias", "attention.masked_bias"))
    out.config, out.code = llama_config("gpt_neox", Sizes()), "I3"
    return out


def falcon_names(fuse: Fuse, norm: str, biases: bool = False) -> Names:
    fused, dense = "self_attention.query_key_value.weight", "self_attention.dense.weight"
    also = tuple(x.replace("weight", "bias") for x in (fused, dense)) if biases else ()
    return Names(fused=fused, output=dense, fuse=fuse, norm=norm, biases=also, **LAYER_NORM)


def bloom(out: Checkpoint) -> Checkpoint:
    add_stack(out, "h.{}.", falcon_names(per_head, "input_layernorm.weight", True), Sizes())
    out.put("word_embeddings_layernorm.weight", out.gain(48))
    out.config = {"model_type": "bloom", "hidden_size": 48, "n_head": 6, "n_layer": 2}
    out.code = "I3"
    return out


def falcon_config(s: Sizes, **others: Any) -> dict[str, Any]:
    return {
        "model_type": "falcon",
        "hidden_size": s.d,
        "num_attention_heads": s.heads,
        "num_hidden_layers": 2,
        **others,
    }


def falcon_7b(out: Checkpoint) -> Checkpoint:
    s = Sizes(d=56, heads=7, kv=1)
    add_stack(out, GPT, falcon_names(sections, "input_layernorm.weight"), s)
    out.config = falcon_config(s, multi_query=True, new_decoder_architecture=False, parallel_attn=True)
    out.code = "S3"
    return out


def falcon_7b_aliases(out: Checkpoint) -> Checkpoint:
    """The first release: RefinedWebModel with n_head and n_layer, and no flag for the new architecture."""
    falcon_7b(out)
    out.config = {
        "model_type": "RefinedWebModel",
        "hidden_size": 56,
        "n_head": 7,
        "n_layer": 2,
        "multi_query": True,
        "parallel_attn": True,
    }
    return out


def falcon_40b(out: Checkpoint) -> Checkpoint:
    add_stack(out, GPT, falcon_names(per_group, "ln_attn.weight"), GQA)
    for i in range(2):
        out.put(f"transformer.h.{i}.ln_mlp.weight", out.gain(48))
    out.config = falcon_config(GQA, num_kv_heads=2, new_decoder_architecture=True, multi_query=True)
    out.code = "IG"
    return out


def falcon_11b(out: Checkpoint) -> Checkpoint:
    """The new architecture with one norm for attention and MLP."""
    add_stack(out, GPT, falcon_names(per_group, "input_layernorm.weight"), GQA)
    out.config = falcon_config(GQA, num_kv_heads=2, new_decoder_architecture=True, num_ln_in_parallel_attn=1)
    out.code = "IG"
    return out


def falcon_rw(out: Checkpoint) -> Checkpoint:
    add_stack(out, GPT, falcon_names(per_head, "input_layernorm.weight", True), Sizes())
    out.config = falcon_config(Sizes(), multi_query=False, new_decoder_architecture=False, alibi=True)
    out.code = "I3"
    return out


def mpt(out: Checkpoint, s: Sizes | None = None) -> Checkpoint:
    s = s or Sizes()
    names = Names(fused="attn.Wqkv.weight", output="attn.out_proj.weight", norm="norm_1.weight", norm_kind="layer")
    add_stack(out, "transformer.blocks.{}.", names, s)
    attn: dict[str, Any] = {"attn_type": "multihead_attention", "alibi": True}
    if s.kv != s.heads:
        attn = {"attn_type": "grouped_query_attention", "kv_n_heads": s.kv}
    out.config = {"model_type": "mpt", "d_model": s.d, "n_heads": s.heads, "n_layers": 2, "attn_config": attn}
    out.code = "S3"
    return out


def mpt_gqa(out: Checkpoint) -> Checkpoint:
    return mpt(out, GQA)


BUILDERS = (
    gpt2,
    gpt2_prefixed,
    nanogpt,
    gptj,
    gpt_neo,
    codegen,
    gpt_bigcode,
    gpt_bigcode_mha,
    gpt_neox,
    bloom,
    falcon_7b,
    falcon_7b_aliases,
    falcon_40b,
    falcon_11b,
    falcon_rw,
    mpt,
    mpt_gqa,
)
