"""A made-up checkpoint, and the blocks that the families are built from.

The truth is kept as [heads, head_dim, width] arrays. Values are rounded to the storage type first, so the truth is
what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import safetensors_file
from ..audit import Array, Layer, Norm


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
        one_per_head = "{head}" in name
        gain = out.gain(n * s.k if names.qk_all_heads or one_per_head else s.k)
        stored = safetensors_file.as_stored(gain - names.norm_offset, out.dtype)
        for h in range(n) if one_per_head else ():
            out.put(at + name.replace("{head}", str(h)), stored[h * s.k : (h + 1) * s.k])
        if not one_per_head:
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


# --- names and settings that several libraries share ------------------------------------------------------------------

HF = "self_attn.{}_proj.weight"
QKVO = "q k v o"
GQA = Sizes(kv=2)
LAYER_NORM: dict[str, Any] = {"norm_kind": "layer", "norm_bias": True}


def llama_config(kind: str, s: Sizes, **others: Any) -> dict[str, Any]:
    return {
        "model_type": kind,
        "hidden_size": s.d,
        "num_attention_heads": s.heads,
        "num_key_value_heads": s.kv,
        "num_hidden_layers": 2,
        **others,
    }
