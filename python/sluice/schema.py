"""What a dataset holds, by node type and relation: counts, kinds and widths. Values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

__all__ = ["Schema", "NodeType", "Relation", "FeatureGroup", "Labels", "SplitSizes", "Graphs"]


@dataclass(frozen=True)
class FeatureGroup:
    """A table of features: a row a node or edge."""

    name: str
    dtype: str
    """As stored: "f32", "f16", "bf16" or "int8". Mini-batches and `features()` give float32."""
    dim: int
    rows: int


@dataclass(frozen=True)
class Labels:
    """What labels are like."""

    kind: str
    """"class", "multi_label" or "regression"."""
    width: int
    """Classes, or targets of a regression."""
    names: List[str]
    """Of the classes; empty where they are numbers."""


@dataclass(frozen=True)
class NodeType:
    """The nodes of one type."""

    name: str
    count: int
    ids: str
    """The user's own ids: "dense" (0 to count - 1), "integer" or "string"."""
    features: List[FeatureGroup]
    labels: Optional[Labels]
    has_times: bool


@dataclass(frozen=True)
class Relation:
    """The edges of one kind, from nodes of `source` to nodes of `target`."""

    source: str
    name: str
    target: str
    edges: int
    has_edge_ids: bool
    has_times: bool
    has_weights: bool
    features: List[FeatureGroup]
    labels: Optional[Labels]
    title: str

    @property
    def key(self) -> str:
        """"source__name__target": what it is called everywhere."""
        return f"{self.source}__{self.name}__{self.target}"


@dataclass(frozen=True)
class SplitSizes:
    """A split of nodes, edges or graphs, and how many each part has."""

    name: str
    of: str
    """Node type or relation key; empty for links that stand apart, and for graphs."""
    train: int
    valid: int
    test: int


@dataclass(frozen=True)
class Graphs:
    """A collection of many small graphs."""

    node_type: str
    count: int
    labels: Optional[Labels]
    splits: List[SplitSizes]


@dataclass(frozen=True)
class Schema:
    """All of a dataset. A homogeneous graph has one node type and one relation."""

    nodes: List[NodeType]
    relations: List[Relation]
    splits: List[SplitSizes]
    edge_splits: List[SplitSizes]
    graphs: Optional[Graphs]


def _labels(raw: Optional[Dict[str, Any]]) -> Optional[Labels]:
    return Labels(**raw) if raw else None


def _typed(cls: Any, raw: Dict[str, Any]) -> Any:
    rest = dict(raw)
    features = [FeatureGroup(**group) for group in rest.pop("features")]
    return cls(features=features, labels=_labels(rest.pop("labels")), **rest)


def schema_of(raw: Dict[str, Any]) -> Schema:
    """From what the engine says."""
    graphs = None
    if raw["graphs"]:
        of = raw["graphs"]
        graphs = Graphs(of["node_type"], of["count"], _labels(of["labels"]), [SplitSizes(**s) for s in of["splits"]])
    return Schema(
        nodes=[_typed(NodeType, node) for node in raw["nodes"]],
        relations=[_typed(Relation, relation) for relation in raw["relations"]],
        splits=[SplitSizes(**split) for split in raw["splits"]],
        edge_splits=[SplitSizes(**split) for split in raw["edge_splits"]],
        graphs=graphs,
    )
