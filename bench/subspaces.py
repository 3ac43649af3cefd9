"""All pairs of 64 subspaces of dimension 128 in 4,096: headspan beside numpy and scipy, in one run.

    cmake --preset release -DHEADSPAN_BENCH=ON && cmake --build --preset release
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python bench/subspaces.py build/release/bin

needs numpy, scipy and threadpoolctl. Answers are compared before times are printed. The programs take turns for
--rounds rounds, and the best time of each counts. numpy and scipy run with the thread counts of --threads, and the
fastest counts. scipy's loop is timed on a sample of the pairs (--scipy-pairs) and scaled to all of them; every other
time is measured whole.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import subspace_angles
from threadpoolctl import threadpool_limits

Array = npt.NDArray[np.float64]
Pairs = list[tuple[int, int]]
Answer = TypeVar("Answer")


def cholesky_qr(heads: Array) -> Array:
    frames = heads
    for _ in range(2):
        gram = frames @ frames.transpose(0, 2, 1)
        frames = np.linalg.inv(np.linalg.cholesky(gram)) @ frames
    return frames


def stacked_numpy(heads: Array, threads: int) -> tuple[Array, Array]:
    """[pairs] overlaps and [pairs, k] angles; the small decompositions one thread each, which is faster."""
    n, k, width = heads.shape
    stacked = cholesky_qr(heads).reshape(n * k, width)
    gram = (stacked @ stacked.T).reshape(n, k, n, k)
    left, right = np.triu_indices(n, 1)

    def of_pairs(part: npt.NDArray[np.int64]) -> tuple[Array, Array]:
        blocks = gram[left[part], :, right[part], :]
        cosines = np.linalg.svd(blocks, compute_uv=False)
        return np.einsum("pij,pij->p", blocks, blocks), np.arccos(np.minimum(1.0, cosines))[:, ::-1]

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(of_pairs, np.array_split(np.arange(len(left)), 4 * threads)))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def scipy_loop(heads: Array, pairs: Pairs) -> list[Array]:
    return [subspace_angles(heads[a].T, heads[b].T) for a, b in pairs]


@dataclass
class Best:
    """The shortest of several timings of one program, and the threads it took."""

    seconds: float = float("inf")
    threads: int = 0

    def time(self, threads: int, work: Callable[[], Answer]) -> Answer:
        with threadpool_limits(threads):
            start = time.perf_counter()
            answer = work()
            seconds = time.perf_counter() - start
        if seconds < self.seconds:
            self.seconds, self.threads = seconds, threads
        return answer


def run(program: Path, *arguments: str) -> dict[str, float]:
    done = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def compare(options: argparse.Namespace, heads: Array) -> None:
    n, k, width = heads.shape
    stacked = heads.reshape(n * k, width)
    every_pair = list(itertools.combinations(range(n), 2))
    chosen = every_pair[:: max(1, len(every_pair) // options.scipy_pairs)]
    ours_all, ours_overlaps = Best(), Best()
    numpy_all, scipy_all, gemm = Best(), Best(), Best()
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/heads.npy", stacked)
        for _ in range(options.rounds):
            ours = run(options.bin / "bench_subspaces", "pairs", f"{folder}/heads.npy", str(n), f"{folder}/out.bin")
            ours_all.seconds = min(ours_all.seconds, ours["orthonormalise"] + ours["overlaps_and_angles"])
            ours_overlaps.seconds = min(ours_overlaps.seconds, ours["overlaps"])
            table = np.fromfile(f"{folder}/out.bin").reshape(len(every_pair), 1 + k)
            for threads in options.threads:
                overlaps, angles = numpy_all.time(threads, partial(stacked_numpy, heads, threads))
                exact = scipy_all.time(threads, lambda: scipy_loop(heads, chosen))
                gemm.time(threads, lambda: stacked[: n * k // 2] @ stacked[n * k // 2 :].T)
            np.testing.assert_allclose(table[:, 0], overlaps, rtol=1e-10)
            np.testing.assert_allclose(table[:, 1:], angles, atol=1e-9)
            for pair, expected in zip(chosen, exact, strict=True):
                np.testing.assert_allclose(table[every_pair.index(pair), 1:], expected, atol=1e-10)

    scipy_seconds = scipy_all.seconds / len(chosen) * len(every_pair)
    rate = (n * k) ** 2 * width / ours_overlaps.seconds / 1e9
    gemm_rate = 2.0 * (n * k / 2) ** 2 * width / gemm.seconds / 1e9
    ratio = numpy_all.seconds / ours_all.seconds
    print(f"headspan, all angles       {ours_all.seconds:8.2f} s")
    print(
        f"numpy, stacked             {numpy_all.seconds:8.2f} s   {ratio:6.2f} times ours, {numpy_all.threads} threads"
    )
    print(
        f"scipy loop                 {scipy_seconds:8.2f} s   {scipy_seconds / ours_all.seconds:6.2f} times ours, ",
        end="",
    )
    print(f"{scipy_all.threads} threads, scaled up from {len(chosen)} of {len(every_pair)} pairs")
    print(f"headspan, overlaps         {ours_overlaps.seconds:8.2f} s   {rate:6.0f} GFLOP/s: ", end="")
    print(f"{rate / gemm_rate:.2f} of numpy's dgemm, {gemm_rate:.0f} GFLOP/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--heads", type=int, default=64)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    parser.add_argument("--scipy-pairs", type=int, default=40)
    options = parser.parse_args()
    compare(options, np.random.default_rng(0).standard_normal((options.heads, options.dim, options.width)))
    sizes = [str(n) for n in (options.heads, options.dim, options.width, options.rounds)]
    layer = run(options.bin / "bench_subspaces", "layer", *sizes)
    ratio = layer["audit"] / layer["grams"]
    print(f"headspan, audit of a layer {layer['audit']:8.2f} s   {ratio:6.2f} times its Gram products alone")
    widen = run(options.bin / "bench_widen")
    share = widen["widen_gb_per_s"] / widen["copy_gb_per_s"]
    print(f"BF16 to float              {widen['widen_gb_per_s']:8.1f} GB/s {share:5.2f} of the copy rate")


if __name__ == "__main__":
    main()
