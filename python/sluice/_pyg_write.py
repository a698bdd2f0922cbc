"""A Data or HeteroData in memory, written as a dataset: as .npy files beside it, which sluice.prep imports."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from ._numbers import numbers
from .dataset import Path
from .errors import Error, UsageError
from .prep import import_

_MASKS = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}
# Kept as f16 or f32; bf16 has no NumPy type, and is widened on its way.
_FLOATS = (torch.float16, torch.float32, torch.bfloat16)
_EXACT = 1 << 24  # whole numbers that a float32 holds


def _floats(value: Tensor, name: str) -> np.ndarray:
    """[n, dim] of a type that import takes; says what it changes."""
    value = value.detach().cpu()
    if value.layout != torch.strided:
        raise UsageError(f"{name} is sparse", "make it dense, or save it as a SciPy matrix and use sluice.prep.import_")
    if value.dim() not in (1, 2):
        raise UsageError(f"{name} has {value.dim()} dimensions", "give one row of numbers each: [n, dim]")
    value = value[:, None] if value.dim() == 1 else value
    if value.dtype == torch.bool:
        value = value.to(torch.uint8)
    if value.dtype not in _FLOATS:
        whole = not (value.is_floating_point() or value.is_complex())
        if value.is_complex() or (whole and value.numel() and int(value.abs().max()) > _EXACT):
            raise UsageError(f"{name} holds numbers that a float32 does not", "turn them into features of type float32")
        if not whole:
            warnings.warn(f"{name} is stored as float32, was {value.dtype}", stacklevel=4)
    if value.dtype in (torch.float16, torch.float32):
        return np.ascontiguousarray(value.numpy())
    return np.ascontiguousarray(value.to(torch.float32).numpy())


def _dtype(value: Tensor, asked: Optional[str]) -> Dict[str, str]:
    if asked is not None:
        return {"dtype": asked}
    return {"dtype": "bf16"} if value.dtype == torch.bfloat16 else {}


class _Writer:
    """Writes arrays into a folder, and notes what describes them."""

    def __init__(self, folder: str, dtype: Optional[str], kinds: Union[str, Mapping[str, str], None]) -> None:
        self._folder = folder
        self._dtype = dtype
        self._kinds = kinds
        self.nodes: List[Dict[str, Any]] = []
        self.edges: List[Dict[str, Any]] = []
        self.splits: List[Dict[str, Any]] = []
        self.left: List[str] = []
        self._of: Dict[str, str] = {}

    def _save(self, name: str, array: np.ndarray, attribute: str) -> str:
        np.save(os.path.join(self._folder, name), array)
        self._of[name + ".npy"] = attribute
        return name + ".npy"

    def named(self, text: str) -> str:
        """What is said of a file, of the attribute that it holds."""
        for file, attribute in self._of.items():
            for path in (os.path.join(self._folder, file), file):
                text = text.replace(path, attribute)
        return text

    def add_nodes(self, store: Any, node_type: str, called: str) -> None:
        place, count = len(self.nodes), store.num_nodes
        if count is None:
            raise UsageError(f"nobody says how many nodes {called} has", f"set {called}.num_nodes")
        described: Dict[str, Any] = {"type": node_type, "count": int(count)}
        masks: Dict[str, Tensor] = {}
        for key, value in store.items():
            name = f"{called}.{key}"
            if key == "num_nodes":
                continue
            if key == "x" and isinstance(value, Tensor):
                file = self._save(f"x{place}", _floats(value, name), name)
                described["features"] = {"file": file, **_dtype(value, self._dtype)}
            elif key == "y" and isinstance(value, Tensor):
                described["labels"] = self._labels(f"y{place}", value, name, node_type)
            elif key in _MASKS and isinstance(value, Tensor) and value.dtype == torch.bool:
                masks[key] = value
            elif key == "time" and isinstance(value, Tensor) and value.dim() == 1 and not value.is_floating_point():
                described["times"] = {"file": self._save(f"time{place}", value.cpu().numpy(), name)}
            elif key not in ("edge_index", "edge_attr", "edge_weight", "edge_time") or not isinstance(value, Tensor):
                self.left.append(name)
        self.nodes.append(described)
        self._add_splits(masks, node_type, called)

    def _labels(self, file: str, value: Tensor, name: str, node_type: str) -> Dict[str, Any]:
        kind = self._kinds.get(node_type) if isinstance(self._kinds, Mapping) else self._kinds
        value = value.detach().cpu()
        if value.dim() > 2:
            raise UsageError(f"{name} has {value.dim()} dimensions", "give a label, or a row of them, a node")
        wide = value.dim() == 2 and value.size(1) > 1
        if kind is None:
            kind = "regression" if value.is_floating_point() else "multi_label" if wide else "class"
            if kind == "regression" and wide and bool(((value == 0) | (value == 1)).all()):
                kind = "multi_label"
                warnings.warn(f"{name} holds 0 and 1 alone: taken for many labels a node; kind=\"regression\" says otherwise", stacklevel=5)
        if kind == "regression":
            return {"file": self._save(file, _floats(value, name), name), "kind": kind}
        if value.is_floating_point() and not bool((value == value.round()).all()):
            raise UsageError(f"{name} holds numbers that are no classes", 'say kind="regression"')
        array = value.to(torch.int64).numpy()
        array = array if kind == "multi_label" else array.reshape(-1)
        return {"file": self._save(file, array, name), "kind": kind}

    def _add_splits(self, masks: Dict[str, Tensor], node_type: str, called: str) -> None:
        if not masks:
            return
        if "train_mask" not in masks:
            raise UsageError(f"{called} has {', '.join(masks)} and no train_mask", "a split has a train part")
        columns = {len(mask.reshape(len(mask), -1).T) for mask in masks.values()}
        if len(columns) != 1:
            raise UsageError(f"masks of {called} are of {sorted(columns)} splits", "give each the same number of columns")
        taken = {split["name"] for split in self.splits}
        for i in range(columns.pop()):
            name = "default" if i == 0 else str(i)
            if name in taken:
                name = node_type if i == 0 else f"{node_type}_{i}"
                warnings.warn(f"the split of {called} is called {name!r}, as another type's has its name", stacklevel=4)
            described: Dict[str, Any] = {"name": name, "node_type": node_type}
            for key, mask in masks.items():
                column = mask.detach().cpu().reshape(len(mask), -1)[:, i].numpy()
                described[_MASKS[key]] = self._save(f"{_MASKS[key]}{len(self.splits)}_mask", column, f"{called}.{key}")
            self.splits.append(described)

    def add_edges(self, store: Any, ends: Tuple[str, str, str], called: str, own_only: bool) -> None:
        place = len(self.edges)
        pairs = store.get("edge_index") if hasattr(store, "get") else None
        if not isinstance(pairs, Tensor):
            raise UsageError(f"{called} has no edge_index", "of a sparse adjacency: torch_geometric.utils.to_edge_index")
        if pairs.dim() != 2 or pairs.shape[0] != 2:
            raise UsageError(f"{called}.edge_index has the shape {list(pairs.shape)}", "give [2, edges]: sources above targets")
        source, relation, target = ends
        described: Dict[str, Any] = {"relation": relation, "source": source, "target": target, "edge_ids": True}
        columns: Dict[str, np.ndarray] = {}
        for key, value in store.items():
            flat = isinstance(value, Tensor) and value.dim() == 1
            if key == "edge_index":
                continue
            if key == "edge_attr" and isinstance(value, Tensor):
                name = f"{called}.edge_attr"
                file = self._save(f"edge_attr{place}", _floats(value, name), name)
                described["features"] = {"file": file, **_dtype(value, self._dtype)}
            elif key == "edge_weight" and flat:
                columns["weight"] = value.detach().cpu().to(torch.float32).numpy()
                warnings.warn(
                    f"{called}.edge_weight: samplers draw by it (weight_attr); mini-batches carry edge_attr alone", stacklevel=3
                )
            elif key in ("edge_time", "time") and flat and not value.is_floating_point() and (key != "time" or own_only):
                columns["time"] = value.cpu().numpy().astype(np.int64)
            elif own_only:
                self.left.append(f"{called}.{key}")
        try:
            both = np.stack([numbers(pairs[0]), numbers(pairs[1])])
        except UsageError as error:
            raise UsageError(f"{called}.edge_index: {error.message}", "give the numbers of nodes") from None
        if columns:
            described["file"] = f"edges{place}.npz"
            np.savez(os.path.join(self._folder, described["file"]), source=both[0], target=both[1], **columns)
            self._of[described["file"]] = called
            described.update(source_column="source", target_column="target")
            described.update({f"{name}_column": name for name in columns})
        else:
            described["file"] = self._save(f"edges{place}", both, f"{called}.edge_index")
            described["pairs"] = "columns"
        self.edges.append(described)


def _collect(writer: _Writer, data: Any, node_type: str, relation: str) -> None:
    if isinstance(data, HeteroData):
        writer.left += [f"data.{key}" for key in data._global_store.keys()]
        for name in data.node_types:
            writer.add_nodes(data[name], name, f"data[{name!r}]")
        for ends in data.edge_types:
            writer.add_edges(data[ends], ends, f"data[{', '.join(map(repr, ends))}]", True)
    elif isinstance(data, Data):
        writer.add_nodes(data._store, node_type, "data")
        writer.add_edges(data._store, (node_type, relation, node_type), "data", False)
    else:
        raise UsageError(f"{type(data).__name__} is neither Data nor HeteroData", "events in time: save them as .npy for sluice.prep.import_")


def write(
    data: Union[Data, HeteroData],
    path: Path,
    *,
    kind: Union[str, Mapping[str, str], None] = None,
    dtype: Optional[str] = None,
    skip: Sequence[str] = (),
    node_type: str = "node",
    relation: str = "edge",
    overwrite: bool = False,
    memory: str = "auto",
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Writes a graph in memory as the dataset `path`, and returns what `sluice.prep.import_` says.

    Carried: x (float16, bfloat16, float32; others become float32), y, train_mask, val_mask, test_mask (of several columns: a
    split each, "default", "1", "2", ...), time of nodes, edge_index, edge_attr, edge_weight (samplers draw by it), edge_time.
    Node ids are the rows, edge ids the columns of edge_index: n_id and e_id of mini-batches mean the same as PyG's.

    kind: of labels, "class", "multi_label" or "regression", or by node type; None: by what y holds. dtype: how features are
    stored, "f32", "f16", "bf16" or "int8". skip: attributes that may be left out; any other that cannot be carried is an
    error. node_type, relation: what those of a Data are called. The files in between lie beside `path`, as long as it takes.

    Raises UsageError naming what cannot be carried, DataError for values that import refuses.
    """
    target = os.path.abspath(os.fspath(path))
    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sluice-pyg-", dir=parent) as folder:
        writer = _Writer(folder, dtype, kind)
        _collect(writer, data, node_type, relation)
        left = [name for name in writer.left if name not in skip and name.rsplit(".", 1)[-1] not in skip]
        if left:
            words = ", ".join(repr(name.rsplit(".", 1)[-1]) for name in left)
            raise UsageError(f"a dataset cannot carry {', '.join(left)}", f"leave them out: skip=[{words}]")
        config: Dict[str, Any] = {"nodes": writer.nodes, "edges": writer.edges}
        if writer.splits:
            config["splits"] = writer.splits
        try:
            return import_(
                config=config, root=folder, out=target, overwrite=overwrite, memory=memory, threads=threads, progress=progress
            )
        except Error as error:  # of a file that goes with the folder
            place = error.place._replace(file=writer.named(error.place.file))
            raise type(error)(writer.named(error.message), writer.named(error.hint), place) from None
