"""Writing and reading safetensors byte by byte, so that broken files can be made on purpose."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ROUNDOFF = {"F64": 2.0**-53, "F32": 2.0**-24, "F16": 2.0**-11, "BF16": 2.0**-8}


def bf16_bits(values: Array) -> npt.NDArray[np.uint16]:
    """Upper halves of the float32 patterns, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, dtype="<f4").view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet_nan = np.uint64(0x7FC0)
    return np.where(np.isnan(values), quiet_nan, rounded).astype("<u2")


def encode(values: Array, dtype: str) -> bytes:
    """Little-endian bytes of `values` in the element type `dtype`."""
    if dtype == "BF16":
        return bf16_bits(np.asarray(values, dtype=np.float64)).tobytes()
    return np.ascontiguousarray(values).astype({"F64": "<f8", "F32": "<f4", "F16": "<f2"}[dtype]).tobytes()


def decode(data: bytes, dtype: str, shape: Sequence[int]) -> Array:
    """The float64 array behind `data`."""
    if dtype == "BF16":
        bits = np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16
        flat = bits.view(np.float32).astype(np.float64)
    else:
        flat = np.frombuffer(data, dtype={"F64": "<f8", "F32": "<f4", "F16": "<f2"}[dtype]).astype(np.float64)
    return flat.reshape(tuple(shape))


def as_stored(values: Array, dtype: str) -> Array:
    """`values` after a trip through the element type."""
    return decode(encode(values, dtype), dtype, np.shape(values))


def frame(header: str | bytes, data: bytes, length: int | None = None) -> bytes:
    """A file image: header length (or a false one), header, data."""
    raw = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def image(tensors: Mapping[str, Array], dtype: str | Mapping[str, str] = "F32", metadata: Any = None) -> bytes:
    """A valid file image of `tensors`."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    chunks: list[bytes] = []
    start = 0
    for name, values in tensors.items():
        kind = dtype if isinstance(dtype, str) else dtype.get(name, "F32")
        chunk = encode(values, kind)
        header[name] = {"dtype": kind, "shape": list(np.shape(values)), "data_offsets": [start, start + len(chunk)]}
        chunks.append(chunk)
        start += len(chunk)
    return frame(json.dumps(header), b"".join(chunks))


def read(path: Path) -> dict[str, tuple[Array, str]]:
    """Every readable tensor of a valid file with its element type."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    body = raw[8 + length :]
    out: dict[str, tuple[Array, str]] = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in ROUNDOFF:
            continue
        begin, end = entry["data_offsets"]
        out[name] = (decode(body[begin:end], entry["dtype"], entry["shape"]), entry["dtype"])
    return out
