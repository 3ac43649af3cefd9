"""Kernel regression and attention: headspan beside its peers and beside the machine, in one run.

    cmake --preset release -DHEADSPAN_BENCH=ON -DHEADSPAN_PYTHON=ON && cmake --build --preset release
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE PYTHONPATH=build/release/python python bench/compare.py build/release/bin

Every section verifies the answers before it times, then lets the programs take turns for some rounds; before each round
the fused multiply-adds that the machine gives at that moment are measured, and times are set against that. Ratios are
medians of the ratios within a round. The processor time is that of all threads of the process: with one thread it is
what counts on a machine that others use too. Peers that are not installed are named and left out.

    --sections attention nw --lengths 2048 --nw 20000x20000 --threads 1 --rounds 3      a short run
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits
from turns import Entry, installed, peak_gflops, run_json, show, take_turns

import headspan

Array = npt.NDArray[Any]
HEADS, WIDTH, DIMS, BANDWIDTH = 12, 64, 8, 1.0
TILE = 512
SECTIONS = ["attention", "covariance", "nw", "large"]


def onnx_attention(heads: int, width: int, value_width: int, scale: float, threads: int) -> Any | None:
    """run(q, k, v) of onnxruntime's MultiHeadAttention on [1, positions, heads * width]."""
    onnx, runtime = installed("onnx"), installed("onnxruntime")
    if onnx is None or runtime is None:
        return None
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node(
        "MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=heads, scale=scale
    )
    sizes = {"q": heads * width, "k": heads * width, "v": heads * value_width, "o": heads * value_width}
    info = {n: helper.make_tensor_value_info(n, kind, [1, f"positions_{n}", size]) for n, size in sizes.items()}
    graph = helper.make_graph([node], "attention", [info[n] for n in "qkv"], [info["o"]])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8
    )
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # Its threads spin while it works, which is its best, and not through the turns of the others.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda q, k, v: session.run(None, {"q": q, "k": k, "v": v})[0]


def numpy_attention(q: Array, k: Array, v: Array, weights_too: bool = False) -> Any:
    scores: Array = q @ (k * np.float32(1 / math.sqrt(q.shape[-1]))).swapaxes(-1, -2)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    out = (scores @ v) / total
    return (out, scores / total) if weights_too else out


def heads_of(length: int) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((1, HEADS, length, WIDTH), dtype=np.float32) for _ in range(3))
    return q, k, v


def attention_section(folder: Path, length: int, threads: int, rounds: int) -> None:
    torch = installed("torch")
    q, k, v = heads_of(length)
    entries = [
        Entry("headspan", lambda: headspan.attention(q, k, v, threads=threads).output),
        Entry("headspan + n_eff", lambda: headspan.attention(q, k, v, return_n_eff=True, threads=threads).output),
    ]
    session = onnx_attention(HEADS, WIDTH, WIDTH, 1 / math.sqrt(WIDTH), threads)
    if session is not None:
        flat = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)).reshape(1, length, -1) for a in (q, k, v)]
        shape = (1, length, HEADS, WIDTH)
        entries.append(Entry("onnxruntime", lambda: session(*flat).reshape(shape).transpose(0, 2, 1, 3)))
    if torch is not None:
        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(a) for a in (q, k, v)]
        sdpa = torch.nn.functional.scaled_dot_product_attention
        entries.append(Entry("torch sdpa", lambda: sdpa(*tensors).numpy()))
    entries.append(Entry("numpy, head by head", lambda: np.stack([[by_head(q, k, v, h) for h in range(HEADS)]])))
    with threadpool_limits(threads):
        peaks = take_turns(entries, rounds, lambda: float(peak_gflops(folder, threads)["float"]))
    show(
        f"attention, {HEADS} heads of {WIDTH}, {length} positions, float, {threads} thread(s)",
        entries, peaks, 4.0 * HEADS * WIDTH * length**2,
    )  # fmt: skip


def by_head(q: Array, k: Array, v: Array, head: int) -> Array:
    out: Array = numpy_attention(q[0, head], k[0, head], v[0, head])
    return out


def torch_covariance(torch: Any, q: Any, k: Any, v: Any) -> Any:
    """Output, and the covariance per query, with the weights of all heads in memory."""
    w = torch.softmax(q @ k.transpose(-1, -2) * (1 / math.sqrt(WIDTH)), dim=-1)
    by_query = w[0].transpose(0, 1)
    return w @ v, by_query @ by_query.transpose(-1, -2)


def covariance_section(folder: Path, length: int, threads: int, rounds: int) -> None:
    torch = installed("torch")
    q, k, v = heads_of(length)
    ours: dict[str, list[float]] = {}
    theirs = []
    if torch is not None:
        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(a) for a in (q, k, v)]
        found = headspan.weight_covariance(q, k, threads=threads)[0]
        np.testing.assert_allclose(torch_covariance(torch, *tensors)[1].numpy(), found, rtol=1e-3, atol=1e-7)
    for _ in range(rounds):
        for form, times in run_json(folder / "bench_attention", HEADS, length, WIDTH, 1, threads).items():
            ours.setdefault(form, []).extend(times if isinstance(times, list) else [times])
        if torch is not None:
            start = time.perf_counter()
            torch_covariance(torch, *tensors)
            theirs.append(time.perf_counter() - start)
    plain = ours["output"]
    print(f"\ncovariance {HEADS} x {HEADS}, {length} positions, float, {threads} thread(s) [load {load():.1f}]")
    for form in ("output", "n_eff", "covariance", "covariance_averaged"):
        ratio = median(a / b for a, b in zip(ours[form], plain, strict=True))
        print(f"  headspan {form:24}{median(ours[form]):9.4f} s {ratio:6.2f} x output alone")
    if theirs:
        ratio = median(a / b for a, b in zip(theirs, ours["covariance"], strict=True))
        memory = peak_of_torch(length, threads)
        print(
            f"  torch, weights materialised      {median(theirs):9.4f} s {ratio:6.2f} x headspan covariance; memory "
            f"{memory:.0f} MiB beside {median(ours['working_kib']) / 1024:.0f} MiB"
        )


def load() -> float:
    return os.getloadavg()[0]


def peak_of_torch(length: int, threads: int) -> float:
    """MiB that one call adds to the resident memory of a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--torch-memory", f"{length}", "--threads", f"{threads}"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def print_torch_memory(length: int, threads: int) -> None:
    torch = installed("torch")
    assert torch is not None
    torch.set_num_threads(threads)
    tensors = [torch.from_numpy(a) for a in heads_of(length)]
    torch_covariance(torch, *[t[:, :, :16] for t in tensors])
    before = peak_kib()
    torch_covariance(torch, *tensors)
    print((peak_kib() - before) / 1024)


def peak_kib() -> int:
    """Most memory that this program has had; getrusage would count its parent's as well."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def augmented(x: Array, queries: bool) -> Array:
    """Rows whose product is -|q - k|^2 / 2h^2 but for a term of the query, one column more."""
    scaled = x / np.float32(BANDWIDTH)
    last = np.ones(len(x), np.float32) if queries else -0.5 * (scaled * scaled).sum(1)
    return np.ascontiguousarray(np.column_stack([scaled, last]).astype(np.float32))[np.newaxis]


def numpy_tiles(at: Array, x: Array, y: Array, exp: Any, tile: Array) -> Array:
    keys, squares = x.T / np.float32(BANDWIDTH**2), -0.5 * (x * x).sum(1) / np.float32(BANDWIDTH**2)
    both = np.column_stack([y, np.ones(len(y), np.float32)])
    out = np.empty(len(at), np.float32)
    for i in range(0, len(at), len(tile)):
        w = tile[: len(at[i : i + len(tile)])]
        np.matmul(at[i : i + len(tile)], keys, out=w)
        w += squares
        w -= w.max(axis=1, keepdims=True)
        exp(w, out=w)
        sums = w @ both
        out[i : i + len(tile)] = sums[:, 0] / sums[:, 1]
    return out


def torch_tiles(torch: Any, at: Array, x: Array, y: Array) -> Any:
    queries, keys = torch.from_numpy(at), torch.from_numpy(x) / BANDWIDTH**2
    squares = -0.5 * (keys * keys).sum(1) * BANDWIDTH**2
    both = torch.stack([torch.from_numpy(y), torch.ones(len(y))], 1)
    tile, out = torch.empty(TILE, len(x)), torch.empty(len(at))

    def work() -> Any:
        for i in range(0, len(at), TILE):
            w = tile[: len(queries[i : i + TILE])]
            torch.addmm(squares, queries[i : i + TILE], keys.T, out=w)
            w -= w.max(1, keepdim=True).values
            sums = w.exp_() @ both
            out[i : i + TILE] = sums[:, 0] / sums[:, 1]
        return out.numpy()

    return work


def numba_pairs(threads: int) -> Any | None:
    """run(at, x, y): one pass over the keys for every query, compiled."""
    numba = installed("numba")
    if numba is None:
        return None
    numba.set_num_threads(threads)
    factor = np.float32(-0.5 / BANDWIDTH**2)

    @numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
    def run(at: Array, x: Array, y: Array) -> Array:
        out = np.empty(at.shape[0], np.float32)
        for q in numba.prange(at.shape[0]):
            total, weighted = np.float32(0), np.float32(0)
            for i in range(x.shape[0]):
                square = np.float32(0)
                for j in range(x.shape[1]):
                    off = at[q, j] - x[i, j]
                    square += off * off
                w = np.exp(factor * square)
                total += w
                weighted += w * y[i]
            out[q] = weighted / total
        return out

    return run


def keops(torch: Any, at: Array, x: Array, y: Array) -> Any | None:
    if installed("pykeops.torch") is None or torch is None:
        return None
    lazy = installed("pykeops.torch").LazyTensor  # type: ignore[union-attr]
    q, k = torch.from_numpy(at), torch.from_numpy(x)
    both = torch.stack([torch.from_numpy(y), torch.ones(len(y))], 1)

    def work() -> Any:
        squares = ((lazy(q[:, None, :]) - lazy(k[None, :, :])) ** 2).sum(-1)
        sums = (-squares * (0.5 / BANDWIDTH**2)).exp() @ both
        return (sums[:, 0] / sums[:, 1]).numpy()

    return work


def nw_section(folder: Path, n: int, m: int, threads: int, rounds: int, share: float) -> None:
    torch = installed("torch")
    if torch is not None:
        torch.set_num_threads(threads)
    random = np.random.default_rng(2)
    x = random.standard_normal((n, DIMS), dtype=np.float32)
    at = random.standard_normal((m, DIMS), dtype=np.float32)
    y = np.sin(x.sum(1)).astype(np.float32)
    part = at[: max(int(m * share), TILE)]
    part_share = len(part) / m
    entries = [
        Entry("headspan", lambda: headspan.nadaraya_watson(x, y, at, bandwidth=BANDWIDTH, threads=threads).output)
    ]
    session = onnx_attention(1, DIMS + 1, 1, 1.0, threads)
    if session is not None:
        q, k, v = augmented(at, True), augmented(x, False), y[np.newaxis, :, np.newaxis]
        entries.append(Entry("onnxruntime, augmented keys", lambda: session(q, k, v)[0, :, 0]))
    if torch is not None:
        entries.append(Entry("torch, reused tile", torch_tiles(torch, part, x, y), share=part_share))
    tile = np.empty((TILE, n), np.float32)
    entries.append(Entry("numpy, reused tile", lambda: numpy_tiles(part, x, y, np.exp, tile), share=part_share))
    compiled = numba_pairs(threads)
    if compiled is not None:
        entries.append(Entry("numba, parallel and fast math", lambda: compiled(part, x, y), share=part_share))
    lazy = keops(torch, part, x, y)
    if lazy is not None:
        entries.append(Entry("KeOps", lazy, share=part_share))
    with threadpool_limits(threads):
        peaks = take_turns(entries, rounds, lambda: float(peak_gflops(folder, threads)["float"]))
    pairs = float(n) * m
    show(f"regression, {DIMS} inputs, {n} keys, {m} queries, float, {threads} thread(s)", entries, peaks, 28 * pairs)
    rate = median(pairs / t * 1e-9 / (p / 221) for t, p in zip(entries[0].wall, peaks, strict=True))
    print(f"  headspan, {rate:.2f} G pairs/s per 221 GFLOP/s; tiles and KeOps on {part_share:.0%} of the queries")


def large_section(sizes: list[int], dims: list[int], threads: int) -> None:
    """Within a certified relative error 1e-3, beside the exact engine on a sample of the queries."""
    print(f"\nmany rows, keys = queries ~ N(0, I), bandwidth n^(-1/(d+4)), double, {threads} thread(s)")
    print("  seconds of the wall clock and of the processor; exact: on a sample of the queries, scaled up")
    print(f"  {'d':>3}{'n':>9}{'1e-3, wall':>12}{'cpu':>10}{'exact, wall':>13}{'cpu':>10}{'ratio, cpu':>12}{'load':>7}")
    for d in dims:
        cpu = []
        for n in sizes:
            near, exact = large_times(n, d, threads)
            cpu.append(near[1])
            print(
                f"  {d:3}{n:9}{near[0]:12.3f}{near[1]:10.3f}{exact[0]:13.2f}{exact[1]:10.2f}{exact[1] / near[1]:12.1f}"
                f"{load():7.1f}",
                flush=True,
            )
        if len(sizes) > 1:
            print(f"    processor time grows as n^{np.polyfit(np.log(sizes), np.log(cpu), 1)[0]:.2f}")


def large_times(n: int, d: int, threads: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """(wall, processor) of all estimates within 1e-3, and of the exact ones."""
    random = np.random.default_rng(d)
    x = random.standard_normal((n, d))
    y = np.sin(x.sum(1)) + 0.1 * random.standard_normal(n)
    h = n ** (-1 / (d + 4))
    sample = x[: min(n, max(100, int(5e8 / n)))]
    headspan.nadaraya_watson(x, y, x[:1], bandwidth=h, threads=threads)
    start = time.perf_counter(), time.process_time()
    near = headspan.nadaraya_watson(x, y, x, bandwidth=h, relative_error=1e-3, threads=threads).output
    middle = time.perf_counter(), time.process_time()
    exact = headspan.nadaraya_watson(x, y, sample, bandwidth=h, threads=threads).output
    end = time.perf_counter(), time.process_time()
    assert np.abs(near[: len(sample)] - exact).max() <= 1e-3 * np.ptp(y)
    scale = n / len(sample)
    return (
        (middle[0] - start[0], middle[1] - start[1]),
        ((end[0] - middle[0]) * scale, (end[1] - middle[1]) * scale),
    )


def numbers(text: str) -> list[int]:
    return [int(float(word)) for word in text.split(",")]


def run_sections(options: argparse.Namespace, sizes: list[tuple[int, int]], threads: int) -> None:
    for section in options.sections:
        if section == "large":
            large_section(options.large_n, options.large_d, threads)
        elif section == "nw":
            for n, m in sizes:
                nw_section(options.bin, n, m, threads, options.rounds, options.peer_share)
        else:
            at_length = attention_section if section == "attention" else covariance_section
            for length in options.lengths:
                at_length(options.bin, length, threads, options.rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, nargs="?", default=Path("build/release/bin"))
    parser.add_argument("--sections", nargs="+", default=SECTIONS, choices=SECTIONS)
    parser.add_argument("--lengths", type=numbers, default=[2048, 4096])
    parser.add_argument("--nw", default="20000x20000,100000x10000", help="keys x queries")
    parser.add_argument("--peer-share", type=float, default=0.1, help="of the queries, for tiles and KeOps")
    parser.add_argument("--large-n", type=numbers, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--large-d", type=numbers, default=[1, 2, 3, 5])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--torch-memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch_memory:
        print_torch_memory(options.torch_memory, options.threads[0])
        return
    pinned = [name for name in os.environ if name.startswith("OPENBLAS_")]
    if pinned:
        parser.error(f"unset {', '.join(pinned)}: numpy would be timed with a setting that is not its best")
    sizes = [(int(n), int(m)) for n, m in (size.split("x") for size in options.nw.split(","))]
    for threads in options.threads:
        run_sections(options, sizes, threads)


if __name__ == "__main__":
    main()
