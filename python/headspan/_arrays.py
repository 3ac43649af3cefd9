"""Arrays of any origin as numpy arrays of a type and layout that the compiled part takes without a copy.

Accepted: numpy arrays, anything with `__dlpack__` in CPU memory (torch, jax ...), and whatever `numpy.asarray` makes
an array of numbers from (lists, pandas). Read-only, strided and broadcast arrays are fine; what the compiled part
cannot stride over is copied, once.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _core

Array: TypeAlias = NDArray[Any]

HALF = ("float16", "bfloat16")


def numbers(name: str, value: Any) -> Array:
    """`value` as an array of booleans, integers, float32 or float64; half precision is widened to float32.

    Raises TypeError, naming the argument, where it is no array of real numbers.
    """
    # What is ready goes through untouched: small calls are made of checks.
    if type(value) is np.ndarray and value.dtype.char in "fd" and value.dtype.isnative:
        return value
    array = _as_numpy(name, value)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array hides values that would be used; fill or drop them first")
    if array.dtype.name in HALF:
        return array.astype(np.float32)
    if array.dtype.kind == "f":
        wanted = np.float32 if array.dtype.itemsize == 4 else np.float64
        return array.astype(wanted, copy=False)
    if array.dtype.kind in "biu":
        return array
    raise TypeError(f"{name}: real numbers wanted, its dtype is {array.dtype}")


def _as_numpy(name: str, value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(name, value)
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: no array can be made of it: {error}") from error


def _from_dlpack(name: str, value: Any) -> Array:
    try:
        if "bfloat16" in str(getattr(value, "dtype", "")):
            return _core.widen_bfloat16(value)
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"{name}: its data cannot be read through DLPack (it must be in CPU memory, and a torch tensor "
            f"detached from its gradient): {error}"
        ) from error


def floating(name: str, value: Any) -> Array:
    """Like `numbers`, and floating point already: integers here would be a mistake."""
    array = numbers(name, value)
    if array.dtype.kind != "f":
        raise TypeError(f"{name}: floating point wanted, its dtype is {array.dtype}")
    return array


def working_type(*arrays: Array) -> type[np.float32] | type[np.float64]:
    """float32 where all are, float64 otherwise."""
    return np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64


def adjacent(array: Array) -> Array:
    """`array`, or a copy where the numbers of its last axis are not adjacent and aligned."""
    size = array.itemsize
    usable = array.flags.aligned and all(s % size == 0 for s in array.strides)
    if usable and (array.shape[-1] <= 1 or array.strides[-1] == size):
        return array
    return np.ascontiguousarray(array)


def rows(name: str, value: Any, dtype: type[Any]) -> Array:
    """A matrix [n, d] of `dtype` whose rows follow one another; one dimension is one column."""
    array = numbers(name, value)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise ValueError(f"{name}: one or two dimensions wanted, its shape is {array.shape}")
    array = adjacent(array.astype(dtype, copy=False))
    following = array.shape[0] <= 1 or array.strides[0] >= array.shape[1] * array.itemsize
    return array if following else np.ascontiguousarray(array)


def vector(name: str, value: Any) -> NDArray[np.float64]:
    """Contiguous float64 [n]; a single number is a vector of one."""
    array = numbers(name, value)
    if array.ndim > 1:
        raise ValueError(f"{name}: one dimension wanted, its shape is {array.shape}")
    return np.ascontiguousarray(np.atleast_1d(array), dtype=np.float64)


def optional_vector(name: str, value: Any) -> NDArray[np.float64]:
    """An empty vector for None."""
    return np.empty(0) if value is None else vector(name, value)


def integers(name: str, value: Any) -> list[int]:
    """A list of integers from an integer or a vector of them."""
    array = np.atleast_1d(numbers(name, value))
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise TypeError(f"{name}: an integer or a vector of integers wanted")
    return [int(one) for one in array]


def integer(name: str, value: Any, least: int, most: int) -> int:
    """`value`, an integer from `least` to `most`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: an integer wanted, not {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name}: at least {least}, it is {value}")
    if value > most:
        raise ValueError(f"{name}: at most {most}, it is {value}")
    return int(value)


def number(name: str, value: Any) -> float:
    """`value`, a real number; its range the compiled part knows."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: a number wanted, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: too large for a floating-point number") from None


def count(name: str, value: Any) -> int:
    """`value`, an integer; its range but for that of 64 bits the compiled part knows."""
    return integer(name, value, -(2**63), 2**63 - 1)


def seed_number(value: Any) -> int:
    """`value`, an integer that a seed can be."""
    return integer("seed", value, 0, 2**64 - 1)


def flag(name: str, value: Any) -> bool:
    """`value`, True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: True or False wanted, not {type(value).__name__}")
    return bool(value)


def thread_count(threads: int | None) -> int:
    """0, all cores, for None."""
    return 0 if threads is None else integer("threads", threads, 1, 2**31 - 1)


def word(name: str, value: Any) -> str:
    """`value`, which must be text; which words there are the compiled part knows."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: a name in quotes wanted, not {type(value).__name__}")
    return value


def require_finite(name: str, array: Array) -> None:
    """Raises ValueError naming the first NaN or infinity."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    bad = np.argwhere(~np.isfinite(array))
    place = tuple(int(i) for i in bad[0])
    raise ValueError(f"{name}: must be finite, at {list(place)} it is {array[place]}")
