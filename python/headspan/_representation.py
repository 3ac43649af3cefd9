"""How results of the compiled part show themselves: Name(member=value, ...), one way for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core

_SHOWN = 8  # members of an array or a list that are written out


def show_results() -> None:
    """Gives every compiled type that has public members a readable repr."""
    for kind in vars(_core).values():
        if isinstance(kind, type) and kind.__module__ == _core.__name__ and _members(kind):
            setattr(kind, "__repr__", _representation)  # noqa: B010


def _members(kind: type) -> list[str]:
    return [name for name, member in vars(kind).items() if isinstance(member, property) and not name.startswith("_")]


def _representation(result: Any) -> str:
    members = ", ".join(f"{name}={_text(getattr(result, name))}" for name in _members(type(result)))
    return f"{type(result).__name__}({members})"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and len(value) <= _SHOWN:
            return f"array([{', '.join(_text(one) for one in value.tolist())}])"
        return f"<array of shape {value.shape}>"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_text(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        if value and _members(type(value[0])):
            return f"<{len(value)} of {type(value[0]).__name__}>"
        shown = ", ".join(_text(one) for one in value[:_SHOWN])
        return f"[{shown}, ... {len(value)} in all]" if len(value) > _SHOWN else f"[{shown}]"
    return repr(value)
