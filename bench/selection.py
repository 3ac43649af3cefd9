"""Leave-one-out scores and bandwidth selection: headspan beside numpy's full matrix, in one run.

    cmake --preset release -DHEADSPAN_BENCH=ON && cmake --build --preset release
    python bench/selection.py build/release/bin

n = 5,000 rows, four inputs of which two are noise, double precision. The peer forms all squared distances with one
matrix product, exponentiates in place and sums; the whole selection minimises that by Nelder-Mead over log
bandwidths on a smaller table (--nelder-mead-rows), where both search the same criterion. Values are compared before
times are printed; programs take turns, and the median of each is shown. Unset OPENBLAS_CORETYPE for a fair numpy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits
from turns import installed

Array = npt.NDArray[np.float64]


def table(rows: int) -> Array:
    random = np.random.default_rng(7)
    x = random.standard_normal((rows, 4))
    y = np.sin(2 * x[:, 0]) + x[:, 1] ** 2 / 3 + 0.3 * random.standard_normal(rows)
    return np.column_stack([x, y])


def loo_of_matrix(data: Array, bandwidth: Array) -> float:
    """Mean squared leave-one-out residual from the n x n matrix of weights."""
    z, y = data[:, :-1] / bandwidth, data[:, -1]
    squares = (z * z).sum(axis=1)
    w = z @ z.T
    w *= 2.0
    w -= squares[:, None]
    w -= squares
    w *= 0.5
    np.exp(w, out=w)
    np.fill_diagonal(w, 0.0)
    return float(np.mean((y - (w @ y) / w.sum(axis=1)) ** 2))


def run(program: Path, *arguments: object) -> dict[str, Any]:
    done = subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def statsmodels_loo() -> Any | None:
    """The same criterion as statsmodels computes it, or None where it is not installed."""
    module = installed("statsmodels.nonparametric.kernel_regression")
    if module is None:
        return None

    def loo(data: Array, bandwidth: Array) -> float:
        x, y = data[:, :-1], data[:, -1]
        model = module.KernelReg(y, x, "c" * x.shape[1], reg_type="lc", bw=bandwidth)
        return float(np.squeeze(model.cv_loo(bandwidth, model._est_loc_constant)))

    return loo


def one_evaluation(program: Path, path: str, data: Array, threads: int, peer: Any | None) -> None:
    bandwidth = np.array([0.3, 0.3, 1.0, 1.0])
    ours, theirs = [], []
    if peer is not None:
        start = time.perf_counter()
        with threadpool_limits(threads):
            value = peer(data, bandwidth)
        seconds = time.perf_counter() - start
        mine = run(program, "scores", path, *bandwidth, threads)
        np.testing.assert_allclose(mine["loo"], value, rtol=1e-9)
        print(f"  statsmodels {seconds:.1f} s, {seconds / mine['seconds']:.0f} times ours at that moment")
    for _ in range(5):
        mine = run(program, "scores", path, *bandwidth, threads)
        ours.append(mine["seconds"])
        with threadpool_limits(threads):
            start = time.perf_counter()
            value = loo_of_matrix(data, bandwidth)
            theirs.append(time.perf_counter() - start)
        np.testing.assert_allclose(mine["loo"], value, rtol=1e-9)
    ratio = np.median(theirs) / np.median(ours)
    print(
        f"one evaluation, n = {len(data)}, {threads} thread(s): headspan {np.median(ours) * 1e3:7.1f} ms"
        f"   numpy {np.median(theirs) * 1e3:7.1f} ms   {ratio:6.1f} times ours"
    )


def nelder_mead(data: Array) -> tuple[float, float, int]:
    spread = data[:, :-1].std(axis=0)
    start = time.perf_counter()
    found = minimize(
        lambda t: loo_of_matrix(data, np.exp(np.clip(t, -8, 8)) * spread),
        np.full(4, np.log(0.3)),
        method="Nelder-Mead",
        options={"xatol": 1e-4, "fatol": 1e-10, "maxfev": 2000},
    )
    return time.perf_counter() - start, float(found.fun), int(found.nfev)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--nelder-mead-rows", type=int, default=1000)
    options = parser.parse_args()
    program = options.bin / "bench_selection"
    peer = statsmodels_loo()
    with tempfile.TemporaryDirectory() as folder:
        path, small_path = f"{folder}/xy.npy", f"{folder}/small.npy"
        data, small = table(options.rows), table(options.nelder_mead_rows)
        np.save(path, data)
        np.save(small_path, small)
        for threads in (1, 2):
            one_evaluation(program, path, data, threads, peer)
        for starts in (1, 5):
            mine = run(program, "select", path, starts, 2)
            print(
                f"selection, n = {len(data)}, {starts} start(s), 2 threads: {mine['seconds']:.2f} s, "
                f"{mine['n_evaluations']} evaluations, CV {mine['value']:.7f}, {mine['irrelevant']} irrelevant"
            )
        mine = run(program, "select", small_path, 5, 2)
        seconds, value, evaluations = nelder_mead(small)
        assert mine["value"] <= value * (1 + 1e-7), (mine["value"], value)
        print(
            f"selection, n = {len(small)}: headspan {mine['seconds']:.3f} s, CV {mine['value']:.7f}   numpy with "
            f"Nelder-Mead {seconds:.2f} s, CV {value:.7f} ({evaluations} evaluations), {seconds / mine['seconds']:.0f} times ours"
        )


if __name__ == "__main__":
    main()
