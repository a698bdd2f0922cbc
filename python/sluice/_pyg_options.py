"""What PyG's loaders are told, as the engine's options: whom a loader asks about, how it samples, what has no counterpart."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from ._numbers import numbers
from .dataset import Dataset
from .errors import UsageError
from .schema import Relation

PARTS = ("train", "valid", "test", "all")

# Of torch.utils.data.DataLoader and PyG's loaders: how their worker processes go about it. There are none here.
_OF_WORKERS = ("persistent_workers", "prefetch_factor", "multiprocessing_context", "filter_per_worker", "is_sorted", "timeout")

# What would be sampled otherwise than it is asked for, and the way out.
_REFUSED = {
    "disjoint": "ask about one node at a time with batch_size=1, or about nodes at times: sluice.Loader(sampler=\"temporal\")",
    "time_attr": "times go by sluice.Loader(sampler=\"temporal\"), whose rows are nodes at times",
    "input_time": "times go by sluice.Loader(sampler=\"temporal\", times=...)",
    "edge_label_time": "times go by sluice.Loader(sampler=\"temporal\", times=...)",
    "neighbor_sampler": "name one of Sluice's: sampler=\"labor\"; sluice.loader_options() lists them",
    "transform_sampler_output": "use transform, which gets the whole mini-batch",
    "custom_cls": "make yours of the mini-batch, in transform",
    "collate_fn": "use transform, which gets the whole mini-batch",
    "batch_sampler": "give batch_size, and input_nodes in your order with shuffle=False",
    "generator": "give seed=, of which everything random is a function",
    "worker_init_fn": "there are no worker processes; give seed=",
    "input_id": "input_id of a mini-batch is the place in input_nodes",
}

_BY_HOPS = ("neighbor", "labor")
_WHOLE = ("subgraph", "walk", "cluster")


def array_of(values: Any) -> np.ndarray:
    """A tensor of any device, an array, or a list."""
    return np.asarray(values.detach().cpu()) if hasattr(values, "detach") else np.asarray(values)


def settle(options: Dict[str, Any]) -> Dict[str, Any]:
    """Keywords of PyG's loaders and the DataLoader beneath: those of workers go, others are refused or turned."""
    left: Dict[str, Any] = {}
    for name, value in options.items():
        if name in _OF_WORKERS:
            continue
        if name in _REFUSED:
            if value is not None and value is not False:
                raise UsageError(f"{name} has no counterpart in sluice.pyg", _REFUSED[name])
            continue
        left[name] = value
    workers = left.pop("num_workers", 0)
    if workers:
        left.setdefault("data_threads", workers)
    if left.pop("directed", True) is False:
        raise UsageError("directed=False is not offered", 'say subgraph_type="induced"')
    return left


class Sampling(NamedTuple):
    """How mini-batches are sampled."""

    sampler: Dict[str, Any]
    hops: bool
    """Edges stand in the order of hops, each node's together."""


def _named(dataset: Dataset, name: Any) -> Relation:
    return dataset.relation("__".join(name) if isinstance(name, tuple) else name)


def _fanouts(dataset: Dataset, num_neighbors: Any) -> Dict[str, Any]:
    """fanout, and relations where they differ. Those that end earlier draw none in the hops that are left."""
    if hasattr(num_neighbors, "get_mapped_values"):  # PyG's NumNeighbors
        num_neighbors = dict(zip(
            [relation.key for relation in dataset.schema.relations],
            num_neighbors.get_mapped_values([(r.source, r.name, r.target) for r in dataset.schema.relations]),
        ))
    if not isinstance(num_neighbors, Mapping):
        return {"fanout": [int(count) for count in num_neighbors]}
    given = {_named(dataset, name).key: [int(count) for count in counts] for name, counts in num_neighbors.items()}
    missing = [relation.key for relation in dataset.schema.relations if relation.key not in given]
    if missing:
        raise UsageError(
            f"num_neighbors says nothing of {', '.join(missing)}", "give a list for each relation; [0, 0] draws no edges of it"
        )
    depth = max((len(counts) for counts in given.values()), default=0)
    padded = {key: counts + [0] * (depth - len(counts)) for key, counts in given.items()}
    return {
        "fanout": next(iter(padded.values()), []),
        "relations": [{"relation": key, "fanout": counts} for key, counts in padded.items()],
    }


def sampling(
    dataset: Dataset, num_neighbors: Any, *, sampler: Any, replace: bool, subgraph_type: Any, weight_attr: Optional[str]
) -> Sampling:
    """The engine's sampler for what PyG calls num_neighbors, replace, subgraph_type and weight_attr."""
    subgraph = getattr(subgraph_type, "value", subgraph_type)
    if subgraph not in ("directional", "induced"):
        raise UsageError(
            f"subgraph_type {subgraph!r} is not offered",
            '"directional": the edges that were drawn; "induced": all among the nodes; for both directions import the edges undirected',
        )
    own = dict(sampler) if isinstance(sampler, Mapping) else {"type": sampler}
    kind = own.get("type") or ("subgraph" if subgraph == "induced" else "neighbor")
    if not isinstance(kind, str) or kind not in _BY_HOPS + _WHOLE:
        raise UsageError(
            f"sampler {kind!r} gives no subgraphs of PyG's kind",
            f"choose one of {', '.join(_BY_HOPS + _WHOLE)}; sluice.Loader has all, as blocks by layer",
        )
    if subgraph == "induced" and kind in _BY_HOPS:
        raise UsageError(f"sampler {kind!r} gives the edges that were drawn", 'subgraph_type="induced" goes with sampler="subgraph"')
    made: Dict[str, Any] = {"type": kind}
    if kind in _BY_HOPS:
        made["draw_once"] = True
    else:
        made["layers"] = own["layers"] = 2  # the first one's block has the edges of all rows, the last one's those of the seeds
    if kind in _BY_HOPS + ("subgraph",):
        made.update(_fanouts(dataset, num_neighbors))
    elif num_neighbors is not None:
        raise UsageError(f"sampler {kind!r} has no num_neighbors", "give None, and its own options: sampler={\"type\": ..., ...}")
    if replace:
        made["replace"] = True
    if weight_attr is not None:
        made["weighted"] = True
    return Sampling({**made, **own, "type": kind}, kind in _BY_HOPS)


class Asked(NamedTuple):
    """Nodes or links that are asked about, as the engine's options, and how input_id comes of them."""

    options: Dict[str, Any]
    name: str
    """Of the node type, or the relation's key."""
    listed: Optional[np.ndarray]
    """Nodes in the order they were given, whose places are input_id; else input_id is the node."""


def _parts_hint() -> str:
    return "give ids, a mask, or one of " + ", ".join(PARTS)


def asked_nodes(dataset: Dataset, input_nodes: Any, split: str) -> Asked:
    """PyG's input_nodes (ids, a mask, None for all; with a node type before them), or a part of the dataset's split."""
    types = [node.name for node in dataset.schema.nodes]
    name, what = None, input_nodes
    if isinstance(what, (tuple, list)) and len(what) == 2 and isinstance(what[0], str):
        name, what = what
    elif isinstance(what, str) and what in types and what not in PARTS:
        name, what = what, None
    if name is None and isinstance(what, str) and what != "all":
        name = next((each.of for each in dataset.schema.splits if each.name == split), None)
    node = dataset.node_type(name)
    if what is None:
        what = "all"
    if isinstance(what, str):
        if what not in PARTS:
            raise UsageError(f"input_nodes is {what!r}, neither a node type nor a part", _parts_hint())
        return Asked({"part": what, "node_type": node.name}, node.name, None)
    nodes = array_of(what).reshape(-1)
    if nodes.dtype == np.bool_:
        if len(nodes) != node.count:
            raise UsageError(f"the mask has {len(nodes)} values, there are {node.count} nodes of '{node.name}'", "give one a node")
        nodes = np.flatnonzero(nodes)
        return Asked({"nodes": nodes, "node_type": node.name}, node.name, None)
    if len(nodes) and nodes.dtype.kind not in "iu":
        raise UsageError(f"input_nodes are of type {nodes.dtype}", _parts_hint())
    nodes = nodes.astype(np.int64)
    values, counts = np.unique(nodes, return_counts=True)
    if len(values) != len(nodes):
        raise UsageError(f"input_nodes names node {values[counts > 1][0]} more than once", "name each once: an epoch asks about a node once")
    return Asked({"nodes": nodes, "node_type": node.name}, node.name, nodes)


def asked_links(dataset: Dataset, edge_label_index: Any) -> Asked:
    """PyG's edge_label_index (pairs, None for all edges; with an edge type before them), or a part of a split of edges."""
    name, what = None, edge_label_index
    if isinstance(what, tuple) and len(what) == 3 and all(isinstance(word, str) for word in what):
        name, what = what, None
    elif isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], (str, tuple)) and not hasattr(what[0], "shape"):
        name, what = what
    elif isinstance(what, str) and what not in PARTS:
        name, what = what, None
    relation = _named(dataset, name)
    options: Dict[str, Any] = {"queries": "links", "relation": relation.key}
    if what is None:
        what = "all"
    if isinstance(what, str):
        if what not in PARTS:
            raise UsageError(f"edge_label_index is {what!r}, neither a relation nor a part", _parts_hint())
        return Asked({**options, "part": what}, relation.key, None)
    pairs = array_of(what)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise UsageError(f"edge_label_index has the shape {list(pairs.shape)}", "give [2, links]: sources above targets")
    links = (numbers(pairs[0]), numbers(pairs[1]))
    places = np.arange(pairs.shape[1], dtype=np.int64)
    # The links' numbers stand where ids of edges would, so no labels of edges are read by them.
    return Asked({**options, "links": links, "link_ids": places, "labels": False}, relation.key, places)


def negatives_of(neg_sampling: Any, ratio: Any) -> Tuple[Optional[str], int]:
    """The mode, "binary" or "triplet", and how many a link."""
    if ratio is not None and ratio != 0:
        if neg_sampling is not None:
            raise UsageError("neg_sampling and neg_sampling_ratio are both given", "leave one out")
        neg_sampling = {"mode": "binary", "amount": ratio}
    if neg_sampling is None:
        return None, 0
    if isinstance(neg_sampling, str):
        neg_sampling = {"mode": neg_sampling}
    if isinstance(neg_sampling, Mapping):
        fields = dict(neg_sampling)
    else:  # PyG's NegativeSampling
        fields = {name: getattr(neg_sampling, name, None) for name in ("mode", "amount", "src_weight", "dst_weight")}
    for name in ("src_weight", "dst_weight"):
        if fields.pop(name, None) is not None:
            raise UsageError(f"negatives by {name} are not offered", 'negative_sampler="degree" draws by in-degree')
    mode, amount = fields.pop("mode", "binary"), fields.pop("amount", 1)
    mode = getattr(mode, "value", mode)
    if mode not in ("binary", "triplet") or fields:
        raise UsageError(f"neg_sampling {mode!r} is not known", '"binary" or "triplet", or {"mode": ..., "amount": 2}')
    if amount < 1 or amount != int(amount):
        raise UsageError(f"{amount} negatives a link are not offered", "give a whole number from 1 on: each link has as many")
    return mode, int(amount)


def edge_groups(dataset: Dataset) -> List[str]:
    """The first group of edges' features, where any relation has some: PyG's edge_attr."""
    return [""] if any(relation.features for relation in dataset.schema.relations) else []
