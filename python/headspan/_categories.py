"""Columns of words or integers as codes of levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays

CategoryKernelName = Literal["aitchison_aitken", "li_racine", "wang_van_ryzin", "li_racine_ordered"]
Level: TypeAlias = str | int
Codes: TypeAlias = NDArray[np.int32]

_ORDERED = ("wang_van_ryzin", "li_racine_ordered")


@dataclass(frozen=True, eq=False)
class Levels:
    """The columns of categories of the keys."""

    codes: Codes
    """[n, c] places in `names`."""
    kernels: list[str]
    """[c]"""
    names: list[list[Level]]
    """[c] the levels in order, those that no key has included."""

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @property
    def counts(self) -> list[int]:
        """[c]"""
        return [len(names) for names in self.names]

    def lambdas(self, lambda_: Any) -> NDArray[np.float64]:
        """[c] from one for all or one for each."""
        given = _arrays.vector("lambda_", np.asarray(lambda_, dtype=np.float64))
        if self.n_columns == 0 and given.size > 0:
            raise ValueError("lambda_: there are no categories; leave it out")
        if self.n_columns > 0 and len(given) not in (1, self.n_columns):
            raise ValueError(f"lambda_: one or {self.n_columns} of them wanted, there are {len(given)}")
        return np.ascontiguousarray(np.broadcast_to(given, self.n_columns))

    def check_rows(self, n: int, m: int = 0, queries: Codes | None = None) -> None:
        """As many rows of categories as of numbers."""
        if self.n_columns > 0 and len(self.codes) != n:
            raise ValueError(f"categories: {len(self.codes)} rows for {n} rows of x")
        if queries is not None and self.n_columns > 0 and len(queries) != m:
            raise ValueError(f"at_categories: {len(queries)} rows for {m} queries")

    def encode_queries(self, categories: ArrayLike) -> Codes:
        """[m, c]; an unordered level that no key has gets a code of no key."""
        columns = _columns("at_categories", categories)
        if len(columns) != self.n_columns:
            raise ValueError(f"at_categories: {len(columns)} columns, categories has {self.n_columns}")
        codes = np.empty((len(columns[0]), self.n_columns), dtype=np.int32)
        for k, column in enumerate(columns):
            codes[:, k] = self._encode_column(k, column)
        return codes

    def _encode_column(self, k: int, column: list[Level]) -> list[int]:
        names = self.names[k]
        place = {name: code for code, name in enumerate(names)}
        if column and names and isinstance(column[0], str) != isinstance(names[0], str):
            raise TypeError(f"at_categories: column {k} is of {_kind(column[0])}, in categories of {_kind(names[0])}")
        for i, level in enumerate(column):
            if level not in place and self.kernels[k] in _ORDERED:
                raise ValueError(
                    f"at_categories: column {k}, row {i}: level {level!r} has no place in "
                    f"{' < '.join(map(str, names))}; name every level in category_levels, or leave such queries out"
                )
        return [place.get(level, len(names)) for level in column]


def encode(
    categories: ArrayLike | None,
    kernel: CategoryKernelName | Sequence[CategoryKernelName],
    levels: Sequence[Sequence[Any] | None] | None,
) -> Levels:
    """The columns of `categories`; without any, no columns."""
    if categories is None:
        if levels is not None:
            raise ValueError("category_levels: there are no categories")
        return Levels(np.empty((0, 0), dtype=np.int32), [], [])
    columns = _columns("categories", categories)
    c = len(columns)
    kernels = [kernel] * c if isinstance(kernel, str) else list(kernel)
    if len(kernels) != c:
        raise ValueError(f"category_kernel: one or {c} of them wanted, there are {len(kernels)}")
    orders = _own_orders(categories, c) if levels is None else list(levels)
    if len(orders) != c:
        raise ValueError(f"category_levels: {c} of them wanted, one for each column, there are {len(orders)}")
    names = [_names(k, column, order) for k, (column, order) in enumerate(zip(columns, orders, strict=True))]
    codes = np.empty((len(columns[0]), c), dtype=np.int32)
    for k, column in enumerate(columns):
        place = {name: code for code, name in enumerate(names[k])}
        codes[:, k] = [place[level] for level in column]
    return Levels(codes, [str(one) for one in kernels], names)


def queries(
    levels: Levels, at: ArrayLike | None, at_categories: ArrayLike | None, leave_one_out: bool
) -> tuple[ArrayLike | None, Codes]:
    """Where to estimate: `at`, without columns where categories alone are given, and the codes there."""
    if levels.n_columns == 0:
        if at_categories is not None:
            raise ValueError("at_categories: there are no categories")
        return at, levels.codes
    if at_categories is None:
        if at is not None:
            raise ValueError("at_categories: the categories of the queries are wanted beside at")
        return at, levels.codes
    if leave_one_out:
        raise ValueError("at_categories: leave_one_out is defined at x itself; leave it out")
    codes = levels.encode_queries(at_categories)
    return (np.empty((len(codes), 0)) if at is None else at), codes


def _names(k: int, column: list[Level], order: Sequence[Any] | None) -> list[Level]:
    """The levels of the column, sorted or in the order given."""
    found = set(column)
    if order is None:
        return sorted(found, key=lambda level: (isinstance(level, str), level))
    given = _cells("category_levels", k, np.asarray(order, dtype=object))
    if len(set(given)) != len(given):
        raise ValueError(f"category_levels: a level of column {k} is named twice")
    missing = found.difference(given)
    if missing:
        raise ValueError(f"category_levels: column {k} also has level {min(missing, key=str)!r}; name every level")
    return given


def _own_orders(categories: Any, c: int) -> list[Any]:
    """[c] the levels that the dtype of a column states, as pandas' does; None where it states none."""
    columns = [categories]
    if hasattr(categories, "columns") and hasattr(categories, "dtypes"):
        columns = [categories[name] for name in categories.columns]
    dtypes: list[Any] = [getattr(column, "dtype", None) for column in columns]
    if len(dtypes) != c:
        return [None] * c
    return [list(dtype.categories) if getattr(dtype, "ordered", None) else None for dtype in dtypes]


def _columns(name: str, categories: ArrayLike) -> list[list[Level]]:
    # Not as one array of words: 10 would come before 2.
    is_list = isinstance(categories, (list, tuple))
    table = np.asarray(categories, dtype=object) if is_list else np.asarray(categories)
    if table.ndim == 1:
        table = table[:, np.newaxis]
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"{name}: [n] or [n, c] wanted, its shape is {table.shape}")
    return [_cells(name, k, table[:, k]) for k in range(table.shape[1])]


def _cells(name: str, k: int, column: NDArray[Any]) -> list[Level]:
    """Words, or integers; of a boolean 0 and 1."""
    cells = column.tolist()
    for i, cell in enumerate(cells):
        if cell is None or (isinstance(cell, float) and np.isnan(cell)):
            raise ValueError(f"{name}: column {k}, row {i}: the level is missing; leave such rows out")
        if not isinstance(cell, (str, int, np.integer, np.bool_)):
            raise TypeError(f"{name}: column {k}: words or integers wanted, row {i} is of {_kind(cell)}")
        if isinstance(cell, str) != isinstance(cells[0], str):
            raise TypeError(f"{name}: column {k} mixes words and integers, the first in row {i}")
    return cells if cells and isinstance(cells[0], str) else [int(cell) for cell in cells]


def _kind(cell: Any) -> str:
    return "words" if isinstance(cell, str) else type(cell).__name__
