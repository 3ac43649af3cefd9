"""Small random checkpoints of every family, with the head weights they were made from.

Each builder writes tensors under the names and in the order of the library that publishes the family; the truth is
kept as [heads, head_dim, width] arrays. Values are rounded to the storage type first, so the truth is what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import safetensors_file
from .audit import Array, Layer, Norm


@dataclass(frozen=True)
class Truth:
    """One attention layer: the tensor it is recognised by in the output, and its weights."""

    tensor: str  # full name of the query or the fused matrix
    layer: int
    attention: str
    weights: Layer


@dataclass
class Checkpoint:
    """Tensors, configuration and truth of a made-up model."""

    family: str
    dtype: str = "F32"
    seed: int = 0
    tensors: dict[str, Array] = field(default_factory=dict)
    config: dict[str, Any] | None = field(default_factory=dict)
    truths: list[Truth] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    code: str = "SEP"
    prefix: str = ""

    def __post_init__(self) -> None:
        self.random = np.random.default_rng([self.seed, *self.family.encode()])

    def draw(self, *shape: int) -> Array:
        """Random weights with unequal singular values, as stored."""
        raw = self.random.normal(size=shape) * self.random.uniform(0.3, 1.5, size=shape[-1]) / np.sqrt(shape[-1])
        return safetensors_file.as_stored(raw, self.dtype)

    def gain(self, *shape: int) -> Array:
        return safetensors_file.as_stored(self.random.uniform(0.4, 1.6, size=shape), self.dtype)

    def put(self, name: str, values: Array) -> None:
        self.tensors[self.prefix + name] = values

    def image(self) -> bytes:
        return safetensors_file.image(self.tensors, self.dtype)

    def write(self, folder: Path) -> Path:
        """model.safetensors and config.json in `folder`; the folder is the model."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.safetensors").write_bytes(self.image())
        if self.config is not None:
            (folder / "config.json").write_text(json.dumps(self.config))
        return folder


# --- orders of fused matrices ----------------------------------------------------------------------------------------

Fuse = Callable[[Array, Array, Array], Array]


def rows(heads: Array) -> Array:
    """[n, k, d] -> [n k, d]."""
    return heads.reshape(-1, heads.shape[-1])


def sections(q: Array, k: Array, v: Array) -> Array:
    return np.concatenate([rows(q), rows(k), rows(v)])


def per_head(q: Array, k: Array, v: Array) -> Array:
    return np.concatenate([np.concatenate([q[h], k[h], v[h]]) for h in range(len(q))])


def per_group(q: Array, k: Array, v: Array) -> Array:
    r = len(q) // len(k)
    return np.concatenate([np.concatenate([rows(q[g * r : (g + 1) * r]), k[g], v[g]]) for g in range(len(k))])


def qvk_slabs(q: Array, k: Array, v: Array) -> Array:
    m = len(q) // 4
    cut = [slice(s * m, (s + 1) * m) for s in range(4)]
    return np.concatenate([np.concatenate([rows(q[c]), rows(v[c]), rows(k[c])]) for c in cut])


# --- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Sizes of a layer; `memory` is the width keys and values read where it differs."""

    d: int = 48
    heads: int = 6
    kv: int = 6
    k: int = 8
    memory: int = 0

    @property
    def width_kv(self) -> int:
        return self.memory or self.d


@dataclass(frozen=True)
class Names:
    """Names of one block, after the layer's own prefix."""

    query: str = ""
    key: str = ""
    value: str = ""
    output: str = ""
    fused: str = ""
    fuse: Fuse = sections
    in_out: bool = False
    norm: str = ""  # of a norm in front, with its ending
    norm_kind: str = "rms"
    norm_offset: float = 0.0
    norm_bias: bool = False
    folded: bool = True  # false: the norm is there but does not feed this block
    query_norm: str = ""
    key_norm: str = ""
    qk_all_heads: bool = False
    biases: tuple[str, ...] = ()
    cross: bool = False


def separate(pattern: str, roles: str, **others: Any) -> Names:
    """Names from a pattern with one {} and four words."""
    q, k, v, o = (pattern.format(word) for word in roles.split())
    return Names(q, k, v, o, **others)


def add_norm(out: Checkpoint, name: str, d: int, style: Names) -> Norm:
    gain = out.gain(d)
    stored = safetensors_file.as_stored(gain - style.norm_offset, out.dtype)
    out.put(name, stored)
    if style.norm_bias:
        out.put(name.replace(".weight", ".bias"), out.draw(d))
    return Norm(style.norm_kind, stored + style.norm_offset)


def add_block(out: Checkpoint, at: str, names: Names, s: Sizes, memory: Norm | None = None) -> Layer:
    """One attention block with tensors under `at`, where the first number is the layer's; 0 where there is none."""
    q, k = out.draw(s.heads, s.k, s.d), out.draw(s.kv, s.k, s.width_kv)
    v, o = out.draw(s.kv, s.k, s.width_kv), out.draw(s.heads, s.k, s.d)
    flip: Callable[[Array], Array] = (lambda m: m.T) if names.in_out else (lambda m: m)
    if names.fused:
        out.put(at + names.fused, flip(names.fuse(q, k, v)))
    else:
        for name, part in ((names.query, q), (names.key, k), (names.value, v)):
            out.put(at + name, flip(rows(part)))
    out.put(at + names.output, flip(rows(o).T))
    for name in names.biases:
        source = name.replace("bias", "weight")
        height = out.tensors[out.prefix + at + source].shape[1 if names.in_out else 0]
        out.put(at + name, out.draw(height))
    gains: list[Array | None] = []
    for name, n in ((names.query_norm, s.heads), (names.key_norm, s.kv)):
        if not name:
            gains.append(None)
            continue
        gain = out.gain(n * s.k if names.qk_all_heads else s.k)
        stored = safetensors_file.as_stored(gain - names.norm_offset, out.dtype)
        out.put(at + name, stored)
        gains.append(np.resize(stored + names.norm_offset, (n, s.k)))
    norm = None
    if names.norm:
        norm = add_norm(out, at + names.norm, s.d, names)
    weights = Layer(
        q,
        k,
        v,
        o,
        gains[0],
        gains[1],
        safetensors_file.ROUNDOFF[out.dtype],
        norm if names.folded else None,
        memory,
        names.cross,
    )
    layer = int(next((word for word in at.split(".") if word.isdigit()), 0))
    attention = "cross" if names.cross else "self"
    out.truths.append(Truth(out.prefix + at + (names.fused or names.query), layer, attention, weights))
    return weights


def add_stack(out: Checkpoint, pattern: str, names: Names, s: Sizes, n: int = 2) -> None:
    """`n` layers of one kind; `pattern` holds {} for the number."""
    for i in range(n):
        add_block(out, pattern.format(i), names, s)
        out.put(pattern.format(i) + "mlp.up_proj.weight", out.draw(4, s.d))


# --- families --------------------------------------------------------------------------------------------------------

LLAMA = "model.layers.{}."
HF = "self_attn.{}_proj.weight"
QKVO = "q k v o"
GPT = "transformer.h.{}."
MASKS = ("attn.bias", "attn.masked_bias")


def llama_config(kind: str, s: Sizes, **others: Any) -> dict[str, Any]:
    return {
        "model_type": kind,
        "hidden_size": s.d,
        "num_attention_heads": s.heads,
        "num_key_value_heads": s.kv,
        "num_hidden_layers": 2,
        **others,
    }


def llama_like(out: Checkpoint, kind: str, s: Sizes, names: Names, pattern: str = LLAMA, **config: Any) -> Checkpoint:
    add_stack(out, pattern, names, s)
    out.put("model.embed_tokens.weight", out.draw(11, s.d))
    out.config = llama_config(kind, s, **config)
    return out


RMS_LLAMA = separate(HF, QKVO, norm="input_layernorm.weight")
GQA = Sizes(kv=2)
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


LAYER_NORM: dict[str, Any] = {"norm_kind": "layer", "norm_bias": True}
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


def opt_names(**others: Any) -> Names:
    biases = tuple(f"self_attn.{x}_proj.bias" for x in ("q", "k", "v", "out"))
    defaults: dict[str, Any] = {"norm": "self_attn_layer_norm.weight", "biases": biases, **LAYER_NORM}
    return separate(HF, "q k v out", **{**defaults, **others})


def opt(out: Checkpoint) -> Checkpoint:
    add_stack(out, "model.decoder.layers.{}.", opt_names(), Sizes())
    out.config = {**llama_config("opt", Sizes()), "do_layer_norm_before": True}
    del out.config["num_key_value_heads"]
    return out


def opt_post_norm(out: Checkpoint) -> Checkpoint:
    """OPT-350m: the same names, but the norm follows the block."""
    add_stack(out, "model.decoder.layers.{}.", opt_names(folded=False), Sizes())
    out.config = {**llama_config("opt", Sizes()), "do_layer_norm_before": False}
    return out


def cross(names: Names) -> Names:
    def renamed(text: str) -> str:
        return text.replace("self_attn", "encoder_attn")

    return Names(
        renamed(names.query),
        renamed(names.key),
        renamed(names.value),
        renamed(names.output),
        norm=renamed(names.norm),
        norm_kind=names.norm_kind,
        norm_bias=names.norm_bias,
        folded=names.folded,
        biases=tuple(renamed(x) for x in names.biases),
        cross=True,
    )


def add_encoder_decoder(out: Checkpoint, names: Names, encoder: Sizes, decoder: Sizes, memory_norm: str) -> None:
    memory = add_norm(out, memory_norm, encoder.d, names) if memory_norm else None
    for i in range(2):
        add_block(out, f"model.encoder.layers.{i}.", names, encoder)
        add_block(out, f"model.decoder.layers.{i}.", names, decoder)
        add_block(out, f"model.decoder.layers.{i}.", cross(names), decoder, memory)


def seq2seq_config(kind: str, encoder_heads: int, decoder_heads: int) -> dict[str, Any]:
    return {
        "model_type": kind,
        "d_model": 48,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": encoder_heads,
        "decoder_attention_heads": decoder_heads,
    }


def bart(out: Checkpoint) -> Checkpoint:
    """Norms after the blocks; a different number of heads in each stack."""
    decoder = Sizes(heads=4, kv=4, k=12)
    add_encoder_decoder(out, opt_names(folded=False), Sizes(), decoder, "")
    out.config = seq2seq_config("bart", 6, 4)
    return out


def whisper(out: Checkpoint) -> Checkpoint:
    """Norms in front, no key bias; cross-attention reads what the encoder's last norm gives."""
    biases = tuple(f"self_attn.{x}_proj.bias" for x in ("q", "v", "out"))
    add_encoder_decoder(out, opt_names(biases=biases), Sizes(), Sizes(), "model.encoder.layer_norm.weight")
    out.config = seq2seq_config("whisper", 6, 6)
    return out


def clip(out: Checkpoint) -> Checkpoint:
    """Two towers of different widths."""
    text, vision = Sizes(d=32, heads=4, kv=4, k=8), Sizes(d=48, heads=6, kv=6, k=8)
    add_stack(out, "text_model.encoder.layers.{}.", opt_names(norm="layer_norm1.weight"), text)
    add_stack(out, "vision_model.encoder.layers.{}.", opt_names(norm="layer_norm1.weight"), vision)
    out.config = {
        "model_type": "clip",
        "text_config": {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2},
        "vision_config": {"hidden_size": 48, "num_attention_heads": 6, "num_hidden_layers": 2},
    }
    return out


BERT = "attention.self.{}.weight"


def bert_names() -> Names:
    biases = tuple(f"attention.self.{x}.bias" for x in ("query", "key", "value"))
    names = separate(BERT, "query key value o", biases=biases)
    return Names(names.query, names.key, names.value, "attention.output.dense.weight", biases=biases)


def bert(out: Checkpoint, kind: str = "bert") -> Checkpoint:
    out.prefix = kind + "."
    add_stack(out, "encoder.layer.{}.", bert_names(), Sizes())
    for i in range(2):
        out.put(f"encoder.layer.{i}.attention.output.LayerNorm.weight", out.gain(48))
        out.put(f"encoder.layer.{i}.output.dense.weight", out.draw(48, 12))
    out.config = llama_config(kind, Sizes())
    del out.config["num_key_value_heads"]
    return out


def bert_bare(out: Checkpoint) -> Checkpoint:
    bert(out)
    out.tensors = {name.removeprefix("bert."): value for name, value in out.tensors.items()}
    out.truths = [Truth(t.tensor.removeprefix("bert."), t.layer, t.attention, t.weights) for t in out.truths]
    return out


def roberta(out: Checkpoint) -> Checkpoint:
    return bert(out, "roberta")


def electra(out: Checkpoint) -> Checkpoint:
    return bert(out, "electra")


def distilbert(out: Checkpoint) -> Checkpoint:
    out.prefix = "distilbert."
    add_stack(out, "transformer.layer.{}.", separate("attention.{}_lin.weight", "q k v out"), Sizes())
    for i in range(2):
        out.put(f"transformer.layer.{i}.sa_layer_norm.weight", out.gain(48))
    out.config = {"model_type": "distilbert", "dim": 48, "n_heads": 6, "n_layers": 2}
    return out


def albert(out: Checkpoint) -> Checkpoint:
    """One stored block for all layers."""
    at = "albert.encoder.albert_layer_groups.0.albert_layers.0."
    add_block(out, at, separate("attention.{}.weight", "query key value dense"), Sizes())
    out.config = {**llama_config("albert", Sizes()), "num_hidden_layers": 12, "num_hidden_groups": 1}
    del out.config["num_key_value_heads"]
    return out


def modernbert(out: Checkpoint) -> Checkpoint:
    """No norm in front of layer 0."""
    names = Names(fused="attn.Wqkv.weight", output="attn.Wo.weight")
    normed = Names(fused="attn.Wqkv.weight", output="attn.Wo.weight", norm="attn_norm.weight", norm_kind="layer")
    for i in range(3):
        add_block(out, f"model.layers.{i}.", normed if i else names, Sizes())
    out.config, out.code = {**llama_config("modernbert", Sizes()), "num_hidden_layers": 3}, "S3"
    del out.config["num_key_value_heads"]
    return out


def vit_timm(out: Checkpoint) -> Checkpoint:
    """timm states no head count; it comes from a flag."""
    names = Names(
        fused="attn.qkv.weight",
        output="attn.proj.weight",
        norm="norm1.weight",
        biases=("attn.qkv.bias", "attn.proj.bias"),
        **LAYER_NORM,
    )
    add_stack(out, "blocks.{}.", names, Sizes())
    out.config, out.flags, out.code = None, ["--heads", "6"], "S3"
    return out


def vit_hf(out: Checkpoint) -> Checkpoint:
    out.prefix = "vit."
    names = Names(
        "attention.attention.query.weight",
        "attention.attention.key.weight",
        "attention.attention.value.weight",
        "attention.output.dense.weight",
        norm="layernorm_before.weight",
        **LAYER_NORM,
    )
    add_stack(out, "encoder.layer.{}.", names, Sizes())
    out.config = {**llama_config("vit", Sizes()), "image_size": 32}
    del out.config["num_key_value_heads"]
    return out


def torch_encoder(out: Checkpoint) -> Checkpoint:
    """torch.nn.TransformerEncoder: whether its norms come first is not in the file, so they are left alone."""
    names = Names(fused="self_attn.in_proj_weight", output="self_attn.out_proj.weight")
    add_stack(out, "layers.{}.", names, Sizes())
    for i in range(2):
        out.put(f"layers.{i}.self_attn.in_proj_bias", out.draw(144))
        out.put(f"layers.{i}.norm1.weight", out.gain(48))
    out.config, out.flags, out.code = None, ["--heads", "6"], "S3"
    return out


def torch_unequal(out: Checkpoint) -> Checkpoint:
    """torch.nn.MultiheadAttention with kdim: separate matrices, keys and values of another width."""
    names = Names("q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight", cross=True)
    add_block(out, "attn.", names, Sizes(memory=20))
    out.put("attn.in_proj_bias", out.draw(144))
    out.config, out.flags = None, ["--heads", "6"]
    return out


def t5(out: Checkpoint) -> Checkpoint:
    """Three kinds of attention; heads * d_kv is not d_model."""
    s = Sizes(d=40, heads=6, kv=6, k=8)
    own = separate("layer.0.SelfAttention.{}.weight", QKVO, norm="layer.0.layer_norm.weight")
    other = separate("layer.1.EncDecAttention.{}.weight", QKVO, norm="layer.1.layer_norm.weight", cross=True)
    memory = add_norm(out, "encoder.final_layer_norm.weight", s.d, own)
    for i in range(2):
        add_block(out, f"encoder.block.{i}.", own, s)
        add_block(out, f"decoder.block.{i}.", own, s)
        add_block(out, f"decoder.block.{i}.", other, s, memory)
    out.config = {
        "model_type": "t5",
        "d_model": 40,
        "num_heads": 6,
        "d_kv": 8,
        "num_layers": 2,
        "num_decoder_layers": 2,
    }
    return out


BUILDERS: dict[str, Callable[[Checkpoint], Checkpoint]] = {
    build.__name__: build
    for build in (
        llama, llama_mha, mistral, mistral_default_kv, mixtral, qwen2, qwen3, gemma, gemma2, gemma3, gemma3_nested,
        gemma3_defaults, olmo2, phi3, stablelm, gpt_oss, internlm2, gpt2, gpt2_prefixed, nanogpt, gptj, gpt_neo,
        codegen, gpt_bigcode, gpt_bigcode_mha, gpt_neox, bloom, falcon_7b, falcon_7b_aliases, falcon_40b, falcon_11b,
        falcon_rw, mpt, mpt_gqa, opt, opt_post_norm, bart, whisper, clip, bert, bert_bare, roberta, electra,
        distilbert, albert, modernbert, vit_timm, vit_hf, torch_encoder, torch_unequal, t5,
    )
}  # fmt: skip


def make(family: str, dtype: str = "F32", seed: int = 0) -> Checkpoint:
    return BUILDERS[family](Checkpoint(family, dtype, seed))
