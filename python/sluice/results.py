"""What a trained model predicted, under the user's own ids, and its weights. Needs NumPy alone."""

from __future__ import annotations

import csv
import glob
import json
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .errors import DataError, Place, UsageError

__all__ = ["Predictions", "Weights", "predictions", "weights"]

Path = Union[str, "os.PathLike[str]"]

def _ids_among(fields: Sequence[str]) -> Tuple[str, ...]:
    """The columns that say whom: of nodes "id", whose own "target" is what was predicted; else both ends of a link."""
    return ("id",) if "id" in fields else tuple(name for name in ("source", "target") if name in fields)


@dataclass(frozen=True)
class Predictions:
    """Rows of ids and values, as `sluice-train predict` wrote them."""

    path: str
    ids: Dict[str, np.ndarray]
    """"id" of nodes, or "source" and "target" of links: int64, or text."""
    values: Dict[str, np.ndarray]
    """By column: int64 classes (-1: none was made), or float32 (NaN: none was made); text, of types of links with names."""
    names: Optional[np.ndarray]
    """Of the classes, as text, where they have names; empty text where none was made."""

    def __len__(self) -> int:
        return len(next(iter(self.ids.values())))

    def by_id(self) -> Dict[Any, Any]:
        """{id: value} of nodes, {(source, target): value} of links; the class's name, the number, or a tuple of them."""
        keys = [column.tolist() for column in self.ids.values()]
        columns = [self.names.tolist()] if self.names is not None else [c.tolist() for c in self.values.values()]
        whom = keys[0] if len(keys) == 1 else list(zip(*keys))
        what = columns[0] if len(columns) == 1 else list(zip(*columns))
        found = dict(zip(whom, what))
        if len(found) != len(whom):
            self._check_repeats(whom, what)
        return found

    def _check_repeats(self, whom: List[Any], what: List[Any]) -> None:
        """A link may be asked about twice, and is answered alike; else a dictionary would lose rows."""
        first: Dict[Any, Any] = {}
        for each, value in zip(whom, what):
            if first.setdefault(each, value) != value and str(first[each]) != str(value):  # NaN is not itself
                raise UsageError(
                    f"there are several rows of {each!r}, which differ", "go through ids and values row by row", Place(self.path)
                )


def _file_of(path: str) -> str:
    if not os.path.isdir(path):
        return path
    found = sorted(glob.glob(os.path.join(path, "*.npy")) + glob.glob(os.path.join(path, "*.csv")))
    if len(found) == 1:
        return found[0]
    what = "several files of predictions" if found else "no predictions"
    raise UsageError(
        f"there are {what} in it",
        f"name one of: {', '.join(found)}" if found else f"write some: sluice-train predict {path} --out {path}/predictions.npy",
        Place(path),
    )


def _text(column: np.ndarray) -> np.ndarray:
    return np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column


def _of_array(path: str, records: np.ndarray) -> Predictions:
    fields = records.dtype.names or ()
    whom = _ids_among(fields)
    if not whom:
        raise DataError("an array without ids is no file of predictions", "write it by sluice-train predict", Place(path))
    ids = {name: _text(records[name]) for name in whom}
    values = {name: _text(records[name]) for name in fields if name not in whom and name != "class_name"}
    return Predictions(path, ids, values, _text(records["class_name"]) if "class_name" in fields else None)


def _numbers(name: str, cells: List[str]) -> np.ndarray:
    """int64 where all are, -1 for none; else float32, NaN for none, as targets and scores always are; else text."""
    try:
        if not name.startswith(("target", "probability", "score")):
            return np.array([int(cell) if cell else -1 for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float32)
    except ValueError:
        return np.array(cells, dtype=np.str_)


def _ids_of(cells: List[str]) -> np.ndarray:
    """int64 where all are numbers as they are written; "007" and what is beyond int64 stay text, and so do all beside them."""
    try:
        found = np.array([int(cell) for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(cells, dtype=np.str_)
    return found if [str(each) for each in found.tolist()] == cells else np.array(cells, dtype=np.str_)


def _of_csv(path: str) -> Predictions:
    hint = "write it by sluice-train predict"
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as problem:
        raise DataError(f"not a file of predictions: {problem}", hint, Place(path)) from None
    whom = _ids_among(rows[0]) if rows else ()
    if not whom:
        raise DataError("a table without ids is no file of predictions", hint, Place(path))
    short = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), 0)
    if short:
        what = f"row {short} has {len(rows[short])} fields, the header {len(rows[0])}"
        raise DataError(what, f"the file was cut off or changed: {hint}", Place(path))
    columns = {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}
    names = columns.pop("class_name", None)
    return Predictions(
        path,
        {name: _ids_of(cells) for name, cells in columns.items() if name in whom},
        {name: _numbers(name, cells) for name, cells in columns.items() if name not in whom},
        None if names is None else np.array(names, dtype=np.str_),
    )


def predictions(path: Path) -> Predictions:
    """Reads what `sluice-train predict` wrote: a .npy or .csv file, or a folder, as a run directory, that has one.

    Raises UsageError where a folder has none or several, DataError for a file of something else.
    """
    file = _file_of(os.fspath(path))
    if not os.path.exists(file):
        raise UsageError("there is no such file", "write it: sluice-train predict RUN --out FILE", Place(file))
    if file.endswith(".csv"):
        return _of_csv(file)
    try:
        records = np.load(file, mmap_mode="r", allow_pickle=False)
    except ValueError as problem:
        raise DataError(f"not a NumPy file: {problem}", "", Place(file)) from None
    return _of_array(file, records)


# The types of safetensors that are written by Sluice or read by NumPy as they are.
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "i1", "U8": "u1", "BOOL": "?"}


@dataclass(frozen=True)
class Weights:
    """A model's weights, as a run or `sluice-train export` wrote them."""

    path: str
    arrays: Dict[str, np.ndarray]
    """By the names of PyTorch's `state_dict`; those of the task's own begin with "head."."""
    metadata: Dict[str, str]
    """"model", "task", "epoch"."""
    classes: List[str]
    """Names of the classes, by number; empty where they have none."""


def weights(path: Path) -> Weights:
    """Reads weights: a .safetensors file, or a run directory that has one.

    Raises UsageError where there is none, DataError for a file of something else.
    """
    file = os.fspath(path)
    if os.path.isdir(file):
        file = os.path.join(file, "weights.safetensors")
    if not os.path.exists(file):
        hint = "a run writes it at its end; of one that is under way: sluice-train export RUN --out FILE.safetensors"
        raise UsageError("there is no such file", hint, Place(file))
    with open(file, "rb") as opened:
        raw = opened.read()
    try:
        begin = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:begin])
        metadata = header.pop("__metadata__", {})
        arrays = {}
        for name, tensor in header.items():
            first, last = tensor["data_offsets"]
            flat = np.frombuffer(raw[begin + first : begin + last], dtype=_TYPES[tensor["dtype"]])
            arrays[name] = flat.reshape(tensor["shape"]).copy()
        classes = json.loads(metadata.pop("classes", "[]"))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataError(f"not a file of safetensors: {problem!r}", "name one that sluice-train wrote", Place(file)) from None
    return Weights(file, arrays, metadata, classes)
