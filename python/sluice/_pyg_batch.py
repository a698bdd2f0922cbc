"""A mini-batch as PyG's Data or HeteroData: tensors over the engine's arrays, and the fields that PyG's loaders give."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from .batch import Batch, Block, Nodes
from .dataset import Dataset
from .schema import Labels, NodeType, Relation

EdgeType = Tuple[str, str, str]


def edge_type(relation: Relation) -> EdgeType:
    """(source type, relation, target type), as PyG names it."""
    return (relation.source, relation.name, relation.target)


def one_type(dataset: Dataset) -> bool:
    """Whether mini-batches are Data: one node type and one relation."""
    return len(dataset.schema.nodes) == 1 and len(dataset.schema.relations) == 1


def tensor(array: np.ndarray) -> Tensor:
    """Over the array's memory, which it keeps."""
    return torch.from_dlpack(array)


def labels(array: np.ndarray, of: Labels) -> Tensor:
    """Classes as int64, which PyTorch's losses ask for; many labels as 0.0 and 1.0 a class; targets as they are."""
    if of.kind == "class":
        return tensor(array).long()
    if of.kind == "multi_label":
        return tensor(np.unpackbits(array, axis=1, count=of.width, bitorder="little")).float()
    return tensor(array)


def nodes_a_hop(nodes: Nodes) -> List[int]:
    """Seeds, then the nodes that each hop found."""
    sizes = nodes.sizes[::-1]
    return [int(sizes[0])] + [int(after - before) for before, after in zip(sizes, sizes[1:])]


def edges_a_hop(block: Block, targets: Nodes) -> List[int]:
    """Of the first layer's block of nodes that drew once: its edges stand in the order of hops."""
    offsets = block.offsets
    ends = [int(offsets[size]) for size in targets.sizes[:0:-1]]
    return [after - before for before, after in zip([0] + ends, ends)]


class Converter:
    """Makes Data or HeteroData of mini-batches of a dataset.

    hops: whether edges stand in the order of hops. edge_ids: whether mini-batches get e_id. groups: names of the feature
    groups that nodes and edges come with; "" is the first.
    """

    def __init__(
        self, dataset: Dataset, *, hops: bool, edge_ids: bool, node_groups: Sequence[str], edge_groups: Sequence[str]
    ) -> None:
        self._schema = dataset.schema
        self._hops = hops
        self._edge_ids = edge_ids
        self._node_groups = list(node_groups)
        self._edge_groups = list(edge_groups)
        self.homogeneous = one_type(dataset)

    def __call__(self, batch: Batch) -> Any:
        data = Data() if self.homogeneous else HeteroData()
        core = batch._core
        all_nodes = [core.nodes(i) for i in range(len(self._schema.nodes))]
        for node, nodes in zip(self._schema.nodes, all_nodes):
            self._add_nodes(data if self.homogeneous else data[node.name], node, nodes)
        blocks: Dict[int, Block] = {}
        if core.num_layers:
            blocks = {block.relation_index: block for block in core.blocks(0)}
        places = {node.name: i for i, node in enumerate(self._schema.nodes)}
        for i, relation in enumerate(self._schema.relations):
            store = data if self.homogeneous else data[edge_type(relation)]
            self._add_edges(store, relation, blocks.get(i), all_nodes[places[relation.target]])
        return data

    def _add_nodes(self, store: Any, node: NodeType, nodes: Nodes) -> None:
        store.n_id = tensor(nodes.ids)
        store.num_nodes = len(nodes)
        if self._hops:
            store.num_sampled_nodes = nodes_a_hop(nodes)
        for place, name in enumerate(self._node_groups):
            features = nodes.features(place)
            if features is not None:
                store["x" if place == 0 else name] = tensor(features)

    def _add_edges(self, store: Any, relation: Relation, block: Optional[Block], targets: Nodes) -> None:
        if block is None:
            store.edge_index = torch.empty((2, 0), dtype=torch.int64)
            if self._hops:
                store.num_sampled_edges = []
            return
        store.edge_index = tensor(block.edge_index())
        if self._edge_ids and block.edge_ids is not None:
            store.e_id = tensor(block.edge_ids)
        if self._hops:
            store.num_sampled_edges = edges_a_hop(block, targets)
        for place, name in enumerate(self._edge_groups):
            features = block.features(place)
            if features is not None:
                store["edge_attr" if place == 0 else name] = tensor(features)
