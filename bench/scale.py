"""Time and memory of headspan's automatic regression against the number of rows.

    PYTHONPATH=build/release/python python bench/scale.py [--rows 1000,10000,30000,100000] [--columns 10] [--at 10000]

Every size runs in a process of its own, whose peak resident memory is its own. Times are by the wall clock and, on machines
shared with other work the better guide, of the processor over all threads. The table is Friedman's first function of
independent uniform columns with noise of standard deviation 1, from a fixed seed. Printed are the seconds of a fit (the
search for recipes, the heads on all rows and the left-out prediction of every row, which come in one pass) and of
predictions at new rows, the relative root mean squared error against the mean of new targets, that of the left-out rows
(noise included), and the peak memory, with what the interpreter and its libraries take before any data.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
import numpy.typing as npt

from headspan import MultiHeadNWRegressor

Array = npt.NDArray[np.float64]


def mean_of(x: Array) -> Array:
    """Friedman's first function of the first five columns."""
    value: Array = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return value


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def clocks() -> tuple[float, float]:
    """Wall clock and processor time, seconds."""
    return time.monotonic(), time.process_time()


def measured(n: int, columns: int, at: int, effort: float) -> dict[str, float]:
    random = np.random.default_rng(1)
    x, new = random.uniform(size=(n, columns)), random.uniform(size=(at, columns))
    y = mean_of(x) + random.normal(size=n)
    before = peak_mib()
    start = clocks()
    model = MultiHeadNWRegressor(effort=effort).fit(x, y)
    fitted = clocks()
    predicted = model.predict(new)
    done = clocks()
    return {
        "fit": fitted[0] - start[0],
        "fit_cpu": fitted[1] - start[1],
        "predict": done[0] - fitted[0],
        "predict_cpu": done[1] - fitted[1],
        "error": float(np.sqrt(np.mean((predicted - mean_of(new)) ** 2)) / mean_of(new).std()),
        "left_out": float(np.sqrt(np.mean((model.loo_prediction_ - y) ** 2)) / y.std()),
        "peak": peak_mib(),
        "before": before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1000,10000,30000,100000")
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--at", type=int, default=10000, help="new rows to predict")
    parser.add_argument("--effort", type=float, default=20000.0)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # the size that this process measures
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(measured(arguments.one, arguments.columns, arguments.at, arguments.effort)))
        return
    names = ["rows", "fit s", "(cpu)", "predict s", "(cpu)", "error", "left out", "peak MiB", "before MiB"]
    print("".join(f"{name:>11}" for name in names), flush=True)
    for n in map(int, arguments.rows.split(",")):
        command = [sys.executable, __file__, "--one", str(n), "--columns", str(arguments.columns)]
        command += ["--at", str(arguments.at), "--effort", str(arguments.effort)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        have = json.loads(run.stdout)
        seconds = (have["fit"], have["fit_cpu"], have["predict"], have["predict_cpu"])
        print(
            f"{n:>11}"
            + "".join(f"{value:11.1f}" for value in seconds)
            + f"{have['error']:11.3f}{have['left_out']:11.3f}{have['peak']:11.0f}{have['before']:11.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
