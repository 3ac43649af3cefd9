"""What the Python functions take, refuse, and leave to others while they run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import headspan
from headspan import _arrays

Array = NDArray[Any]
X = np.random.default_rng(1).normal(size=(30, 2))
Y = np.sin(X[:, 0]) + X[:, 1]
Q = np.random.default_rng(2).normal(size=(1, 2, 5, 4))


def nw(x: Any = X, y: Any = Y, at: Any = None, **options: Any) -> headspan.Estimate:
    return headspan.nadaraya_watson(x, y, at, **{"bandwidth": 0.8, **options})


def spoiled(array: Array, value: float) -> Array:
    copy = array.copy()
    copy.flat[3] = value
    return copy


REFUSED: list[tuple[type[Exception], str, Callable[[], object]]] = [
    (ValueError, r"x: must be finite, at \[1, 1\] it is nan", lambda: nw(spoiled(X, np.nan))),
    (ValueError, r"y: must be finite, at \[3\] it is inf", lambda: nw(y=spoiled(Y, np.inf))),
    (ValueError, r"at: must be finite, at \[1, 1\] it is -inf", lambda: nw(at=spoiled(X, -np.inf))),
    (ValueError, "y: 29 rows for 30 rows of x", lambda: nw(y=Y[:29])),
    (ValueError, "at: 3 columns, x has 2", lambda: nw(at=np.zeros((4, 3)))),
    (ValueError, r"at: \[m, 2\] wanted", lambda: nw(at=np.zeros(4))),
    (ValueError, "x: one or two dimensions", lambda: nw(np.zeros((2, 2, 2)), np.zeros(2))),
    (ValueError, "x: no rows", lambda: nw(np.zeros((0, 2)), np.zeros(0))),
    (ValueError, "x: no columns", lambda: nw(np.zeros((3, 0)), np.zeros(3))),
    (ValueError, "bandwidth: must be positive", lambda: nw(bandwidth=0)),
    (ValueError, "bandwidth: must be positive", lambda: nw(bandwidth=[0.3, -1])),
    (ValueError, "bandwidth: must be positive", lambda: nw(bandwidth=np.nan)),
    (ValueError, "bandwidth: one or 2 of them", lambda: nw(bandwidth=[1, 1, 1])),
    (ValueError, "bandwidth: .*'auto'", lambda: nw(bandwidth="best")),
    (ValueError, "kernel: 'gausian' is none of gaussian, softmax", lambda: nw(kernel="gausian")),
    (ValueError, "kernel_shape: 'round'", lambda: nw(kernel_shape="round")),
    (ValueError, "relative_error", lambda: nw(relative_error=-0.1)),
    (ValueError, "relative_error", lambda: nw(relative_error=np.nan)),
    (ValueError, "at: leave_one_out", lambda: nw(at=X, leave_one_out=True)),
    (ValueError, "threads: at least 1", lambda: nw(threads=0)),
    (TypeError, "threads: an integer", lambda: nw(threads=1.5)),
    (TypeError, "x: real numbers wanted, its dtype is complex128", lambda: nw(X + 0j)),
    (TypeError, "y: real numbers wanted", lambda: nw(y=np.array(["a"] * 30))),
    (TypeError, "x: no array", lambda: nw([[1.0], [1.0, 2.0]], [0.0, 0.0])),
    (TypeError, "x: a masked array", lambda: nw(np.ma.masked_array(X, X > 1))),
    (ValueError, "x.*constant", lambda: headspan.select_bandwidth(np.ones(30), Y)),
    (ValueError, "x.*constant", lambda: headspan.select_bandwidth(X * [1, 0], Y)),
    (ValueError, "x.*constant", lambda: headspan.select_bandwidth([1.0], [2.0])),
    (ValueError, "y: one dimension", lambda: headspan.select_bandwidth(X, np.stack([Y, Y], 1))),
    (ValueError, "criterion: 'bic' is none of", lambda: headspan.select_bandwidth(X, Y, criterion="bic")),  # type: ignore[arg-type]
    (ValueError, "n_starts: at least 1", lambda: headspan.select_bandwidth(X, Y, n_starts=0)),
    (ValueError, "bandwidth: one or 1 of them", lambda: headspan.ensemble_loo(X, Y, [np.eye(2)], bandwidth=[1, 2])),
    (ValueError, "projection", lambda: headspan.ensemble_loo(X, Y, [np.eye(3)])),
    (ValueError, "head", lambda: headspan.ensemble_loo(X, Y, [])),
    (ValueError, "weights", lambda: headspan.ensemble_loo(X, Y, [np.eye(2)], weights=[1, 2])),
    (TypeError, "query: floating point wanted, its dtype is int64", lambda: headspan.attention(Q.astype(int), Q, Q)),
    (ValueError, "query: two, three or four", lambda: headspan.attention(Q[0, 0, 0], Q, Q)),
    (ValueError, "key: 4 dimensions as query", lambda: headspan.attention(Q, Q[0], Q)),
    (ValueError, "key: shape", lambda: headspan.attention(Q, Q[..., :3], Q[..., :3])),
    (ValueError, "value: shape", lambda: headspan.attention(Q, Q, Q[:, :, :4])),
    (ValueError, "key: 2 heads do not divide the 3", lambda: headspan.attention(np.zeros((1, 3, 5, 4)), Q, Q)),
    (ValueError, "n_heads: wanted", lambda: headspan.attention(Q[0], Q[0], Q[0])),
    (ValueError, "its width 4 is not a multiple of 3", lambda: headspan.attention(Q[0], Q[0], Q[0], n_heads=3)),
    (ValueError, "n_heads: 3, but the inputs have 2", lambda: headspan.attention(Q, Q, Q, n_heads=3)),
    (TypeError, "mask: boolean or floating", lambda: headspan.attention(Q, Q, Q, mask=np.ones((5, 5), int))),
    (ValueError, r"mask: shape \(4, 5\)", lambda: headspan.attention(Q, Q, Q, mask=np.ones((4, 5)))),
    (ValueError, "past_key, past_value: both", lambda: headspan.attention(Q, Q, Q, past_key=Q)),
    (ValueError, "past_key: ", lambda: headspan.attention(Q, Q, Q, past_key=Q[:, :1], past_value=Q)),
    (ValueError, "window: a pair", lambda: headspan.attention(Q, Q, Q, window=3)),  # type: ignore[arg-type]
    (ValueError, "window: at least -1", lambda: headspan.attention(Q, Q, Q, window=(-2, 0))),
    (ValueError, "scale: must be finite", lambda: headspan.attention(Q, Q, Q, scale=np.inf)),
    (ValueError, "soft_cap: positive", lambda: headspan.attention(Q, Q, Q, soft_cap=-1)),
    (ValueError, "alibi_slopes: 2 of them", lambda: headspan.attention(Q, Q, Q, alibi_slopes=[1, 2, 3])),
    (ValueError, "sinks: must be finite", lambda: headspan.attention(Q, Q, Q, sinks=[1, np.nan])),
    (ValueError, "n_keys: 1 from 0 to 5", lambda: headspan.attention(Q, Q, Q, n_keys=[6])),
    (TypeError, "query_offset: an integer", lambda: headspan.attention(Q, Q, Q, query_offset=0.5)),
    (ValueError, "return_scores: 'raw'", lambda: headspan.attention(Q, Q, Q, return_scores="raw")),  # type: ignore[arg-type]
    (ValueError, "noise_variance: one or 5", lambda: headspan.weight_covariance(Q, Q, noise_variance=[1, 2])),
    (ValueError, "noise_variance", lambda: headspan.weight_covariance(Q, Q, noise_variance=-1.0)),
    (ValueError, "noise_variance", lambda: headspan.weight_covariance(Q, Q, noise_variance=np.nan)),
]


@pytest.mark.parametrize(("kind", "message", "call"), REFUSED, ids=[message[:40] for _, message, _ in REFUSED])
def test_refused(kind: type[Exception], message: str, call: Callable[[], object]) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_degenerate_but_defined() -> None:
    assert nw(at=np.zeros((0, 2))).output.shape == (0,)
    assert nw(y=np.stack([Y, Y], 1), at=np.zeros((0, 2))).output.shape == (0, 2)
    one = nw([[1.0, 2.0]], [5.0], [[9.0, 9.0]])
    assert one.output.tolist() == [5.0] and one.n_eff.tolist() == [1.0]
    same = nw(np.ones((4, 2)), [1.0, 2.0, 3.0, 6.0])
    assert same.output == pytest.approx([3.0] * 4) and same.n_eff == pytest.approx([4.0] * 4)
    constant_column = nw(X * [1, 0], Y)
    assert constant_column.output == pytest.approx(nw(X[:, 0], Y).output, rel=1e-12)
    assert nw([1.0, 2.0], [1.0, 3.0], 1.5).output.tolist() == [2.0]
    assert headspan.attention(Q[:, :, :0], Q, Q).output.shape == (1, 2, 0, 4)
    no_keys = headspan.attention(Q, Q[:, :, :0], Q[:, :, :0], return_n_eff=True)
    assert (no_keys.output == 0).all() and no_keys.n_eff is not None and (no_keys.n_eff == 0).all()


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "strided rows": lambda a: np.repeat(a, 3, axis=0)[::3],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "transposed": lambda a: np.asfortranarray(a),
    "wider rows": lambda a: np.concatenate([a, a], axis=-1)[..., : a.shape[-1]] if a.ndim > 1 else a,
    "strided columns": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "misaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, a.size, 1).reshape(a.shape),
    "big endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_gives_the_same(layout: str) -> None:
    lay = LAYOUTS[layout]
    wanted, found = nw(at=X[:7]), nw(lay(X), lay(Y), lay(X[:7].copy()))
    assert (found.output == wanted.output).all()
    q, k, v = (np.random.default_rng(seed).normal(size=(2, 4, 6, 4)) for seed in (1, 2, 3))
    mask = np.random.default_rng(4).normal(size=(6, 6))
    attended = headspan.attention(lay(q), lay(k), lay(v), mask=lay(mask))
    assert (attended.output == headspan.attention(q, k, v, mask=mask).output).all()


def test_read_only_and_broadcast_arrays() -> None:
    frozen = X.copy()
    frozen.setflags(write=False)
    assert (nw(frozen, Y).output == nw().output).all()
    repeated = np.broadcast_to(X[0], (30, 2))
    assert (nw(repeated, Y).output == nw(repeated.copy(), Y).output).all()
    shared = np.broadcast_to(Q, (3, 2, 5, 4))
    assert (headspan.attention(shared, shared, shared).output == headspan.attention(Q, Q, Q).output).all()


def test_what_can_be_strided_over_is_not_copied() -> None:
    wide = np.zeros((50, 8))
    for view in (wide, wide[:, :3], wide[::2, :3], wide[:, 0]):
        assert np.shares_memory(_arrays.rows("x", view, np.float64), wide)
    tensor = np.zeros((2, 5, 12))
    assert np.shares_memory(_arrays.adjacent(tensor.reshape(2, 5, 3, 4).transpose(0, 2, 1, 3)), tensor)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_])
def test_integers_are_converted_to_double(dtype: Any) -> None:
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    y = np.array([1, 0, 1, 1, 0]).astype(dtype)
    found = headspan.nadaraya_watson(x, y, bandwidth=1)
    assert found.output.dtype == np.float64
    wanted = headspan.nadaraya_watson(x.astype(float), y.astype(float), bandwidth=1)
    assert (found.output == wanted.output).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_widened(dtype: Any) -> None:
    x, y, q = X.astype(dtype), Y.astype(dtype), Q.astype(dtype)
    found = headspan.nadaraya_watson(x, y, bandwidth=0.5)
    wanted = headspan.nadaraya_watson(x.astype(np.float32), y.astype(np.float32), bandwidth=0.5)
    assert found.output.dtype == np.float32 and (found.output == wanted.output).all()
    attended = headspan.attention(q, q, q).output
    wide = q.astype(np.float32)
    assert attended.dtype == np.float32 and (attended == headspan.attention(wide, wide, wide).output).all()


class OnlyDlpack:
    """An array that can be read through DLPack and in no other way."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class Elsewhere(OnlyDlpack):
    """The same on a device."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("this array lives on a device")


def test_dlpack_arrays() -> None:
    found = headspan.nadaraya_watson(OnlyDlpack(X), OnlyDlpack(Y), bandwidth=0.8)  # type: ignore[arg-type]
    assert (found.output == nw().output).all()
    with pytest.raises(TypeError, match=r"x: its data cannot be read through DLPack .* lives on a device"):
        headspan.nadaraya_watson(Elsewhere(X), Y, bandwidth=0.8)  # type: ignore[arg-type]


def test_the_same_bits_for_any_number_of_threads() -> None:
    random = np.random.default_rng(9)
    x, y = random.normal(size=(3000, 3)), random.normal(size=3000)
    q = random.normal(size=(1, 4, 600, 16)).astype(np.float32)
    by_threads = [
        [
            headspan.nadaraya_watson(x, y, bandwidth=0.4, threads=threads).output,
            headspan.attention(q, q, q, causal=True, threads=threads).output,
            headspan.weight_covariance(q, q, average=True, threads=threads),
            headspan.smoother_scores(x, y, bandwidth=0.4, threads=threads).loo_residual,
            headspan.select_bandwidth(x[:200], y[:200], n_starts=2, threads=threads).bandwidth,
        ]
        for threads in (1, 2, 5, None)
    ]
    for other in by_threads[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(by_threads[0], other, strict=True))


def test_calls_cost_less_than_a_millisecond() -> None:
    def least(call: Callable[[], object]) -> float:
        times = []
        for _ in range(200):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times)

    q = Q.astype(np.float32)
    assert least(lambda: nw(X[:3], Y[:3])) < 1e-3
    assert least(lambda: headspan.attention(q, q, q)) < 1e-3
    assert least(lambda: headspan.weight_covariance(q, q)) < 1e-3
    assert least(lambda: headspan.decompose(np.eye(2))) < 1e-3


def test_other_threads_run_meanwhile() -> None:
    x = np.random.default_rng(3).normal(size=(30000, 4))
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        headspan.nadaraya_watson(x, x[:, 0], bandwidth=0.5, threads=1)
        ended.set()

    worker = threading.Thread(target=work)
    worker.start()
    began.wait()
    turns = 0
    while not ended.is_set():
        turns += 1
        time.sleep(0.001)
    worker.join()
    # With the lock held there would be a turn before the call and one after it.
    assert turns > 10


INTERRUPTED = """
import numpy, headspan, sys
x = numpy.random.default_rng(0).normal(size=(1_000_000, 3))
print("ready", flush=True)
try:
    headspan.nadaraya_watson(x, x[:, 0], bandwidth=0.3)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_control_c_ends_a_call() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted\n" and process.returncode == 0
    assert time.monotonic() - start < 20
