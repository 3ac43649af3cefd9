"""The numbers of an audit from the formulas of docs/theory.md, in numpy and scipy, sharing nothing with the product.

Projections are arrays [heads, head_dim, width]; the output projection is held transposed, so that in all four a head
is a block of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.special

Array = npt.NDArray[np.float64]

SUBSPACES = ("query_subspace", "key_subspace", "value_subspace", "output_subspace")
ENERGIES = ("query_energy", "key_energy", "value_energy", "output_energy")
SOURCES = (*SUBSPACES, *ENERGIES, "score", "head", "kernel")


@dataclass(frozen=True)
class Norm:
    """A norm in front of the projections: `kind` is "rms" or "layer", `gain` the effective factor per input."""

    kind: str
    gain: Array


@dataclass(frozen=True)
class Layer:
    """The weights of one attention layer."""

    query: Array
    key: Array
    value: Array
    output: Array
    query_gain: Array | None = None  # [H, k], inside the heads
    key_gain: Array | None = None  # [G, k]
    roundoff: float = 2.0**-24
    norm: Norm | None = None  # read by Q, and by K and V unless `memory_norm` or `cross` is set
    memory_norm: Norm | None = None
    cross: bool = False

    @property
    def group(self) -> int:
        return int(self.query.shape[0] // self.key.shape[0])


@dataclass(frozen=True)
class SourceValues:
    """What one source says of one layer."""

    matrix: Array
    hdi: float | None
    baseline: float | None
    baseline_sd: float | None
    bound: float | None
    n_eff_1: float
    n_eff_2: float
    n_eff_inf: float

    @property
    def headroom(self) -> float | None:
        return None if self.bound is None or self.hdi is None else self.bound - self.hdi


# --- folding -------------------------------------------------------------------------------------------------------


def apply_norm(weight: Array, norm: Norm | None) -> Array:
    """W diag(gain), and for a LayerNorm the mean direction taken out: W diag(gain) (I - 11^T/d)."""
    if norm is None:
        return weight
    scaled: Array = weight * norm.gain
    if norm.kind != "layer":
        return scaled
    centred: Array = scaled - scaled.mean(axis=-1, keepdims=True)
    return centred


def fold(layer: Layer) -> Layer:
    """The layer with its input norms folded into Q, K and V."""
    memory = layer.memory_norm if layer.cross else layer.norm
    return replace(
        layer,
        query=apply_norm(layer.query, layer.norm),
        key=apply_norm(layer.key, memory),
        value=apply_norm(layer.value, memory),
        norm=None,
        memory_norm=None,
    )


# --- subspaces -----------------------------------------------------------------------------------------------------


def rank_tolerance(head: Array, roundoff: float) -> float:
    """u |W|_F (sqrt k + sqrt d) / sqrt(3 k d): what rounding to the storage type puts on a singular value."""
    k, d = head.shape
    return float(roundoff * np.linalg.norm(head) * (np.sqrt(k) + np.sqrt(d)) / np.sqrt(3.0 * k * d))


def rank(head: Array, roundoff: float) -> int:
    values = np.linalg.svd(head, compute_uv=False)
    noise = values[0] * 2.0**-52 * max(head.shape) if len(values) else 0.0  # of this computation itself
    return int(np.sum(values > max(rank_tolerance(head, roundoff), noise)))


def frame(head: Array, roundoff: float) -> Array:
    """Orthonormal rows spanning the row space of a head."""
    rows: Array = np.linalg.svd(head, full_matrices=False)[2][: rank(head, roundoff)]
    return rows


def frames(heads: Array, roundoff: float) -> list[Array]:
    return [frame(head, roundoff) for head in heads]


def root(covariance: Array) -> Array:
    """Symmetric square root of a covariance."""
    values, vectors = np.linalg.eigh(covariance)
    out: Array = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    return out


def principal_angles(u: Array, v: Array) -> Array:
    """Angles between the spans of orthonormal rows, largest first: from sines where cos^2 > 1/2."""
    if len(u) < len(v):
        u, v = v, u
    cosines = np.linalg.svd(u @ v.T, compute_uv=False)[: len(v)]
    sines = np.sort(np.linalg.svd(v - (v @ u.T) @ u, compute_uv=False))[: len(v)]
    angles = np.where(cosines**2 > 0.5, np.arcsin(np.clip(sines, 0, 1)), np.arccos(np.clip(cosines, 0, 1)))
    return np.sort(angles)[::-1]


def scipy_angles(a: Array, b: Array) -> Array:
    """The same angles by scipy, from weights of full rank."""
    return np.asarray(scipy.linalg.subspace_angles(a.T, b.T), dtype=np.float64)


def pairwise(n: int, value: Callable[[int, int], float]) -> Array:
    out = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            out[a, b] = value(a, b)
    return out


def subspace_matrix(bases: list[Array]) -> Array:
    """|U_h U_l^T|_F^2 / sqrt(k_h k_l)."""
    return pairwise(
        len(bases), lambda a, b: float(np.sum((bases[a] @ bases[b].T) ** 2) / np.sqrt(len(bases[a]) * len(bases[b])))
    )


def normalised(gram: Array) -> Array:
    scale = np.sqrt(np.diag(gram))
    out: Array = gram / np.outer(scale, scale)
    return out


def energy_matrix(heads: Array) -> Array:
    """tr(M_h M_l) / sqrt(tr M_h^2 tr M_l^2), M = W^T W, formed as written."""
    moments = [head.T @ head for head in heads]
    return normalised(pairwise(len(heads), lambda a, b: float(np.sum(moments[a] * moments[b]))))


# --- maps ----------------------------------------------------------------------------------------------------------


def gained(heads: Array, gain: Array | None) -> Array:
    return heads if gain is None else heads * gain[:, :, None]


def score_maps(layer: Layer) -> Array:
    """A_h = W_Q,h^T W_K,h [d, d] with the gains of inner norms; query head h reads key head h // group."""
    queries, keys = gained(layer.query, layer.query_gain), gained(layer.key, layer.key_gain)
    return np.stack([queries[h].T @ keys[h // layer.group] for h in range(len(queries))])


def output_maps(layer: Layer) -> Array:
    """OV_h = W_O,h W_V,h [d, d]."""
    return np.stack([layer.output[h].T @ layer.value[h // layer.group] for h in range(len(layer.output))])


def score_matrix(layer: Layer, covariance: Array | None = None) -> Array:
    """tr(A_h S A_l^T S) normalised."""
    maps = score_maps(layer)
    if covariance is None:
        return normalised(np.einsum("aij,bij->ab", maps, maps))
    weighted = covariance @ maps @ covariance
    return normalised(np.einsum("aij,bij->ab", weighted, maps))


def head_matrix(layer: Layer, covariance: Array | None = None) -> Array:
    """Score correlation times the correlation of tr(OV_h S OV_l^T), entry by entry."""
    maps = output_maps(layer)
    weighted = maps if covariance is None else maps @ covariance
    return score_matrix(layer, covariance) * normalised(np.einsum("aij,bij->ab", weighted, maps))


# --- kernel --------------------------------------------------------------------------------------------------------


def log_v(cosines: Array, bandwidth: float) -> Array:
    """log of V(c) = (1+b^2)^2 / sqrt(((1+b^2)^2 - c^2)^2 - c^2 b^4)."""
    t, c2 = (1.0 + bandwidth**2) ** 2, cosines**2
    out: Array = np.log(t) - 0.5 * np.log((t - c2) ** 2 - c2 * bandwidth**4)
    return out


def log_expm1(x: float) -> float:
    return float(x + np.log1p(-np.exp(-x))) if x > 1.0 else float(np.log(np.expm1(x)))


def rho(cosines: Array, k: int, l: int, bandwidth: float) -> float:  # noqa: E741 - the paper's letter
    """(prod V(c_j) - 1) / sqrt((V(1)^k - 1)(V(1)^l - 1))."""
    one = float(log_v(np.ones(1), bandwidth)[0])
    product = float(np.sum(log_v(cosines, bandwidth)))
    if product <= 0.0:
        return 0.0
    return float(np.exp(log_expm1(product) - 0.5 * (log_expm1(k * one) + log_expm1(l * one))))


def kernel_matrix(bases: list[Array], bandwidth: float) -> Array:
    def value(a: int, b: int) -> float:
        if a == b:
            return 1.0
        cosines = np.cos(principal_angles(bases[a], bases[b]))
        return rho(cosines, len(bases[a]), len(bases[b]), bandwidth)

    return pairwise(len(bases), value)


# --- diversity -----------------------------------------------------------------------------------------------------


def hdi(matrix: Array) -> float | None:
    n = len(matrix)
    if n < 2:
        return None
    return float(n / (n - 1.0) * (1.0 - matrix.sum() / n**2))


def effective_heads(matrix: Array) -> tuple[float, float, float]:
    """Hill numbers of orders 1, 2 and infinity of the eigenvalues of R / H."""
    shares = np.clip(np.linalg.eigvalsh(matrix), 0.0, None) / len(matrix)
    positive = shares[shares > 0.0]
    entropy = -float(np.sum(positive * np.log(positive)))
    return float(np.exp(entropy)), float(1.0 / np.sum(shares**2)), float(1.0 / shares.max())


def frame_bound(total: float, n: int, d: int) -> float:
    """Smallest mean overlap of n subspaces of `total` dimensions together in R^d."""
    return max(0.0, (total / d - 1.0) / (n - 1.0))


def overlap_variance(k: int, l: int, d: int) -> float:  # noqa: E741
    return 2.0 * k * l * (d - k) * (d - l) / (d**2 * (d - 1.0) * (d + 2.0))


def subspace_baseline(ranks: list[int], d: int) -> tuple[float, float]:
    """Mean and standard deviation of the HDI of independent uniformly random subspaces."""
    pairs = [(a, b) for i, a in enumerate(ranks) for b in ranks[i + 1 :]]
    mean = float(np.mean([np.sqrt(a * b) / d for a, b in pairs]))
    variance = float(np.sum([overlap_variance(a, b, d) / (a * b) for a, b in pairs])) / len(pairs) ** 2
    return 1.0 - mean, float(np.sqrt(variance))


def pair_law(overlap: float, k: int, l: int, d: int) -> tuple[float, float]:  # noqa: E741
    """z and two-sided p of an overlap O by the beta law on [max(0, k+l-d), min(k, l)] matched to two moments."""
    mean, variance = k * l / d, overlap_variance(k, l, d)
    low, high = max(0, k + l - d), min(k, l)
    m, v = (mean - low) / (high - low), variance / (high - low) ** 2
    total = m * (1.0 - m) / v - 1.0
    alpha, beta = m * total, (1.0 - m) * total
    x = min(1.0, max(0.0, (overlap - low) / (high - low)))
    tail = min(scipy.special.betainc(alpha, beta, x), scipy.special.betainc(beta, alpha, 1.0 - x))
    return (overlap - mean) / float(np.sqrt(variance)), float(min(1.0, 2.0 * tail))


def benjamini_hochberg(p: Array) -> Array:
    order = np.argsort(p)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(adjusted, 1.0)
    return out


Baseline = tuple[float | None, float | None]


def values_of(matrix: Array, bound: float | None, baseline: Baseline) -> SourceValues:
    n1, n2, n_inf = effective_heads(matrix)
    if len(matrix) < 2:
        return SourceValues(matrix, None, None, None, None, n1, n2, n_inf)
    return SourceValues(matrix, hdi(matrix), baseline[0], baseline[1], bound, n1, n2, n_inf)


def projection(layer: Layer, source: str) -> Array:
    part: Array = getattr(layer, source.split("_", maxsplit=1)[0])
    return part


def source_frames(layer: Layer, source: str, covariance: Array | None) -> list[Array]:
    """Frames behind a subspace source (kernel: those of the keys); S enters on the input side only."""
    role = "key" if source == "kernel" else source.split("_", maxsplit=1)[0]
    heads = projection(layer, role)
    if covariance is not None and role != "output":
        heads = heads @ root(covariance)
    return frames(heads, layer.roundoff)


def source_values(
    layer: Layer, source: str, bandwidth: float | None = None, covariance: Array | None = None
) -> SourceValues:
    """Everything stated for one source of a layer already folded (or not to be)."""
    if source in SUBSPACES or source == "kernel":
        bases = source_frames(layer, source, covariance)
        n, d, ranks = len(bases), bases[0].shape[1], [len(u) for u in bases]
        smallest = frame_bound(sum(ranks), n, d) if n > 1 else 0.0
        if source != "kernel":
            baseline = subspace_baseline(ranks, d) if n > 1 else (0.0, 0.0)
            return values_of(subspace_matrix(bases), 1.0 - smallest, baseline)
        b = bandwidth if bandwidth is not None else layer.key.shape[1] ** 0.25
        k = max(ranks)
        equal = rho(np.full(k, np.sqrt(smallest)), k, k, b)
        return values_of(kernel_matrix(bases, b), 1.0 - equal, (None, None))
    if source in ENERGIES:
        heads = projection(layer, source)
        n, k, d = heads.shape
        bound = 1.0 - frame_bound(float(n), n, d) if n > 1 else None
        return values_of(energy_matrix(heads), bound, (1.0 - k / (d + k + 1.0), None))
    n = len(layer.query)
    matrix = score_matrix(layer, covariance) if source == "score" else head_matrix(layer, covariance)
    return values_of(matrix, n / (n - 1.0) if n > 1 else None, (1.0, None))


def audit_layer(
    layer: Layer, bandwidth: float | None = None, covariance: Array | None = None
) -> dict[str, SourceValues]:
    return {source: source_values(layer, source, bandwidth, covariance) for source in SOURCES}
