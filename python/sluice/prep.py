"""Makes and checks datasets: `sluice-prep` as a child process, so that its libraries and PyTorch's never meet.

Each function runs one command and returns what that says with --json: a dictionary. Errors are the package's exceptions, and
what the command guessed, dropped or read in another way is a Python warning; Ctrl-C stops the command, which leaves nothing
half-written. `memory` is its budget ("2GiB"; "auto": three quarters of what
the process may use), `threads` its worker threads (0: all cores), `progress` whether a line says how far it is: None on
terminals and in notebooks.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from ._child import run, tool, warn
from ._keys import toml
from .errors import Error

__all__ = [
    "append",
    "attach",
    "check",
    "compact",
    "describe",
    "export",
    "generate",
    "hold_out",
    "import_",
    "inspect",
    "partition",
    "propagate",
    "reorder",
    "tool",
    "verify",
]

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]
Config = Union[Path, Mapping[str, Any]]


def _paths(paths: Optional[Paths]) -> List[str]:
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


def _flags(options: Mapping[str, Any]) -> List[str]:
    """--key value of what is set; a flag alone for True."""
    flags: List[str] = []
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        if hasattr(value, "tolist"):  # NumPy's
            value = value.tolist()
        if isinstance(value, (list, tuple)):
            value = ",".join(str(each) for each in value)
        if value is None or value is False:
            continue
        flags += [flag] if value is True else [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return flags


def _sets(keys: Optional[Mapping[str, Any]]) -> List[str]:
    return [word for key, value in (keys or {}).items() for word in ("--set", f"{key}={toml(value)}")]


def _skipped(said: Dict[str, Any]) -> Dict[str, Any]:
    """What was asked to be skipped is said too, as a warning with its number."""
    for relation in said.get("relations", []):
        rows = relation.get("rows_skipped", 0)
        if rows:
            warn(f"{relation['relation']}: rows left out, as they name nodes that are not there: {rows:,}")
    return said


def _with_config(command: List[str], config: Optional[Config], root: Optional[Path], progress: Optional[bool]) -> Any:
    """Runs a command with a config: a file, or a dictionary that is written to one."""
    if config is None or not isinstance(config, Mapping):
        return run(command + _flags({"config": config, "root": root}), progress=progress)
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        path = os.path.join(folder, "graph.toml")
        with open(path, "w", encoding="utf-8") as file:
            for key, value in config.items():
                file.write(f"{key} = {toml(value)}\n")
        try:
            return run(command + _flags({"config": path, "root": root or os.getcwd()}), progress=progress)
        except Error as error:  # of a file that nobody else knows
            place = error.place._replace(file=error.place.file.replace(path, "config"))
            raise type(error)(error.message.replace(path, "config"), error.hint, place) from None


def import_(
    path: Optional[Paths] = None,
    *,
    out: Path,
    config: Optional[Config] = None,
    root: Optional[Path] = None,
    layout: Optional[str] = None,
    dtype: Optional[str] = None,
    rounding: Optional[str] = None,
    keys: Optional[Mapping[str, Any]] = None,
    overwrite: bool = False,
    resume: bool = False,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Turns raw files into the dataset `out`.

    config: the graph.toml that describes the files (docs/import.md), or the same as a dictionary, whose files lie below
    `root` or the current folder. path: instead, a folder or files that are imported as `describe` would describe them;
    layout: how they lie. keys: override keys of the description, {"edges.undirected": True}. dtype, rounding: how features
    are stored. overwrite: replace a dataset that is there. resume: go on where the same call was killed.
    """
    options = {"layout": layout, "dtype": dtype, "rounding": rounding, "overwrite": overwrite, "resume": resume}
    common = {"out": out, "memory": memory, "threads": threads, "json": True}
    command = ["import", *_paths(path)] + _flags({**options, **common, "yes": path is not None}) + _sets(keys)
    return _skipped(_with_config(command, config, root, progress))


def describe(
    path: Paths,
    *,
    layout: Optional[str] = None,
    keys: Optional[Mapping[str, Any]] = None,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> str:
    """The graph.toml that describes a folder or files: text, to be looked at and given to `import_` as a config file."""
    options = {"layout": layout, "memory": memory, "threads": threads}
    return run(["import", *_paths(path)] + _flags(options) + _sets(keys), progress=progress, json_wanted=False)


def generate(
    kind: str,
    *,
    out: Path,
    overwrite: bool = False,
    resume: bool = False,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
    **options: Any,
) -> Dict[str, Any]:
    """Makes a synthetic graph: kind "rmat", "sbm", "temporal", "hetero" or "kg".

    options: those of the kind, as `sluice-prep generate KIND --help` lists them, with underscores: nodes=100_000,
    edges=1_000_000, features=64, classes=8, seed=2.
    """
    plain = {key: str(value).lower() if isinstance(value, (bool, np.bool_)) else value for key, value in options.items()}
    common = {"out": out, "overwrite": overwrite, "resume": resume, "memory": memory, "threads": threads, "json": True}
    return run(["generate", kind] + _flags({**plain, **common}), progress=progress)


def reorder(
    order: str,
    dataset: Path,
    *,
    out: Optional[Path] = None,
    overwrite: bool = False,
    type: Optional[str] = None,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
    **options: Any,
) -> Dict[str, Any]:
    """Stores nodes in another order ("degree", "bfs", "metis", "cluster", "none"), so that rows read together lie together.

    out: where to; None: the dataset is replaced. type: only this node type. options: those of the order.
    """
    common = {"out": out, "overwrite": overwrite, "type": type, "memory": memory, "threads": threads, "json": True}
    return run(["reorder", order, os.fspath(dataset)] + _flags({**options, **common}), progress=progress)


def append(
    dataset: Path,
    *,
    config: Config,
    root: Optional[Path] = None,
    keys: Optional[Mapping[str, Any]] = None,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Adds nodes and edges to a dataset, as a new generation. config: what to add, as for `import_`."""
    command = ["append", os.fspath(dataset)] + _flags({"memory": memory, "threads": threads, "json": True})
    return _skipped(_with_config(command + _sets(keys), config, root, progress))


def compact(
    dataset: Path, *, memory: str = "auto", threads: int = 0, progress: Optional[bool] = None
) -> Dict[str, Any]:
    """Folds appended edges into the files that training reads."""
    return run(["compact", os.fspath(dataset)] + _flags({"memory": memory, "threads": threads, "json": True}), progress=progress)


def partition(
    dataset: Path,
    *,
    parts: int = 16,
    type: Optional[str] = None,
    level: Optional[int] = None,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Adds node ranges and edge buckets, for training a few partitions at a time. level: of zstd."""
    options = {"parts": parts, "type": type, "level": level, "memory": memory, "threads": threads, "json": True}
    return run(["partition", os.fspath(dataset)] + _flags(options), progress=progress)


def propagate(
    dataset: Path,
    method: str,
    *,
    hops: int = 2,
    name: Optional[str] = None,
    replace: bool = False,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
    **options: Any,
) -> Dict[str, Any]:
    """Carries features or labels along the edges once: new feature tables of the dataset, by column panels within `memory`.

    method: "sgc", "sign", "metapaths", "random_projection" or "labels". name: of the tables. replace: those that are there.
    options: those that `sluice-prep propagate --help` lists, with underscores: dtype="f32", split="20", dry_run=True.
    """
    common = {"method": method, "hops": hops, "name": name, "replace": replace, "memory": memory, "threads": threads, "json": True}
    return run(["propagate", os.fspath(dataset)] + _flags({**options, **common}), progress=progress)


def attach(
    dataset: Path,
    file: Path,
    *,
    name: str,
    type: Optional[str] = None,
    dtype: str = "f32",
    replace: bool = False,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Makes rows of a .safetensors file (`rows`, f32 [nodes, columns]) the feature table `name` of a node type."""
    options = {"name": name, "type": type, "dtype": dtype, "replace": replace, "memory": memory, "threads": threads, "json": True}
    return run(["attach", os.fspath(dataset), os.fspath(file)] + _flags(options), progress=progress)


def hold_out(
    dataset: Path,
    *,
    out: Path,
    relation: Optional[str] = None,
    reverse: Optional[str] = None,
    valid: float = 0.05,
    test: float = 0.1,
    seed: int = 0,
    pairs: Optional[Path] = None,
    overwrite: bool = False,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Makes the dataset `out` without some links, which it keeps apart to be predicted.

    relation: whose links; reverse: the relation that holds them the other way round. valid, test: shares of its pairs.
    pairs: a folder for valid.csv and test.csv as well (source, target, label), by external ids.
    """
    options = {"relation": relation, "reverse": reverse, "valid": valid, "test": test, "seed": seed, "pairs": pairs}
    common = {"out": out, "overwrite": overwrite, "memory": memory, "threads": threads, "json": True}
    return run(["hold-out", os.fspath(dataset)] + _flags({**options, **common}), progress=progress)


def export(
    dataset: Path,
    *,
    out: Path,
    format: str = "csv",
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Writes a dataset as files ("csv", "parquet" or "npy") under its external ids, into the new folder `out`."""
    options = {"out": out, "format": format, "memory": memory, "threads": threads, "json": True}
    return run(["export", os.fspath(dataset)] + _flags(options), progress=progress)


def inspect(
    dataset: Path, *, hot: bool = False, memory: str = "auto", threads: int = 0, progress: Optional[bool] = None
) -> Dict[str, Any]:
    """What a dataset holds: counts, widths, sizes, degrees. hot: also the hottest nodes, which reads all neighbours."""
    options = {"hot": hot, "memory": memory, "threads": threads, "json": True}
    return run(["inspect", os.fspath(dataset)] + _flags(options), progress=progress)


def verify(
    dataset: Path, *, memory: str = "auto", threads: int = 0, progress: Optional[bool] = None
) -> Dict[str, Any]:
    """Reads every byte of a dataset and checks it. Raises DataError naming what is damaged."""
    return run(["verify", os.fspath(dataset)] + _flags({"memory": memory, "threads": threads, "json": True}), progress=progress)


check = verify
