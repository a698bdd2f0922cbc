"""Sluice: graphs larger than memory, as mini-batches for any framework.

    import sluice

    sluice.prep.import_(config="graph.toml", out="data/mine")
    loader = sluice.Loader("data/mine", fanout=[10, 5], batch_size=1024, memory="512 MiB")
    for epoch in range(10):
        for batch in loader:
            batch.x, batch.labels, batch.edge_index(0)   # NumPy views, without copies

docs/python.md tells more.
"""

import atexit as _atexit
from typing import Any as _Any

from . import _core, prep
from .batch import Batch, Block, Nodes, Queries
from .dataset import Dataset, GraphCollection, Split
from .errors import DataError, Error, InternalError, IoError, Place, ResourceError, UsageError
from .loader import Epoch, Loader, loader_options
from .results import Predictions, Weights, predictions, weights
from .schema import FeatureGroup, Graphs, Labels, NodeType, Relation, Schema, SplitSizes

__version__: str = _core.__version__

_atexit.register(_core.join)


def __getattr__(name: str) -> _Any:
    if name == "pyg":  # loads PyTorch, so only where it is asked for
        import importlib

        return importlib.import_module(".pyg", __name__)
    raise AttributeError(f"module 'sluice' has no attribute '{name}'")


__all__ = [
    "Batch",
    "Block",
    "DataError",
    "Dataset",
    "Epoch",
    "Error",
    "FeatureGroup",
    "GraphCollection",
    "Graphs",
    "InternalError",
    "IoError",
    "Labels",
    "Loader",
    "NodeType",
    "Nodes",
    "Place",
    "Predictions",
    "Queries",
    "Relation",
    "ResourceError",
    "Schema",
    "Split",
    "SplitSizes",
    "UsageError",
    "Weights",
    "loader_options",
    "predictions",
    "prep",
    "weights",
]
