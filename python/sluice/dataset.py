"""A dataset directory, as `sluice.prep` or `sluice-prep` made it."""

from __future__ import annotations

import difflib
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, TypeVar, Union

import numpy as np

from . import _core
from ._closing import Closing
from ._numbers import numbers
from .errors import UsageError
from .schema import FeatureGroup, NodeType, Relation, Schema, schema_of

__all__ = ["Dataset", "Split", "GraphCollection"]

Path = Union[str, "os.PathLike[str]"]
Named = TypeVar("Named", NodeType, Relation)


class Split(NamedTuple):
    """The parts of a split: int64 each. Dense node ids, edge ids, numbers of graphs; or, of links that stand apart from
    the relations' edges, [count, 5]: relation, class, source, target, whether it is a link."""

    train: Optional[np.ndarray]
    valid: Optional[np.ndarray]
    test: Optional[np.ndarray]


class GraphCollection(NamedTuple):
    """Many small graphs: graph g has the nodes offsets[g] to offsets[g + 1] - 1."""

    offsets: np.ndarray
    """int64 [count + 1]."""
    labels: Optional[np.ndarray]
    """As `Dataset.labels`, one a graph."""


def _rows(values: Optional[Any]) -> Optional[np.ndarray]:
    """Dense ids; None: of all."""
    if values is None:
        return None
    rows = numbers(values)
    if len(rows) and rows.min() < 0:
        raise UsageError(f"row {rows.min()} is asked for", "rows are counted from 0; Dataset.dense_ids() finds them by id")
    return rows


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _as_number(text: str) -> Optional[int]:
    """A number that was read as text; None where it is none, or not written as ids are."""
    try:
        return int(text) if str(int(text)) == text else None
    except ValueError:
        return None


def _no_such(kind: str, name: str, known: Sequence[str]) -> UsageError:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else "known: " + ", ".join(known)
    return UsageError(f"there is no {kind} '{name}'", hint)


class Dataset(Closing):
    """Opens the dataset at `path`. Nothing is read until it is asked for.

    What is asked for is read into NumPy arrays of the caller's own, beside any loader's budget. Use as a context manager,
    or leave it to be collected: loaders open the data by themselves.

    verify: check what is read against its checksums.

    Raises DataError where there is no dataset, or it is damaged, or of a newer version of Sluice.
    """

    def __init__(self, path: Path, *, verify: bool = True) -> None:
        self._given = os.fsdecode(path)
        # What is read later is of the same place, wherever the process works by then.
        self._core = _core.Dataset(os.path.join(os.getcwd(), self._given), verify)
        self._schema = schema_of(self._core.schema())
        self._dense: Dict[str, Any] = {}

    @property
    def path(self) -> str:
        """The directory, as it was given."""
        return self._given

    @property
    def _place(self) -> str:
        """The directory, from wherever the process works."""
        return self._core.path

    @property
    def schema(self) -> Schema:
        """Node types, relations and splits, with their counts and widths."""
        return self._schema

    @property
    def fingerprint(self) -> str:
        """XXH3-64 of the manifest, as 16 hex digits: changes when anything in the dataset does."""
        return f"{self._core.fingerprint:016x}"

    @property
    def generation(self) -> int:
        """How often something was appended to it or folded in."""
        return self._core.generation

    @property
    def num_nodes(self) -> int:
        """Over all node types."""
        return sum(node.count for node in self._schema.nodes)

    @property
    def num_edges(self) -> int:
        """Over all relations."""
        return sum(relation.edges for relation in self._schema.relations)

    def node_type(self, name: Optional[str] = None) -> NodeType:
        """A node type by name; None: the only one. Raises UsageError."""
        known = [node.name for node in self._schema.nodes]
        return self._pick(self._schema.nodes, known, "node type", name)

    def relation(self, name: Optional[str] = None) -> Relation:
        """A relation by its key or, where that is clear, its name; None: the only one. Raises UsageError."""
        keys = [relation.key for relation in self._schema.relations]
        if name is not None and name not in keys:
            named = [relation.key for relation in self._schema.relations if relation.name == name]
            if len(named) == 1:
                name = named[0]
        return self._pick(self._schema.relations, keys, "relation", name)

    @staticmethod
    def _pick(all: List[Named], known: List[str], kind: str, name: Optional[str]) -> Named:
        if name is None and len(all) == 1:
            return all[0]
        if name is None:
            raise UsageError(f"the dataset has several {kind}s", "name one of: " + ", ".join(known))
        if name not in known:
            raise _no_such(kind, name, known)
        return all[known.index(name)]

    @staticmethod
    def _group(groups: List[FeatureGroup], of: str, name: Optional[str]) -> str:
        known = [group.name for group in groups]
        if not known:
            raise UsageError(f"'{of}' has no features")
        if name is None:
            return known[0]
        if name not in known:
            raise _no_such(f"group of features of '{of}'", name, known)
        return name

    def features(
        self, node_type: Optional[str] = None, *, group: Optional[str] = None, rows: Optional[Any] = None
    ) -> np.ndarray:
        """float32 [n, dim]: features of a node type's nodes, all or those of the dense ids `rows`.

        group: by name; None: the first. Widened from what is stored.
        """
        node = self.node_type(node_type)
        return self._core.features(node.name, self._group(node.features, node.name, group), _rows(rows))

    def edge_features(
        self, relation: Optional[str] = None, *, group: Optional[str] = None, rows: Optional[Any] = None
    ) -> np.ndarray:
        """float32 [n, dim]: features of a relation's edges by edge id, all or `rows`."""
        of = self.relation(relation)
        return self._core.edge_features(of.key, self._group(of.features, of.key, group), _rows(rows))

    def labels(self, node_type: Optional[str] = None) -> np.ndarray:
        """Labels of a node type: int32 [n] classes (-1: missing), uint8 [n, bytes] of bits (lowest first) of many
        labels, or float32 [n, width] targets (NaN: missing)."""
        return self._core.labels(self._labelled(self.node_type(node_type)).name)

    def edge_labels(self, relation: Optional[str] = None) -> np.ndarray:
        """As `labels`, by edge id."""
        return self._core.edge_labels(self._labelled(self.relation(relation)).key)

    @staticmethod
    def _labelled(of: Named) -> Named:
        if of.labels is None:
            raise UsageError(f"'{of.name}' has no labels")
        return of

    def times(self, node_type: Optional[str] = None) -> np.ndarray:
        """int64 [n]: a time a node, in the dataset's own ticks."""
        node = self.node_type(node_type)
        if not node.has_times:
            raise UsageError(f"nodes of '{node.name}' have no times")
        return self._core.node_times(node.name)

    def edge_times(self, relation: Optional[str] = None) -> np.ndarray:
        """int64 [edges]: by place among the relation's edges, grouped by target."""
        of = self.relation(relation)
        if not of.has_times:
            raise UsageError(f"edges of '{of.key}' have no times")
        return self._core.edge_times(of.key)

    def edge_weights(self, relation: Optional[str] = None) -> np.ndarray:
        """float32 [edges]: by place among the relation's edges, grouped by target."""
        of = self.relation(relation)
        if not of.has_weights:
            raise UsageError(f"edges of '{of.key}' have no weights")
        return self._core.edge_weights(of.key)

    def split(self, name: str = "default") -> Split:
        """A split of nodes: dense ids, ascending."""
        return self._split(name, [split.name for split in self._schema.splits], "split of nodes", self._core.split)

    def edge_split(self, name: str = "default") -> Split:
        """A split of edges."""
        known = [split.name for split in self._schema.edge_splits]
        return self._split(name, known, "split of edges", self._core.edge_split)

    def graph_split(self, name: str = "default") -> Split:
        """A split of graphs: their numbers."""
        known = [split.name for split in self._schema.graphs.splits] if self._schema.graphs else []
        return self._split(name, known, "split of graphs", self._core.graph_split)

    @staticmethod
    def _split(name: str, known: List[str], kind: str, read: Any) -> Split:
        if name not in known:
            raise _no_such(kind, name, known)
        return Split(*read(name))

    def graphs(self) -> GraphCollection:
        """Of a dataset of many small graphs: where each one's nodes begin, and their labels."""
        if self._schema.graphs is None:
            raise UsageError("the dataset is no collection of graphs")
        return GraphCollection(*self._core.graphs())

    def ids(self, node_type: Optional[str] = None, *, rows: Optional[Any] = None) -> np.ndarray:
        """The user's own ids of the nodes `rows` (dense ids; None: of all): int64, or text."""
        node = self.node_type(node_type)
        known = self._core.ids(node.name, node.count, _rows(rows))
        return known if isinstance(known, np.ndarray) else np.array(known, dtype=np.str_)

    def dense_ids(self, ids: Any, node_type: Optional[str] = None) -> np.ndarray:
        """int64 [n]: dense ids of nodes by the user's own ids. The first call reads all of a type's ids and keeps them.

        Raises UsageError naming an id that is not there.
        """
        node = self.node_type(node_type)
        if node.ids == "string":
            given = np.asarray(ids, dtype=None if hasattr(ids, "dtype") else object).reshape(-1)
            return self._dense_of_text(node, [_as_text(each) for each in given.tolist()])
        wanted = self._wanted_numbers(node, ids)
        known, order = self._sorted_ids(node)
        places = np.minimum(np.searchsorted(known, wanted), max(node.count - 1, 0))
        if len(wanted) and (node.count == 0 or np.any(known[places] != wanted)):
            missing = wanted if node.count == 0 else wanted[known[places] != wanted]
            raise UsageError(f"there is no node {missing[0]} of type '{node.name}'", "ids are those of the imported files")
        return order[places]

    @staticmethod
    def _wanted_numbers(node: NodeType, ids: Any) -> np.ndarray:
        if hasattr(ids, "detach"):  # PyTorch's
            return numbers(ids)
        given = np.asarray(ids).reshape(-1)
        if given.dtype.kind not in "US":
            return numbers(given)
        found: List[int] = []  # as csv reads them
        for text in map(_as_text, given.tolist()):
            number = _as_number(text)
            if number is None:
                raise UsageError(f"there is no node '{text}' of type '{node.name}'", "its ids are whole numbers")
            found.append(number)
        return numbers(np.array(found, dtype=object))

    def _dense_of_text(self, node: NodeType, wanted: List[str]) -> np.ndarray:
        if node.name not in self._dense:
            texts = self._core.ids(node.name, node.count, None)
            self._dense[node.name] = {text: row for row, text in enumerate(texts)}
        known = self._dense[node.name]
        missing = next((text for text in wanted if text not in known), None)
        if missing is not None:
            raise UsageError(f"there is no node '{missing}' of type '{node.name}'", "ids are those of the imported files")
        return np.fromiter((known[text] for text in wanted), dtype=np.int64, count=len(wanted))

    def _sorted_ids(self, node: NodeType) -> Any:
        if node.name not in self._dense:
            all = self._core.ids(node.name, node.count, None)
            order = np.argsort(all, kind="stable")
            self._dense[node.name] = (all[order], order)
        return self._dense[node.name]

    def close(self) -> None:
        """Lets go of the directory. Arrays stay."""
        self._core.close()
        self._dense.clear()

    def __repr__(self) -> str:
        nodes = ", ".join(f"{node.count:,} {node.name}" for node in self._schema.nodes)
        edges = ", ".join(f"{relation.edges:,} {relation.key}" for relation in self._schema.relations)
        return f"sluice.Dataset(nodes: {nodes}; edges: {edges})"
