"""Peak memory: the largest layer's Q, K, V and O in double plus a constant, however large the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from oracle import command, families, safetensors_file

WIDTH, LAYERS = 2048, 3
MIB = 2**20
CONSTANT = 160 * 10**6


def sparse_shard(path: Path, real: dict[str, np.ndarray[Any, Any]], bulk: dict[str, list[int]]) -> int:
    """A BF16 shard whose bulk tensors are holes in the file."""
    header: dict[str, Any] = {}
    at = 0
    for name, shape in [*((n, list(v.shape)) for n, v in real.items()), *bulk.items()]:
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    with path.open("wb") as file:
        file.write(safetensors_file.frame(json.dumps(header), b""))
        start = file.tell()
        for values in real.values():
            file.write(safetensors_file.encode(values, "BF16"))
        file.truncate(start + at)
    return at


def make(folder: Path) -> int:
    """Two shards of about 1 GB: a few attention layers, and embeddings and MLPs of zeros around them."""
    random = np.random.default_rng(0)
    size, weight_map = 0, {}
    for part in range(2):
        real = {}
        for n in range(LAYERS):
            if n % 2 != part:
                continue
            at = f"model.layers.{n}."
            real[at + "input_layernorm.weight"] = np.ones(WIDTH)
            for x in "qkvo":
                real[f"{at}self_attn.{x}_proj.weight"] = random.normal(size=(WIDTH, WIDTH)) / 45.0
        bulk = {f"model.bulk.{part}.{i}.weight": [20000, WIDTH] for i in range(12)}
        name = f"model-0000{part + 1}-of-00002.safetensors"
        size += sparse_shard(folder / name, real, bulk)
        weight_map.update(dict.fromkeys([*real, *bulk], name))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    s = families.Sizes(d=WIDTH, heads=32, kv=32, k=64)
    (folder / "config.json").write_text(json.dumps(families.llama_config("llama", s, num_hidden_layers=LAYERS)))
    return size


def test_peak_memory(tmp_path: Path) -> None:
    size = make(tmp_path)
    assert size > 2 * 10**9
    code, peak = command.peak_kilobytes("audit", tmp_path, "--json", tmp_path / "out.json")
    assert code == 0
    layer = 4 * WIDTH * WIDTH * 8
    assert peak * 1024 <= layer + CONSTANT, f"{peak * 1024 / MIB:.0f} MiB for a layer of {layer / MIB:.0f} MiB"
    document = json.loads((tmp_path / "out.json").read_text())
    assert [row["status"] for row in document["layers"]] == ["ok"] * LAYERS
