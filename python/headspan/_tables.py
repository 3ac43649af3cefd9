"""Tables of any library, pandas, polars or Arrow, as columns of numbers and columns of words."""

from __future__ import annotations

from typing import Any, TypeAlias

import narwhals.stable.v2 as narwhals
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

Column: TypeAlias = tuple[str, NDArray[np.float64] | None, NDArray[np.int32] | None, list[str]]
"""Name; numbers, NaN where missing; or places in the list of words, -1 where missing."""

_WORDS = (
    narwhals.String,
    narwhals.Categorical,
    narwhals.Enum,
    narwhals.Date,
    narwhals.Datetime,
    narwhals.Time,
)
# A pandas column of objects may hold numbers; scikit-learn looks.
_PERHAPS_NUMBERS = (narwhals.Boolean, narwhals.Object, narwhals.Unknown)


def word_columns(X: Any) -> list[str]:
    """The columns of a table that are no numbers, dates among them; none for an array.

    Raises ValueError for a column of lists, bytes and the like.
    """
    if not narwhals.dependencies.is_into_dataframe(X):
        return []
    words = []
    for name, dtype in narwhals.from_native(X).schema.items():
        if isinstance(dtype, _WORDS):
            words.append(name)
        elif not (dtype.is_numeric() or isinstance(dtype, _PERHAPS_NUMBERS)):
            raise ValueError(
                f"X: column {name!r} is of type {dtype}; numbers, words or categories are wanted: derive such columns "
                "from it, or leave it out"
            )
    return words


def names_of_positions(n: int) -> list[str]:
    return [f"x{j}" for j in range(n)]


def columns_of_numbers(rows: NDArray[np.float64], names: list[str]) -> list[Column]:
    return [(name, np.ascontiguousarray(rows[:, j]), None, []) for j, name in enumerate(names)]


def columns_of_table(X: Any, words: list[str]) -> list[Column]:
    """The columns of a table in its order, those in `words` as words."""
    frame = narwhals.from_native(X)
    named = {str(name): _words(str(name), frame[name]) for name in words}
    numbers = [name for name in frame.columns if name not in words]
    if numbers:
        rows = check_array(frame.select(numbers).to_native(), dtype=np.float64, ensure_all_finite="allow-nan")
        named |= {column[0]: column for column in columns_of_numbers(rows, [str(name) for name in numbers])}
    return [named[str(name)] for name in frame.columns]


def _words(name: str, series: narwhals.Series[Any]) -> Column:
    places: dict[str, int] = {}
    codes = np.full(len(series), -1, dtype=np.int32)
    for i, (cell, missing) in enumerate(zip(series.to_list(), series.is_null().to_list(), strict=True)):
        if not missing:
            codes[i] = places.setdefault(str(cell), len(places))
    return name, None, codes, list(places)
