"""The mini-batches of a dataset, sampled, read and assembled ahead of the loop that consumes them."""

from __future__ import annotations

import os
import shutil
import warnings
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._closing import Closing
from ._keys import keys_of
from ._numbers import numbers
from .batch import Batch
from .dataset import Dataset, Path
from .errors import ResourceError, UsageError

__all__ = ["Loader", "Epoch", "loader_options"]

_LISTS = ("nodes", "ids", "times", "links", "link_ids", "truth", "graphs")


def loader_options() -> str:
    """Every option of a `Loader` with its type, default, range and meaning, those of all samplers among them: text."""
    return _core.options()


_BYTES = {"f16": 2, "bf16": 2, "i8": 1, "int8": 1}  # a number; 4 of others


def _scratch_beside(dataset: Dataset) -> Optional[str]:
    """The folder that holds a dataset, where plans of epochs can be written: two at a time, of no more than all features
    each. Their files have no names, and go with the process."""
    folder = os.path.dirname(os.path.realpath(dataset._place))
    tables = [group for owner in (*dataset.schema.nodes, *dataset.schema.relations) for group in owner.features]
    wanted = 2 * sum(group.rows * group.dim * _BYTES.get(group.dtype, 4) for group in tables)
    if not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < wanted:
        return None
    return folder


def _check_nodes(nodes: np.ndarray, *, once: bool, named: Callable[[int], Any]) -> None:
    """Nodes are asked about once an epoch each, unless that is at times. named: what the caller calls one."""
    if len(nodes) and nodes.min() < 0:
        hint = "dense ids are counted from 0; name nodes by their own ids with ids="
        raise UsageError(f"node {nodes.min()} is given", hint)
    values, counts = np.unique(nodes, return_counts=True) if once else (nodes, nodes)
    if len(values) != len(nodes):
        twice = values[counts > 1][0]
        raise UsageError(f"node {named(twice)!r} is given more than once", "name each once: an epoch asks about a node once")


def _ends_of(links: Any) -> Tuple[np.ndarray, np.ndarray]:
    if len(links) != 2:
        raise UsageError(
            f"links has {len(links)} entries", "give two lists, of sources and of targets: an array of pairs is links=pairs.T"
        )
    ends = numbers(links[0]), numbers(links[1])
    for nodes in ends:
        if len(nodes) and nodes.min() < 0:
            raise UsageError(f"node {nodes.min()} is given", "dense ids are counted from 0; Dataset.dense_ids() finds them by id")
    return ends


class Epoch(Iterator[Batch]):
    """The mini-batches of an epoch, from where it was begun. What `Loader.epoch` gives."""

    def __init__(self, loader: "Loader", first: int) -> None:
        self._loader = loader
        self._left = len(loader) - first

    def __len__(self) -> int:
        """Mini-batches that are left."""
        return max(self._left, 0)

    def __iter__(self) -> "Epoch":
        return self

    def __next__(self) -> Batch:
        if self._loader._epoch is not self:
            raise UsageError("another epoch was begun meanwhile", "one loader is in one epoch at a time")
        self._loader._check_process()
        try:
            core = self._loader._core.next()
        except ResourceError as error:
            hint = "mini-batches that you keep count: let them go, or make the loader with held= as many as you keep"
            raise ResourceError(error.message, f"{error.hint}; {hint}" if error.hint else hint, error.place) from None
        if core is None:
            raise StopIteration
        self._left -= 1
        return Batch(core, self._loader.dataset)


class Loader(Closing):
    """Mini-batches of a dataset within a memory budget. Iterating is an epoch; each time the next one.

    What is delivered depends on dataset, options and seed alone: not on where data is kept, the budget or threads.
    Further keywords are the options of the sampler; `sluice.loader_options()` lists all. None leaves an option as it is.

    dataset: a Dataset, or the path of one.
    fanout: in-edges drawn a node and relation, the first number next to the seeds; -1 is all.
    batch_size: nodes, links or graphs asked about at once.
    sampler: "neighbor", "labor", "ladies", "subgraph", "walk", "cluster", "temporal"; or a dict with "type" and options.

    What is asked about:
    queries: "nodes", "links" or "graphs"; inferred from the lists below.
    part, split: a part ("train", "valid", "test", "all") of the dataset's split of that name.
    nodes, ids: dense ids, or the user's own, of distinct nodes instead of a part. node_type: theirs.
    graphs: numbers of graphs instead of a part.
    links: a pair of lists, dense ids of sources and targets, instead of a part; link_ids, truth: one each.
    times: when each of the nodes or links is asked about, for samplers that go by time.
    relation, reverse: whose links, and the relation that holds the same edges the other way round.
    edge_split: shares of train, valid and test to draw; else the dataset's own. By stretches of time for "temporal".
    negatives, negative_sampler, filtered: other destinations beside each link.
    hide_links: mini-batches of training do not see the links that they ask about.
    shuffle: another order every epoch; by default for part "train" and for lists.
    seed: of everything random.

    What mini-batches carry: labels, transpose, degrees, edge_ids, feature_groups, edge_feature_groups, normalize_rows;
    hash keeps `batches_xxh3`. exact: never from approximate snapshots, for evaluation.

    Within which memory:
    memory: of all buffers and mini-batches that are alive: "512 MiB", bytes, or "auto": half of what the process may use.
    held: mini-batches that you still have while the next one comes; a for loop has one.
    features, topology: "auto", "memory" or "disk". topology_in_memory: relations whose edges are in memory wherever `topology`
    puts the others'. cache, io, plan, window, verify: as in [storage] of a training config.
    scratch: a folder for epoch plans, on a disk; with features on disk each epoch is then known before it is read. "auto":
    the folder that holds the dataset, where it may be written to and has room for twice the features. None: no plans.
    data_threads: sample and read; 0: all cores.

    Several processes: rank of world_size has every world_size-th mini-batch. even: as many for each, some are left out.

    Raises UsageError for options that do not fit, ResourceError with the least budget that works, DataError, IoError.
    Used by one thread at a time, and not across a fork. KeyboardInterrupt comes through while it waits.
    """

    def __init__(
        self,
        dataset: Union[Dataset, Path],
        *,
        fanout: Optional[Sequence[int]] = None,
        batch_size: int = 1024,
        sampler: Union[str, Mapping[str, Any], None] = None,
        queries: Optional[str] = None,
        part: Optional[str] = None,
        split: Optional[str] = None,
        node_type: Optional[str] = None,
        nodes: Optional[Any] = None,
        ids: Optional[Any] = None,
        graphs: Optional[Any] = None,
        links: Optional[Tuple[Any, Any]] = None,
        link_ids: Optional[Any] = None,
        truth: Optional[Any] = None,
        times: Optional[Any] = None,
        relation: Optional[str] = None,
        reverse: Optional[str] = None,
        edge_split: Optional[Sequence[float]] = None,
        negatives: Optional[int] = None,
        negative_sampler: Optional[str] = None,
        filtered: Optional[bool] = None,
        hide_links: Optional[bool] = None,
        shuffle: Optional[bool] = None,
        seed: int = 1,
        memory: Union[str, int, None] = "auto",
        features: str = "auto",
        topology: str = "auto",
        topology_in_memory: Optional[Sequence[str]] = None,
        cache: Optional[str] = None,
        io: Optional[str] = None,
        plan: Optional[str] = None,
        window: Optional[int] = None,
        verify: Optional[str] = None,
        held: int = 1,
        scratch: Optional[Path] = "auto",
        data_threads: int = 0,
        rank: int = 0,
        world_size: int = 1,
        even: bool = False,
        labels: bool = True,
        transpose: bool = False,
        degrees: bool = False,
        edge_ids: bool = False,
        feature_groups: Optional[Sequence[str]] = None,
        edge_feature_groups: Optional[Sequence[str]] = None,
        normalize_rows: bool = False,
        hash: bool = False,
        exact: bool = False,
        **sampler_options: Any,
    ) -> None:
        options = dict(locals())
        for name in ("self", "dataset", "sampler_options", "__class__"):
            options.pop(name, None)
        options.update(sampler_options)
        self.dataset = dataset if isinstance(dataset, Dataset) else Dataset(dataset)
        """What the mini-batches are of."""
        self._open(options, None)

    def _open(self, options: Dict[str, Any], beside: Optional["Loader"]) -> None:
        self._options = dict(options)
        lists = {name: options.pop(name, None) for name in _LISTS}
        self._settle(options, lists)
        given = (lists["nodes"], lists["times"], lists["links"], lists["link_ids"], lists["truth"], lists["graphs"])
        keys = keys_of(options)
        self._core = beside._core.beside(keys, *given) if beside else _core.Loader(self.dataset._place, keys, *given)
        self._scratch = options.get("scratch") is not None
        self._process = os.getpid()
        self._next_epoch = 0
        self._epoch: Optional[Epoch] = None
        for warning in self._core.warnings():
            warnings.warn(warning, stacklevel=3)

    def _settle(self, options: Dict[str, Any], lists: Dict[str, Any]) -> None:
        """Fills in what follows from what was given, and brings lists into shape."""
        if options.get("scratch") == "auto":
            options["scratch"] = _scratch_beside(self.dataset)
        if lists["ids"] is not None:
            if lists["nodes"] is not None:
                raise UsageError("nodes and ids are both given", "give dense ids as nodes, or the user's own as ids")
            lists["nodes"] = self.dataset.dense_ids(lists["ids"], options.get("node_type"))
        for name in ("nodes", "times", "link_ids", "graphs"):
            if lists[name] is not None:
                lists[name] = numbers(lists[name])
        if lists["nodes"] is not None:
            by_id = lists["ids"] is not None

            def named(node: int) -> Any:
                return self.dataset.ids(options.get("node_type"), rows=[node]).tolist()[0] if by_id else int(node)

            _check_nodes(lists["nodes"], once=lists["times"] is None, named=named)
        if lists["links"] is not None:
            lists["links"] = _ends_of(lists["links"])
        if lists["truth"] is not None:
            lists["truth"] = np.ascontiguousarray(np.asarray(lists["truth"]) != 0, dtype=np.uint8).reshape(-1)
        if options.get("queries") is None:
            links = lists["links"] is not None
            options["queries"] = "links" if links else "graphs" if lists["graphs"] is not None else "nodes"
        listed = any(lists[name] is not None for name in ("nodes", "links", "graphs"))
        if options.get("shuffle") is None:
            options["shuffle"] = listed or options.get("part") in (None, "train")

    def beside(self, **options: Any) -> "Loader":
        """Another loader over the same data and within the same budget, with this one's options but for those given: for a
        validation, say `loader.beside(part="valid", fanout=[-1, -1])`. Made before the first epoch, as the budget is split
        anew. One of the two is in an epoch at a time. Raises UsageError for options that ask for other data.
        """
        made = Loader.__new__(Loader)
        made.dataset = self.dataset
        before = {name: value for name, value in self._options.items() if value is not None}
        if any(options.get(name) is not None for name in ("part", *_LISTS)):
            for name in ("shuffle", *_LISTS):
                before.pop(name, None)
        made._open({**before, **options}, self)
        return made

    def _check_process(self) -> None:
        """Threads do not come along when a process forks: the child would wait for them forever."""
        if os.getpid() != self._process:
            raise UsageError(
                "the loader was made in another process, of which this is a fork",
                'make a loader in each process, and start processes afresh: multiprocessing.get_context("spawn")',
            )

    def __len__(self) -> int:
        """Mini-batches an epoch: of this rank."""
        return self._core.num_batches

    def __iter__(self) -> Epoch:
        number = self._next_epoch
        return self.epoch(number, next_follows=self._scratch)

    def epoch(self, number: int, *, first_batch: int = 0, batches_xxh3: str = "0", next_follows: bool = False) -> Epoch:
        """The mini-batches of any epoch, from any of them on. What was under way ends.

        batches_xxh3: the hash so far, to be gone on from. next_follows: the epoch after is likely to come next, so that it
        is prepared while this one is consumed (with scratch and features on disk).
        """
        self._check_process()
        for name, value in (("epoch", number), ("first_batch", first_batch)):
            if not isinstance(value, (int, np.integer)) or value < 0:
                raise UsageError(f"{name} is {value!r}", "epochs and their mini-batches are counted from 0")
        try:
            chain = int(batches_xxh3, 16)
        except ValueError:
            raise UsageError(f"batches_xxh3 is {batches_xxh3!r}", "give 16 hex digits: a loader's batches_xxh3") from None
        if first_batch > len(self):
            raise UsageError(
                f"mini-batch {first_batch} is to be the first, and an epoch has {len(self)}",
                "go on with the options that it was counted with",
            )
        self._epoch = None
        self._core.start(number, first_batch, chain, next_follows)
        self._next_epoch = number + 1
        self._epoch = Epoch(self, first_batch)
        return self._epoch

    @property
    def stats(self) -> Dict[str, Any]:
        """Of the epoch so far: bytes and requests, what the row caches held, seconds each stage was busy, starved of
        input and blocked by its consumer, and the plans that were chosen. Bytes and seconds."""
        return self._core.stats()

    @property
    def batches_xxh3(self) -> str:
        """Hash of all mini-batches of the epoch so far, in order: 16 hex digits, as `sluice-train` reports it. Needs
        hash=True."""
        return f"{self._core.stats()['batches_xxh3']:016x}"

    @property
    def places(self) -> Dict[str, Any]:
        """Where features and topology are kept ("memory", "disk"), and the engine that reads. Where some relations' edges are
        in memory and others' on disk topology is "mixed", and `relations` has a place each."""
        return self._core.places()

    @property
    def memory_peak(self) -> int:
        """The most bytes of the budget that were in use."""
        return self._core.memory_peak()

    def describe(self) -> str:
        """Where data is kept, why, and how the budget is split: text."""
        return self._core.describe()

    def resolved_options(self) -> str:
        """All options with their values, as TOML."""
        return self._core.options()

    def close(self) -> None:
        """Ends its threads and lets go of its memory. Mini-batches that are alive stay."""
        self._epoch = None
        if os.getpid() == self._process:
            self._core.close()

    def __repr__(self) -> str:
        return f"sluice.Loader({os.fspath(self.dataset.path)!r}, {len(self):,} mini-batches an epoch)"
