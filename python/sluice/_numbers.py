"""Lists of numbers that a caller gives, as the engine takes them: int64, and nothing that was cut off on the way."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from .errors import UsageError

__all__ = ["numbers"]

_MOST = np.iinfo(np.int64).max


def _refuse(what: str, hint: str) -> NoReturn:
    raise UsageError(what, hint)


def _whole(values: np.ndarray) -> np.ndarray:
    """Floats that are whole numbers, as a column of a table with gaps has them."""
    fit = np.isfinite(values) & (np.abs(values) <= 2.0**53) & (values == np.floor(values))
    if not fit.all():
        _refuse(f"{values[~fit][0]} is no whole number", "give numbers of nodes, edges or graphs, or times, as whole numbers")
    return values.astype(np.int64)


def _objects(values: np.ndarray) -> np.ndarray:
    try:
        return np.array([operator.index(each) for each in values.tolist()], dtype=np.int64)
    except TypeError:
        _refuse("a list holds what is no whole number", "give numbers; Dataset.dense_ids() finds nodes by their own ids")
    except OverflowError:
        _refuse("a list holds a number that is beyond 64 bits", "give numbers; Dataset.dense_ids() finds nodes by their own ids")


def numbers(values: Any) -> np.ndarray:
    """int64 [n] of a list, an array or a tensor. Raises UsageError for masks, parts of numbers, text and dates."""
    if hasattr(values, "detach"):  # PyTorch's, wherever it lies
        values = values.detach().cpu()
    given = np.asarray(values).reshape(-1)
    kind = given.dtype.kind
    if kind == "b":
        _refuse("a mask is given where numbers are asked for", "numpy.flatnonzero(mask) are the numbers of what it picks")
    if kind in "US" and given.size:
        _refuse("text is given where numbers are asked for", "Dataset.dense_ids() finds nodes by their own ids")
    if kind in "mM":
        _refuse(
            f"times are given as {given.dtype}",
            "give whole numbers in the dataset's own ticks: times.astype('datetime64[s]').astype('int64') are seconds since 1970",
        )
    if kind == "u" and given.size and int(given.max()) > _MOST:
        _refuse(f"{given.max()} is beyond int64", "give numbers of nodes, edges or graphs, or times")
    if kind == "f":
        given = _whole(given)
    elif kind == "O":
        given = _objects(given)
    elif kind not in "iuUS":
        _refuse(f"numbers are given as {given.dtype}", "give whole numbers")
    return np.ascontiguousarray(given, dtype=np.int64)
