"""All pairs of 64 subspaces of dimension 128 in 4,096: headspan beside numpy and scipy, in one run.

    cmake --preset release -DHEADSPAN_BENCH=ON && cmake --build --preset release
    python bench/subspaces.py build/release/bin

Answers are compared before times are printed. scipy's loop is timed on a sample of the pairs (--scipy-pairs) and scaled
to all of them; every other time is measured whole. Unset OPENBLAS_CORETYPE for a fair numpy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.linalg import subspace_angles

Array = npt.NDArray[np.float64]


def cholesky_qr(heads: Array) -> Array:
    frames = heads
    for _ in range(2):
        gram = frames @ frames.transpose(0, 2, 1)
        frames = np.linalg.solve(np.linalg.cholesky(gram), frames)
    return frames


def stacked_numpy(heads: Array) -> tuple[float, Array, list[Array]]:
    start = time.perf_counter()
    n, k, width = heads.shape
    stacked = cholesky_qr(heads).reshape(n * k, width)
    gram = (stacked @ stacked.T).reshape(n, k, n, k)
    overlaps, angles = [], []
    for a, b in itertools.combinations(range(n), 2):
        block = gram[a, :, b, :]
        overlaps.append(float(np.sum(block * block)))
        angles.append(np.arccos(np.minimum(1.0, np.linalg.svd(block, compute_uv=False)))[::-1])
    return time.perf_counter() - start, np.array(overlaps), angles


def scipy_loop(heads: Array, pairs: list[tuple[int, int]]) -> tuple[float, list[Array]]:
    start = time.perf_counter()
    angles = [subspace_angles(heads[a].T, heads[b].T) for a, b in pairs]
    return time.perf_counter() - start, angles


def run(program: Path, *arguments: str) -> dict[str, float]:
    done = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--heads", type=int, default=64)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--scipy-pairs", type=int, default=40)
    options = parser.parse_args()
    n, k, width = options.heads, options.dim, options.width
    heads = np.random.default_rng(0).standard_normal((n, k, width))
    every_pair = list(itertools.combinations(range(n), 2))

    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/heads.npy", heads.reshape(n * k, width))
        ours = run(options.bin / "bench_subspaces", "pairs", f"{folder}/heads.npy", str(n), f"{folder}/out.bin")
        table = np.fromfile(f"{folder}/out.bin").reshape(len(every_pair), 1 + k)
    numpy_time, overlaps, angles = stacked_numpy(heads)
    sample = every_pair[:: max(1, len(every_pair) // options.scipy_pairs)]
    scipy_time, scipy_angles = scipy_loop(heads, sample)
    np.testing.assert_allclose(table[:, 0], overlaps, rtol=1e-10)
    np.testing.assert_allclose(table[:, 1:], np.array(angles), atol=1e-9)
    for pair, expected in zip(sample, scipy_angles, strict=True):
        np.testing.assert_allclose(table[every_pair.index(pair), 1:], expected, atol=1e-10)
    gemm_start = time.perf_counter()
    _ = heads.reshape(n * k, width)[: n * k // 2] @ heads.reshape(n * k, width)[n * k // 2 :].T
    gemm = 2.0 * (n * k / 2) ** 2 * width / (time.perf_counter() - gemm_start) / 1e9

    all_angles = ours["orthonormalise"] + ours["overlaps_and_angles"]
    scipy_all = scipy_time / len(sample) * len(every_pair)
    rate = (n * k) ** 2 * width / ours["overlaps"] / 1e9
    print(f"headspan, all angles       {all_angles:8.2f} s")
    print(f"numpy, stacked             {numpy_time:8.2f} s   {numpy_time / all_angles:6.2f} times ours")
    print(f"scipy loop (scaled up)     {scipy_all:8.2f} s   {scipy_all / all_angles:6.2f} times ours")
    print(f"headspan, overlaps         {ours['overlaps']:8.2f} s   {rate:.0f} GFLOP/s, numpy dgemm {gemm:.0f} GFLOP/s")
    layer = run(options.bin / "bench_subspaces", "layer", str(n), str(k), str(width))
    print(f"headspan, audit of a layer {layer['audit']:8.2f} s   {layer['ratio']:6.2f} times its Gram products alone")
    widen = run(options.bin / "bench_widen")
    print(
        f"BF16 to float              {widen['widen_gb_per_s']:8.1f} GB/s {widen['share_of_copy']:6.2f} of the copy rate"
    )


if __name__ == "__main__":
    main()
