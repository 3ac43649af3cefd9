"""The real checkpoints as head weights, split by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import safetensors_file
from .audit import Array, Layer, Norm
from .families import Truth


def split(weight: Array, heads: int) -> Array:
    return weight.reshape(heads, -1, weight.shape[1])


def stories(folder: Path) -> list[Truth]:
    """stories260K: five Llama layers, 8 query heads over 4 key/value heads of dimension 8."""
    tensors = {name: values for name, (values, _) in safetensors_file.read(folder / "stories260K.safetensors").items()}
    out = []
    for n in range(5):
        at = f"model.layers.{n}."
        q, k, v, o = (tensors[f"{at}self_attn.{x}_proj.weight"] for x in "qkvo")
        norm = Norm("rms", tensors[at + "input_layernorm.weight"])
        layer = Layer(split(q, 8), split(k, 4), split(v, 4), split(o.T, 8), norm=norm)
        out.append(Truth(at + "self_attn.q_proj.weight", n, "self", layer))
    return out


def chronos(folder: Path) -> list[Truth]:
    """A T5: 4 encoder and 4 decoder layers, 4 heads of dimension 4 over a width of 8."""
    tensors = {
        name: values
        for name, (values, _) in safetensors_file.read(folder / "chronos_bolt_dummy_t5.safetensors").items()
    }
    memory = Norm("rms", tensors["encoder.final_layer_norm.weight"])
    out = []
    for at, attention in (
        ("encoder.block.{}.layer.0.", "SelfAttention"),
        ("decoder.block.{}.layer.0.", "SelfAttention"),
        ("decoder.block.{}.layer.1.", "EncDecAttention"),
    ):
        for n in range(4):
            place = at.format(n)
            q, k, v, o = (tensors[f"{place}{attention}.{x}.weight"] for x in "qkvo")
            norm = Norm("rms", tensors[place + "layer_norm.weight"])
            cross = attention == "EncDecAttention"
            layer = Layer(
                split(q, 4),
                split(k, 4),
                split(v, 4),
                split(o.T, 4),
                norm=norm,
                memory_norm=memory if cross else None,
                cross=cross,
            )
            out.append(Truth(f"{place}{attention}.q.weight", n, "cross" if cross else "self", layer))
    return out


def char_gpt(folder: Path) -> list[Truth]:
    """The example of this repository: a nanoGPT of five layers, 8 heads of dimension 18."""
    tensors = safetensors_file.read(folder / "model.safetensors")
    out = []
    for n in range(5):
        at = f"transformer.h.{n}."
        fused, dtype = tensors[at + "attn.c_attn.weight"]
        q, k, v = (split(part, 8) for part in np.split(fused, 3))
        o = split(tensors[at + "attn.c_proj.weight"][0].T, 8)
        norm = Norm("layer", tensors[at + "ln_1.weight"][0])
        layer = Layer(q, k, v, o, roundoff=safetensors_file.ROUNDOFF[dtype], norm=norm)
        out.append(Truth(at + "attn.c_attn.weight", n, "self", layer))
    return out
