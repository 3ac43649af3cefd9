#!/usr/bin/env python3
"""How often the role-consistency score names the right order of a fused matrix, and how often a wrong one.

Real attention layers with separate (or fused, sectioned) matrices are fused in every order that is a candidate for
their head counts, and the order is asked back; on whole layers and on random subsets of their heads. Controls, where
naming any order with confidence is a false answer: keys and values exchanged, blocks shuffled, random weights.

    python3 bench/role_hit_rate.py MODEL... [--subsets N] [--shuffles N] [--random N] [--seed N]

MODEL is a .safetensors file, a PyTorch file, or a folder holding model.safetensors; head counts come from config.json or
STEM.config.json beside it, or --heads and --kv-heads. The score is computed here in numpy and scipy, independently of
headspan::subspace::score_block_roles and after the same formulas.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import betainc, gammaln

Array = np.ndarray
Order = tuple[Array, Array, Array]  # block numbers of queries, keys, values

CONFIDENCE = 0.999
ENERGY_FLOOR = 1e-3
NO_VARIATION = 1e-12
EXCHANGED_PRIOR = 1e-3


# ---------------------------------------------------------------- orders


def candidates(n_heads: int, n_kv_heads: int) -> dict[str, Order]:
    """Candidate orders by code, no two alike."""
    group = n_heads // n_kv_heads
    h, g = n_heads, n_kv_heads
    orders = {"S3": (np.arange(h), np.arange(h, h + g), np.arange(h + g, h + 2 * g))}
    starts = np.arange(g) * (group + 2)
    queries = (starts[:, None] + np.arange(group)).ravel()
    orders["I3" if g == h else "IG"] = (queries, starts + group, starts + group + 1)
    if g == h and h % 4 == 0:
        slab = np.arange(h // 4)
        first = np.arange(4)[:, None] * 3 * (h // 4)
        q, v, k = ((first + i * (h // 4) + slab).ravel() for i in range(3))
        orders["QVK4"] = (q, k, v)
    if all(np.array_equal(a, b) for a, b in zip(*list(orders.values())[:2], strict=True)):
        orders.popitem()
    return orders


def exchanged(order: Order) -> Order:
    return order[0], order[2], order[1]


# ---------------------------------------------------------------- the score


def unit_rows(x: Array) -> Array:
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    out: Array = np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)
    return out


def profile(energies: Array) -> Array:
    """Logarithmic energies of each row, centred, length 1; zero for a dead block."""
    mean = energies.mean(axis=1, keepdims=True)
    share = np.divide(energies, mean, out=np.ones_like(energies), where=mean > 0)
    logs = np.log(share + ENERGY_FLOOR)
    logs[(mean <= 0)[:, 0]] = 0
    return unit_rows(logs - logs.mean(axis=1, keepdims=True))


@dataclass
class Features:
    gram: Array
    rows: Array
    columns: Array
    norms: Array


def features(matrix: Array, head_dim: int) -> Features:
    blocks = matrix.reshape(len(matrix) // head_dim, head_dim, -1)
    gram = blocks @ blocks.transpose(0, 2, 1)
    energy = np.trace(gram, axis1=1, axis2=2)
    rows = np.einsum("nii->ni", gram)
    logs = np.log(np.where(energy > 0, energy, 1.0))
    if (energy > 0).any():
        logs[energy <= 0] = logs[energy > 0].mean()
    traceless = gram - (energy / head_dim)[:, None, None] * np.eye(head_dim)
    return Features(unit_rows(traceless.reshape(len(gram), -1)), profile(rows), profile((blocks**2).sum(1)), logs)


def centred(m: Array) -> Array:
    out: Array = m - m.mean(0) - m.mean(1, keepdims=True) + m.mean()
    return out


def pairing_z(correlations: Array) -> float:
    d = centred(correlations)
    square = float((d**2).sum())
    if square <= NO_VARIATION:
        return 0.0
    return abs(float(np.trace(d))) / math.sqrt(square / (len(d) - 1))


def pairing_evidence(z: list[float], n_groups: int) -> float:
    p = max(math.erfc(max(z) / math.sqrt(2)), 1e-300)
    return min(max(-math.log(p) - math.log(len(z)), 0.0), math.lgamma(n_groups + 1))


def mean_kernel(kernels: list[Array]) -> Array | None:
    parts = [centred(k) for k in kernels]
    parts = [k / np.trace(k) for k in parts if np.trace(k) > NO_VARIATION]
    return np.mean(parts, axis=0) if parts else None


def share_evidence(kernel: Array | None, order: Order) -> float:
    """-ln p of the between-role share of a kernel's sum of squares under permutation of the blocks."""
    if kernel is None:
        return 0.0
    n = len(kernel)
    projection = np.full((n, n), -1.0 / n)
    for role in order:
        projection[np.ix_(role, role)] += 1.0 / len(role)

    def spread(m: Array) -> float:
        return float((n - 1) * (m**2).sum() - np.trace(m) ** 2)

    def diagonal(m: Array) -> float:
        return float(n * (n + 1) * (np.diag(m) ** 2).sum() - (n - 1) * (np.trace(m) ** 2 + 2 * (m**2).sum()))

    variance = 2 * spread(kernel) * spread(projection) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += diagonal(kernel) * diagonal(projection) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    mean = np.trace(projection) / (n - 1)
    if variance <= NO_VARIATION:
        return 0.0
    total = mean * (1 - mean) / variance - 1
    if total <= 0:
        return 0.0
    share = min(max(float((kernel * projection).sum()), 0.0), 1.0)
    # the upper tail as the lower one of the mirrored law, which keeps its digits
    p = betainc((1 - mean) * total, mean * total, 1 - share)
    return -math.log(max(float(p), 1e-300))


def order_evidence(blocks: Features, heads: Features | None, order: Order) -> float:
    q, k, v = order
    g = len(k)

    def sums(x: Array) -> Array:
        return unit_rows(x.reshape(g, len(q) // g, -1).sum(1))

    parts = [pairing_evidence([pairing_z(sums(f[q]) @ f[k].T) for f in (blocks.gram, blocks.rows)], g)]
    if heads is not None:
        pairs = ((heads.gram, blocks.gram), (heads.rows, blocks.rows))
        parts.append(pairing_evidence([pairing_z(sums(o) @ f[v].T) for o, f in pairs], g))
    norms = blocks.norms[:, None]
    kernels = [[blocks.columns @ blocks.columns.T, norms @ norms.T], [blocks.rows @ blocks.rows.T]]
    roles = max(share_evidence(mean_kernel(pair), order) for pair in kernels)
    assignments = gammaln(len(q) + 2 * g + 1) - gammaln(len(q) + 1) - 2 * gammaln(g + 1)
    parts.append(min(max(roles - math.log(len(kernels)), 0.0), float(assignments)))
    total = sum(parts)
    return total - math.log(sum(total**i / math.factorial(i) for i in range(len(parts))))


def score(
    fused: Array, output: Array | None, n_heads: int, n_kv_heads: int, head_dim: int
) -> tuple[dict[str, float], str, float]:
    """Evidence (-log10 p) of each candidate, the best code, and its confidence."""
    orders = candidates(n_heads, n_kv_heads)
    if len(orders) < 2:
        return {}, "", 0.0
    blocks = features(fused, head_dim)
    heads = None if output is None else features(output, head_dim)
    stated = {code: order_evidence(blocks, heads, order) for code, order in orders.items()}
    best = max(stated, key=lambda code: stated[code])
    doubt = len(orders) * math.exp(-stated[best])
    doubt += sum(math.exp(e - stated[best]) for e in stated.values())
    for order in orders.values():
        doubt += EXCHANGED_PRIOR * math.exp(order_evidence(blocks, heads, exchanged(order)) - stated[best])
    return {code: e / math.log(10) for code, e in stated.items()}, best, 1.0 / doubt


# ---------------------------------------------------------------- layers


@dataclass
class Layer:
    """Query, key, value and transposed output projections; heads are blocks of head_dim rows."""

    query: Array
    key: Array
    value: Array
    output: Array
    n_heads: int
    n_kv_heads: int

    @property
    def head_dim(self) -> int:
        return len(self.key) // self.n_kv_heads

    def subset(self, groups: Array) -> Layer:
        def take(matrix: Array, n: int) -> Array:
            out: Array = matrix.reshape(self.n_kv_heads, n * self.head_dim, -1)[groups].reshape(-1, matrix.shape[1])
            return out

        r = self.n_heads // self.n_kv_heads
        parts = take(self.query, r), take(self.key, 1), take(self.value, 1), take(self.output, r)
        return Layer(*parts, len(groups) * r, len(groups))

    def fuse(self, order: Order) -> Array:
        d = self.head_dim
        width = self.query.shape[1]
        out = np.empty((self.n_heads + 2 * self.n_kv_heads, d, width))
        for blocks, matrix in zip(order, (self.query, self.key, self.value), strict=True):
            out[blocks] = matrix.reshape(-1, d, width)
        return out.reshape(-1, width)


# Names of one layer's four matrices, after any prefix.
SEPARATE = (
    ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    ("attention.query", "attention.key", "attention.value", "attention.dense"),
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"),
    ("SelfAttention.q", "SelfAttention.k", "SelfAttention.v", "SelfAttention.o"),
    ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"),
)
SECTIONED = (("attn.c_attn", "attn.c_proj"), ("attn.qkv", "attn.proj"), ("attn.Wqkv", "attn.Wo"))


def read_tensors(path: Path) -> dict[str, Array]:
    if path.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name).double().numpy() for name in file.keys()}  # noqa: SIM118 (not a dict)
    import torch

    state = torch.load(path, map_location="cpu")
    state = state.get("model", state)
    return {name: t.double().numpy() for name, t in state.items() if torch.is_tensor(t)}


def head_counts(path: Path, arguments: argparse.Namespace) -> tuple[int, int]:
    if arguments.heads:
        return arguments.heads, arguments.kv_heads or arguments.heads
    for file in (path.with_suffix("").with_suffix(".config.json"), path.parent / "config.json"):
        if file.is_file():
            config = json.loads(file.read_text())
            heads = next((config[key] for key in ("num_attention_heads", "n_head", "num_heads") if config.get(key)), 0)
            return heads, config.get("num_key_value_heads") or heads
    return 0, 0


def per_head_layer(tensors: dict[str, Array], prefix: str) -> Layer:
    """Matrices stored [head, width, head_dim] for x W, and [head, head_dim, width] for the output."""
    q, k, v = (
        np.concatenate(list(tensors[prefix + name].transpose(0, 2, 1))) for name in ("W_query", "W_key", "W_val")
    )
    n = len(tensors[prefix + "W_query"])
    return Layer(q, k, v, np.concatenate(list(tensors[prefix + "W_out"])), n, n)


def layers(path: Path, arguments: argparse.Namespace) -> Iterator[Layer]:
    tensors = read_tensors(path)
    n_heads, n_kv_heads = head_counts(path, arguments)
    for name in tensors:
        if name.endswith(".W_query"):
            yield per_head_layer(tensors, name.removesuffix("W_query"))
        for query, *others in SEPARATE if n_heads else ():
            prefix = name.removesuffix(query + ".weight")
            if prefix == name or any(f"{prefix}{other}.weight" not in tensors for other in others):
                continue
            q, k, v, o = (tensors[f"{prefix}{part}.weight"] for part in (query, *others))
            yield Layer(q, k, v, o.T, n_heads, n_kv_heads)
        for fused, output in SECTIONED if n_heads else ():
            prefix = name.removesuffix(fused + ".weight")
            if prefix == name or f"{prefix}{output}.weight" not in tensors:
                continue
            weight, out = tensors[name], tensors[f"{prefix}{output}.weight"]
            if weight.shape[0] < weight.shape[1]:  # stored [in, out]
                weight, out = weight.T, out.T
            d = len(weight) // (n_heads + 2 * n_kv_heads)
            q, k, v = np.split(weight, [n_heads * d, (n_heads + n_kv_heads) * d])
            yield Layer(q, k, v, out.T, n_heads, n_kv_heads)


# ---------------------------------------------------------------- the experiment


@dataclass
class Tally:
    right: int = 0
    undecided: int = 0
    false: int = 0
    best_right: int = 0
    most_confident_false: float = 0.0

    def add(self, layer: Layer, fused: Array, output: Array | None, truth: str) -> None:
        _, best, confidence = score(fused, output, layer.n_heads, layer.n_kv_heads, layer.head_dim)
        decided = confidence >= CONFIDENCE
        self.right += decided and best == truth
        self.false += decided and best != truth
        self.undecided += not decided
        self.best_right += best == truth
        if best != truth:
            self.most_confident_false = max(self.most_confident_false, confidence)

    def line(self, name: str) -> str:
        n = self.right + self.undecided + self.false
        return (
            f"{name:58s} n {n:6d}  right {self.right / n:7.2%}  cannot tell {self.undecided / n:7.2%}"
            f"  false {self.false:3d}  best is right {self.best_right / n:7.2%}"
            f"  highest false confidence {self.most_confident_false:.5f}"
        )


def groups_class(n: int) -> str:
    return "2-3" if n < 4 else "4-5" if n < 6 else "6+"


def measure(
    name: str,
    layer: Layer,
    whole: bool,
    tallies: Callable[[str], Tally],
    shuffles: int,
    rng: np.random.Generator,
) -> None:
    label = f"{name}, whole layers" if whole else f"{name}, {groups_class(layer.n_kv_heads)} key heads of a layer"
    orders = candidates(layer.n_heads, layer.n_kv_heads)
    if len(orders) < 2:
        return
    for code, order in orders.items():
        fused = layer.fuse(order)
        tallies(f"true order: {label}").add(layer, fused, layer.output, code)
        tallies(f"true order, no output: {label}").add(layer, fused, None, code)
        tallies(f"control, K and V exchanged: {name}").add(layer, layer.fuse(exchanged(order)), layer.output, "")
    blocks = layer.fuse(orders["S3"]).reshape(layer.n_heads + 2 * layer.n_kv_heads, layer.head_dim, -1)
    for _ in range(shuffles):
        shuffled = blocks[rng.permutation(len(blocks))].reshape(-1, blocks.shape[2])
        tallies(f"control, blocks shuffled: {name}").add(layer, shuffled, layer.output, "")


def random_layer(rng: np.random.Generator, uneven: bool) -> Layer:
    g = int(rng.choice([2, 3, 4, 6, 8, 12, 16]))
    h = g * int(rng.choice([1, 1, 2, 4]))
    d, width = int(rng.choice([4, 8, 16, 32])), int(rng.choice([16, 64, 128]))

    def normal(n: int) -> Array:
        scale = rng.uniform(0.5, 2.0, n).repeat(d)[:, None] if uneven else 1.0
        return scale * rng.standard_normal((n * d, width))

    return Layer(normal(h), normal(g), normal(g), normal(h), h, g)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--heads", type=int)
    parser.add_argument("--kv-heads", type=int)
    parser.add_argument("--subsets", type=int, default=40, help="random subsets of heads per layer")
    parser.add_argument("--shuffles", type=int, default=12, help="shuffled copies per layer and subset")
    parser.add_argument("--random", type=int, default=2000, help="layers of random weights")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    tallies: dict[str, Tally] = {}

    def tally(name: str) -> Tally:
        return tallies.setdefault(name, Tally())

    for model in arguments.models:
        path = model / "model.safetensors" if model.is_dir() else model
        name = re.sub(r"\W+", "_", path.parent.name if path.stem == "model" else path.stem)
        found = list(layers(path, arguments))
        if not found:
            print(f"{path}: no attention layer under a known name, or no head counts", file=sys.stderr)
            return 3
        for layer in found:
            measure(name, layer, True, tally, arguments.shuffles, rng)
            for _ in range(arguments.subsets):
                n = int(rng.integers(2, layer.n_kv_heads)) if layer.n_kv_heads > 2 else 2
                groups = rng.permutation(layer.n_kv_heads)[:n]
                measure(name, layer.subset(groups), False, tally, arguments.shuffles, rng)
    for i in range(arguments.random):
        layer = random_layer(rng, i % 2 == 1)
        fused = layer.fuse(candidates(layer.n_heads, layer.n_kv_heads)["S3"])
        tally("control, random weights").add(layer, fused, layer.output, "")
    for name in sorted(tallies, key=lambda n: (n.startswith("control"), n)):
        print(tallies[name].line(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
