"""PyTorch Geometric from disk: loaders that yield `Data` and `HeteroData`, and graphs in memory written as datasets.

    from sluice.pyg import NeighborLoader            # instead of torch_geometric.loader's

    loader = NeighborLoader("data/mine", num_neighbors=[10, 5], batch_size=1024, input_nodes="train", shuffle=True)
    for batch in loader:                             # as ever: x, edge_index, y, batch_size, n_id, input_id, ...
        out = model(batch.x, batch.edge_index)[:batch.batch_size]

Needs PyTorch and PyG (`torch_geometric`), which `import sluice` does not load.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

try:
    import torch
    import torch_geometric  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(f"sluice.pyg needs PyTorch and PyG ({missing}): pip install torch torch_geometric") from missing
except ImportError as broken:  # they are there
    raise ImportError(f"sluice.pyg needs PyTorch and PyG, which cannot be loaded here: {broken}") from broken

from . import _pyg_options as _options
from ._closing import Closing
from ._pyg_batch import Converter, EdgeType, edge_type, labels, one_type, tensor
from ._pyg_write import write
from .batch import Batch
from .dataset import Dataset, Path
from .errors import UsageError
from .loader import Loader
from .schema import Labels

__all__ = ["NeighborLoader", "LinkNeighborLoader", "metadata", "write"]


def metadata(dataset: Union[Dataset, Path]) -> Tuple[List[str], List[EdgeType]]:
    """Node types and edge types, as PyG's `HeteroData.metadata()` gives them: for `to_hetero` and models that ask for it."""
    schema = (dataset if isinstance(dataset, Dataset) else Dataset(dataset)).schema
    return [node.name for node in schema.nodes], [edge_type(relation) for relation in schema.relations]


class _MiniBatches(Closing):
    """What both loaders have in common: they iterate, one epoch at a time, and count mini-batches as PyG's do."""

    def _open(
        self,
        dataset: Dataset,
        asked: "_options.Asked",
        sampling: "_options.Sampling",
        *,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
        pin_memory: bool,
        edge_ids: bool,
        transform: Optional[Callable[[Any], Any]],
        options: dict,
    ) -> None:
        options.setdefault("feature_groups", [""])
        options.setdefault("edge_feature_groups", _options.edge_groups(dataset))
        own = {**asked.options, "batch_size": batch_size, "shuffle": shuffle, "edge_ids": edge_ids, **options}
        self.loader = Loader(dataset, sampler=sampling.sampler, **own)
        """The `sluice.Loader` beneath: its stats, where data is kept, `describe()`, `close()`."""
        self.dataset = dataset
        """What the mini-batches are of."""
        self.transform = transform
        """Called with each mini-batch, whose result is given instead."""
        self._asked = asked
        self._batch_size, self._drop_last, self._pin_memory = batch_size, drop_last, pin_memory
        self._convert = Converter(
            dataset,
            hops=sampling.hops,
            edge_ids=edge_ids,
            node_groups=options["feature_groups"],
            edge_groups=options["edge_feature_groups"],
        )

    def __len__(self) -> int:
        """Mini-batches an epoch: of this rank."""
        full, rest = divmod(self._queries(), self._batch_size)
        if not self._drop_last or rest == 0:
            return len(self.loader)
        # The short one is number `full` of all ranks', which deal them out in turn.
        world, rank = self.loader._options.get("world_size") or 1, self.loader._options.get("rank") or 0
        return len(self.loader) - int(full % world == rank and full // world < len(self.loader))

    def _queries(self) -> int:
        raise NotImplementedError

    def _finish(self, data: Any, batch: Batch) -> None:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return self._through(iter(self.loader))

    def epoch(self, number: int) -> Iterator[Any]:
        """The mini-batches of any epoch; iterating the loader goes on from there."""
        return self._through(self.loader.epoch(number))

    def _through(self, batches: Iterator[Batch]) -> Iterator[Any]:
        for batch in batches:
            if self._drop_last and len(batch) < self._batch_size:
                continue
            data = self._convert(batch)
            self._finish(data, batch)
            del batch  # what is still needed of it, data keeps
            if self._pin_memory:
                data = data.pin_memory()
            yield data if self.transform is None else self.transform(data)

    def close(self) -> None:
        """Ends the loader's threads and lets go of its memory. Mini-batches that are alive stay."""
        self.loader.close()

    def __repr__(self) -> str:
        return f"sluice.pyg.{type(self).__name__}({self.dataset.path!r}, {len(self):,} mini-batches an epoch)"


class NeighborLoader(_MiniBatches):
    """Mini-batches around nodes, as `torch_geometric.loader.NeighborLoader` gives them, from a dataset on disk.

    dataset: a `sluice.Dataset`, or the path of one, where PyG's takes data.
    num_neighbors: in-edges drawn a node and hop, next to the seeds first; -1: all. A dictionary by edge type where relations
    differ; lists may have other lengths.
    input_nodes: ids, a mask, None for all, a node type, or (node type, either); or a part of the dataset's split: "train",
    "valid", "test", "all".
    batch_size, shuffle, drop_last, replace, transform, pin_memory: as PyG's. subgraph_type: "directional" or "induced".
    weight_attr: draw by the weights of the dataset's edges, whatever they are called.
    edge_ids: give e_id, each edge's place in the files that were imported.
    num_workers: the engine's threads, where it is above 0; mini-batches do not depend on it. Keywords about workers
    (persistent_workers, prefetch_factor, ...) go unheeded: there are none.
    sampler: another one of Sluice's: "labor", "subgraph", "walk", "cluster", or a dictionary with its options.
    options: any of `sluice.Loader`: memory="512 MiB", features="disk", scratch=, seed=, split=, rank=, world_size=, ...

    A mini-batch is Data where the dataset has one node type and one relation, else HeteroData, with x, edge_index, n_id,
    input_id, batch_size, num_sampled_nodes, num_sampled_edges (of samplers that go hop by hop), edge_attr where edges have
    features, e_id where asked. y is of the seeds alone: the first batch_size rows, which are all that PyG's scripts use.
    Tensors are views of the engine's memory, but for edge_index (int64, as PyG wants it) and y (int64 classes).

    Raises the package's errors for what has no counterpart, naming the way out.
    """

    def __init__(
        self,
        dataset: Union[Dataset, Path],
        num_neighbors: Any,
        input_nodes: Any = None,
        *,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        replace: bool = False,
        subgraph_type: Any = "directional",
        weight_attr: Optional[str] = None,
        transform: Optional[Callable[[Any], Any]] = None,
        pin_memory: bool = False,
        edge_ids: bool = False,
        sampler: Any = None,
        split: str = "default",
        **options: Any,
    ) -> None:
        dataset = dataset if isinstance(dataset, Dataset) else Dataset(dataset)
        left = _options.settle({**options, "split": split})
        sampling = _options.sampling(
            dataset, num_neighbors, sampler=sampler, replace=replace, subgraph_type=subgraph_type, weight_attr=weight_attr
        )
        asked = _options.asked_nodes(dataset, input_nodes, split)
        self._order = None if asked.listed is None else np.argsort(asked.listed, kind="stable")
        self._labels: Optional[Labels] = dataset.node_type(asked.name).labels
        self._open(
            dataset, asked, sampling, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, pin_memory=pin_memory,
            edge_ids=edge_ids, transform=transform, options=left,
        )

    def _queries(self) -> int:
        if "nodes" in self._asked.options:
            return len(self._asked.options["nodes"])
        if self._asked.options["part"] == "all":
            return self.dataset.node_type(self._asked.name).count
        split = self.loader._options.get("split") or "default"
        return next(getattr(each, self._asked.options["part"]) for each in self.dataset.schema.splits if each.name == split)

    def _finish(self, data: Any, batch: Batch) -> None:
        store = data if self._convert.homogeneous else data[self._asked.name]
        ids = batch.queries.ids
        store.batch_size = len(batch)
        if self._order is None:
            store.input_id = tensor(ids)
        else:
            places = np.searchsorted(self._asked.listed, ids, sorter=self._order)
            store.input_id = tensor(self._order[places])
        if batch.labels is not None and self._labels is not None:
            store.y = labels(batch.labels, self._labels)


class LinkNeighborLoader(_MiniBatches):
    """Mini-batches around links, as `torch_geometric.loader.LinkNeighborLoader` gives them, from a dataset on disk.

    edge_label_index: [2, links] of node ids, None for all edges, an edge type, or (edge type, either); or a part of the
    dataset's split of edges, or of edge_split=[0.8, 0.1, 0.1], which draws one: "train", "valid", "test".
    edge_label: one a link of edge_label_index, given as PyG gives it: where negatives are drawn and the least is 0, one more.
    neg_sampling: "binary", "triplet", {"mode": ..., "amount": k}, PyG's NegativeSampling; neg_sampling_ratio: k, binary. A
    negative has its link's source and another destination; PyG's binary mode draws both ends. k is a whole number.
    negative_sampler: "uniform", "degree", "in_batch"; filtered: never an edge that is there.
    hide_links: mini-batches of training do not see the links that they ask about, nor their reverse. PyG's do.
    All else as `NeighborLoader`.

    A mini-batch has edge_label_index, edge_label and input_id, positives first; or src_index, dst_pos_index and
    dst_neg_index; in HeteroData where PyG puts them. input_id is the link's place in edge_label_index, or the edge's id.
    """

    def __init__(
        self,
        dataset: Union[Dataset, Path],
        num_neighbors: Any,
        edge_label_index: Any = None,
        edge_label: Any = None,
        *,
        neg_sampling: Any = None,
        neg_sampling_ratio: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        replace: bool = False,
        subgraph_type: Any = "directional",
        weight_attr: Optional[str] = None,
        transform: Optional[Callable[[Any], Any]] = None,
        pin_memory: bool = False,
        edge_ids: bool = False,
        sampler: Any = None,
        **options: Any,
    ) -> None:
        dataset = dataset if isinstance(dataset, Dataset) else Dataset(dataset)
        left = _options.settle(options)
        sampling = _options.sampling(
            dataset, num_neighbors, sampler=sampler, replace=replace, subgraph_type=subgraph_type, weight_attr=weight_attr
        )
        asked = _options.asked_links(dataset, edge_label_index)
        if drop_last and asked.options.get("part", "all") != "all":
            raise UsageError("drop_last is not offered for a part of a split of edges", "how many links it has is known as it is drawn")
        self._mode, amount = _options.negatives_of(neg_sampling, neg_sampling_ratio)
        self._given = self._labels_given(edge_label, asked)
        self._relation = dataset.relation(asked.name)
        self._open(
            dataset, asked, sampling, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, pin_memory=pin_memory,
            edge_ids=edge_ids, transform=transform, options={**left, "negatives": amount},
        )

    def _labels_given(self, edge_label: Any, asked: "_options.Asked") -> Any:
        if edge_label is None:
            return None
        given = torch.as_tensor(edge_label)
        if asked.listed is None or len(given) != len(asked.listed):
            raise UsageError(
                f"edge_label has {len(given)} values for {0 if asked.listed is None else len(asked.listed)} listed links",
                "give one for each link of edge_label_index; labels of a part are the dataset's own",
            )
        if self._mode == "triplet":
            raise UsageError("edge_label does not go with triplets", "leave it out, as with PyG")
        return given + 1 if self._mode == "binary" and len(given) and given.min() == 0 else given

    def _queries(self) -> int:
        return self._relation.edges if self._asked.listed is None else len(self._asked.listed)

    def _labels_of(self, batch: Batch) -> Any:
        """Of the links: those that were given, the dataset's, or whether each is one."""
        if self._given is not None:
            return self._given[tensor(batch.queries.ids)]
        if batch.labels is not None and self._relation.labels is not None:
            made = labels(batch.labels, self._relation.labels)
            return made + 1 if self._mode == "binary" and self._relation.labels.kind == "class" else made
        truth = batch.queries.truth
        if truth is not None:
            return tensor(truth).float()
        return torch.ones(len(batch)) if self._mode == "binary" else None

    def _finish(self, data: Any, batch: Batch) -> None:
        one = self._convert.homogeneous
        store = data if one else data[edge_type(self._relation)]
        queries = batch.queries
        sources, destinations = tensor(queries.sources), tensor(queries.destinations)
        ids = None if queries.ids is None else tensor(queries.ids)
        others = None if queries.negatives is None else tensor(queries.negatives)
        if self._mode == "triplet" and others is not None:
            found = (others >= 0).all(dim=1)
            if not bool(found.all()):  # too few nodes to draw from: such links are left out
                sources, destinations, others = sources[found], destinations[found], others[found]
                ids = None if ids is None else ids[found]
            (data if one else data[self._relation.source]).src_index = sources
            target = data if one else data[self._relation.target]
            target.dst_pos_index, target.dst_neg_index = destinations, others.squeeze(1) if others.size(1) == 1 else others
        else:
            label = self._labels_of(batch)
            if others is not None:
                found = others >= 0
                sources = torch.cat([sources, sources[:, None].expand_as(others)[found]])
                destinations = torch.cat([destinations, others[found]])
                label = torch.cat([label, label.new_zeros((int(found.sum()), *label.shape[1:]))])
            store.edge_label_index = torch.stack([sources, destinations])
            store.edge_label = label  # None: PyG's stores have no such field then
        if ids is not None:
            store.input_id = ids
