"""The engine beneath the package; use `sluice` itself."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


class Dataset:
    """A dataset directory, opened; sluice.Dataset wraps it."""

    def __init__(self, path: str, verify: bool) -> None: ...

    def close(self) -> None: ...

    @property
    def path(self) -> str: ...

    @property
    def fingerprint(self) -> int: ...

    @property
    def generation(self) -> int: ...

    def schema(self) -> dict: ...

    def features(self, node_type: str, group: str, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> NDArray: ...

    def edge_features(self, relation: str, group: str, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> NDArray: ...

    def labels(self, node_type: str) -> NDArray: ...

    def node_times(self, node_type: str) -> NDArray: ...

    def edge_labels(self, relation: str) -> NDArray: ...

    def edge_times(self, relation: str) -> NDArray: ...

    def edge_weights(self, relation: str) -> NDArray: ...

    def split(self, name: str) -> tuple: ...

    def edge_split(self, name: str) -> tuple: ...

    def graph_split(self, name: str) -> tuple: ...

    def graphs(self) -> tuple: ...

    def ids(self, node_type: str, count: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> object: ...

class Nodes:
    """The nodes of one type in a mini-batch, seeds first."""

    @property
    def ids(self) -> NDArray:
        """int64 [n]: dense ids; row i is node ids[i]."""

    @property
    def degrees(self) -> NDArray | None:
        """
        int64 [n]: in-edges in the whole graph; None unless the loader has degrees=True.
        """

    @property
    def times(self) -> NDArray | None:
        """int64 [n]: of each row; None without times."""

    @property
    def x(self) -> NDArray | None:
        """
        float32 [n, dim]: features of the loader's first group; None where the type has none.
        """

    def features(self, group: int = 0) -> NDArray | None:
        """float32 [n, dim]: features of a group, by its place in feature_groups."""

    @property
    def sizes(self) -> list[int]:
        """
        Rows in use at each layer boundary: sizes[0] all, ..., the last one the seeds.
        """

    def __len__(self) -> int: ...

class Block:
    """
    The sampled edges of one relation at one layer, from source rows to target rows, grouped by target.
    """

    @property
    def relation_index(self) -> int:
        """Its place in schema.relations."""

    @property
    def num_sources(self) -> int:
        """Rows of the source type it reads."""

    @property
    def num_targets(self) -> int:
        """Rows of the target type it writes."""

    @property
    def num_edges(self) -> int: ...

    @property
    def offsets(self) -> NDArray:
        """int64 [num_targets + 1]: where each target's edges begin."""

    @property
    def neighbours(self) -> NDArray:
        """int32 [edges]: source rows."""

    @property
    def edge_ids(self) -> NDArray | None:
        """
        int64 [edges]; None unless the loader has edge_ids=True or edge features.
        """

    @property
    def deltas(self) -> NDArray | None:
        """
        int64 [edges]: how long before its target's time each edge was; None without times.
        """

    @property
    def transposed_offsets(self) -> NDArray | None:
        """int64 [num_sources + 1]; None unless the loader has transpose=True."""

    @property
    def transposed_targets(self) -> NDArray | None:
        """int32 [edges]: target rows, grouped by source."""

    @property
    def transposed_edges(self) -> NDArray | None:
        """int32 [edges]: each one's place in neighbours."""

    def features(self, group: int = 0) -> NDArray | None:
        """
        float32 [edges, dim]: of a group, by its place in edge_feature_groups; else None.
        """

    def edge_index(self) -> NDArray:
        """int64 [2, edges]: source rows, target rows. A new array."""

class Batch:
    """A mini-batch; sluice.Batch wraps it."""

    @property
    def epoch(self) -> int: ...

    @property
    def index(self) -> int: ...

    @property
    def num_queries(self) -> int: ...

    @property
    def num_layers(self) -> int: ...

    @property
    def labels(self) -> NDArray | None: ...

    @property
    def relation(self) -> int: ...

    @property
    def type(self) -> int: ...

    @property
    def destination_type(self) -> int: ...

    @property
    def query_ids(self) -> NDArray | None: ...

    @property
    def query_times(self) -> NDArray | None: ...

    @property
    def query_nodes(self) -> NDArray | None: ...

    @property
    def query_offsets(self) -> NDArray | None: ...

    @property
    def sources(self) -> NDArray | None: ...

    @property
    def destinations(self) -> NDArray | None: ...

    @property
    def negatives(self) -> NDArray | None: ...

    @property
    def truth(self) -> NDArray | None: ...

    def seeds(self, type: int) -> NDArray: ...

    def nodes(self, type: int) -> Nodes: ...

    def blocks(self, layer: int) -> list[Block]: ...

    def xxh3(self) -> int: ...

class Loader:
    """The mini-batches of epochs; sluice.Loader wraps it."""

    def __init__(self, path: str, keys: Sequence[tuple[str, str]], nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, links: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, link_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, truth: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, graphs: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def beside(self, keys: Sequence[tuple[str, str]], nodes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, links: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, link_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, truth: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, graphs: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> Loader: ...

    def start(self, epoch: int, first_batch: int, batches_xxh3: int, next_follows: bool) -> None: ...

    def next(self) -> object: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...

    @property
    def num_batches(self) -> int: ...

    def stats(self) -> dict: ...

    def places(self) -> dict: ...

    def describe(self) -> str: ...

    def warnings(self) -> list[str]: ...

    def options(self) -> str: ...

    def memory_peak(self) -> int: ...

    def memory_used(self) -> int: ...

def join() -> None:
    """Waits for what Ctrl-C left behind."""

def options() -> str:
    """
    Every option of a loader with its type, default, range and meaning, as text.
    """
