"""A mini-batch: NumPy views of the engine's arrays, without copies. Each keeps the mini-batch's memory alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Union

import numpy as np

from . import _core
from ._core import Block, Nodes
from .errors import UsageError

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["Batch", "Queries", "Nodes", "Block"]


class Queries:
    """What a mini-batch asks, q queries. What is of another kind, or was not asked, is None."""

    def __init__(self, core: _core.Batch) -> None:
        self._core = core

    def __len__(self) -> int:
        return self._core.num_queries

    @property
    def ids(self) -> Optional[np.ndarray]:
        """int64 [q]: dense node ids, edge ids or numbers of graphs; None for links that are no edges."""
        return self._core.query_ids

    @property
    def times(self) -> Optional[np.ndarray]:
        """int64 [q]: when each is asked about."""
        return self._core.query_times

    @property
    def nodes(self) -> Optional[np.ndarray]:
        """int64 [q], of graphs [nodes]: rows among the seeds of their type."""
        return self._core.query_nodes

    @property
    def offsets(self) -> Optional[np.ndarray]:
        """int64 [q + 1], of graphs: where each one's `nodes` begin."""
        return self._core.query_offsets

    @property
    def sources(self) -> Optional[np.ndarray]:
        """int64 [q], of links: rows among the seeds of the source type."""
        return self._core.sources

    @property
    def destinations(self) -> Optional[np.ndarray]:
        """int64 [q], of links: rows among the seeds of the destination type."""
        return self._core.destinations

    @property
    def negatives(self) -> Optional[np.ndarray]:
        """int64 [q, k], of links: rows of other destinations; -1 where none was found."""
        return self._core.negatives

    @property
    def truth(self) -> Optional[np.ndarray]:
        """uint8 [q], of links: 0 of an example that is none; None: all are links."""
        return self._core.truth


class Batch:
    """A mini-batch: nodes by type with their features, blocks of sampled edges by layer, queries and labels.

    Nodes of a type are listed once, seeds first, then hop by hop: a block's targets are the first of its sources. Arrays
    are NumPy's; `torch.from_dlpack(batch.x)` and `np.from_dlpack(batch.x)` share their memory. They may be written to, but
    two arrays of one mini-batch may share memory. With one node type, `x`, `ids`, `seeds` stand for that type's.
    """

    def __init__(self, core: _core.Batch, dataset: "Dataset") -> None:
        self._core = core
        self._dataset = dataset

    @property
    def epoch(self) -> int:
        """Its epoch's number."""
        return self._core.epoch

    @property
    def index(self) -> int:
        """Its number in the epoch; of several ranks' loaders, in the rank's own share."""
        return self._core.index

    @property
    def num_layers(self) -> int:
        """Layers of blocks."""
        return self._core.num_layers

    @property
    def queries(self) -> Queries:
        """What is asked, by rows of the seeds."""
        return Queries(self._core)

    @property
    def labels(self) -> Optional[np.ndarray]:
        """Of the queries: int32 [q], uint8 [q, bytes] or float32 [q, width], as `Dataset.labels`; None without."""
        return self._core.labels

    y = labels

    def __len__(self) -> int:
        """Queries."""
        return self._core.num_queries

    def _type(self, node_type: Optional[str]) -> int:
        known = [node.name for node in self._dataset.schema.nodes]
        return known.index(self._dataset.node_type(node_type).name)

    def nodes(self, node_type: Optional[str] = None) -> Nodes:
        """The nodes of a type; None: of the only one."""
        return self._core.nodes(self._type(node_type))

    @property
    def nodes_by_type(self) -> Dict[str, Nodes]:
        """All of them."""
        return {node.name: self._core.nodes(i) for i, node in enumerate(self._dataset.schema.nodes)}

    @property
    def x(self) -> Optional[np.ndarray]:
        """float32 [n, dim]: features of the only node type; `nodes(type).x` where there are several."""
        return self.nodes().x

    @property
    def ids(self) -> np.ndarray:
        """int64 [n]: dense ids of the only node type's nodes."""
        return self.nodes().ids

    @property
    def seeds(self) -> np.ndarray:
        """int64: dense ids of the seeds of the only node type: the first rows."""
        return self.seeds_of()

    def seeds_of(self, node_type: Optional[str] = None) -> np.ndarray:
        """int64: dense ids of a type's seeds."""
        return self._core.seeds(self._type(node_type))

    def external_ids(self, node_type: Optional[str] = None, rows: Optional[np.ndarray] = None) -> np.ndarray:
        """The user's own ids of the nodes at `rows`, all by default: int64 or text. Read from the dataset."""
        ids = self.nodes(node_type).ids
        return self._dataset.ids(node_type, rows=ids if rows is None else ids[rows])

    @property
    def layers(self) -> List[List[Block]]:
        """Blocks by layer, one a relation in the schema's order; the first layer reads the features."""
        return [self._core.blocks(layer) for layer in range(self._core.num_layers)]

    def block(self, layer: int, relation: Optional[str] = None) -> Block:
        """A layer's block of a relation; None: of the only one. -1 is the last layer."""
        key = self._dataset.relation(relation).key
        place = [each.key for each in self._dataset.schema.relations].index(key)
        layers = range(self._core.num_layers)
        if layer not in range(-len(layers), len(layers)):
            what = f"layer {layer!r} is asked for, and a mini-batch has {len(layers)}"
            raise UsageError(what, "layers are counted from 0, -1 is the last")
        blocks = self._core.blocks(layers[layer])
        for block in blocks:
            if block.relation_index == place:
                return block
        raise UsageError(f"layer {layer} has no block of relation '{key}'")

    def edge_index(self, layer: int = 0, relation: Optional[str] = None) -> np.ndarray:
        """int64 [2, edges]: source rows and target rows of a block. A new array."""
        return self.block(layer, relation).edge_index()

    def xxh3(self) -> str:
        """XXH3-64 of all that a model can see in it, 16 hex digits: equal for equal mini-batches."""
        return f"{self._core.xxh3():016x}"

    def __repr__(self) -> str:
        nodes: Sequence[Union[str, int]] = [f"{len(of):,} {name}" for name, of in self.nodes_by_type.items()]
        return f"sluice.Batch(epoch {self.epoch}, {self.index}: {len(self):,} queries; {', '.join(map(str, nodes))})"
