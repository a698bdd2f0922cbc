"""One side of typed_epoch.py: GraphSAGE over several node types by PyG or DGL. Prints a JSON object. typed_epoch.py starts it.

usage: typed_peers.py pyg|dgl FOLDER ABOUT

FOLDER holds what `sluice-prep export --format npy` wrote of a graph of `generate hetero --relations N`, and train.npy and test.npy. ABOUT is
JSON: relations, kinds, fanout, batch, hidden, epochs, threads, rate, classes. Each relation gets its reverse.
"""

import json
import pathlib
import resource
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F


class Graph:
    """Arrays of the folder as tensors; relations with their reverses, by (source, name, target)."""

    def __init__(self, folder, about):
        def tensor(name):
            return torch.from_numpy(np.load(folder / f"{name}.npy"))

        types = ["item", *(f"kind{k}" for k in range(about["kinds"]))]
        self.features = {name: tensor(f"{name}.features") for name in types}
        self.labels = tensor("item.labels").long()
        self.parts = {part: tensor(part) for part in ("train", "test")}
        self.edges = {}
        for r in range(about["relations"]):
            kind = f"kind{r % about['kinds']}"
            pairs = tensor(f"{kind}__r{r}__item").long().t().contiguous()
            self.edges[kind, f"r{r}", "item"] = pairs
            self.edges["item", f"r{r}_of", kind] = pairs.flip(0)
        self.width = self.features["item"].shape[1]
        self.into_items = [relation for relation in self.edges if relation[2] == "item"]
        self.into_kinds = [relation for relation in self.edges if relation[2] != "item"]


class PygSide:
    """HeteroConv(SAGEConv). The items that are targets of a first layer are the seeds, which come first: others are sources alone."""

    def __init__(self, graph, about):
        import torch_geometric
        from torch_geometric.data import HeteroData
        from torch_geometric.nn import HeteroConv, SAGEConv

        self.name, self.graph, self.about = "PyG " + torch_geometric.__version__, graph, about
        self.data = HeteroData()
        for name, rows in graph.features.items():
            self.data[name].x = rows
        self.data["item"].y = graph.labels
        for relation, pairs in graph.edges.items():
            self.data[relation].edge_index = pairs

        def convs(relations, width, columns):
            return HeteroConv({relation: SAGEConv((width, width), columns) for relation in relations}, aggr="sum")

        self.first = torch.nn.ModuleList([convs(graph.into_kinds, graph.width, about["hidden"]),
                                          convs(graph.into_items, graph.width, about["hidden"])])
        self.second = convs(graph.into_items, about["hidden"], about["classes"])

    def parameters(self):
        return [*self.first.parameters(), *self.second.parameters()]

    def batches(self, part):
        from torch_geometric.loader import NeighborLoader

        loader = NeighborLoader(self.data, {relation: self.about["fanout"] for relation in self.graph.edges},
                                input_nodes=("item", self.graph.parts[part]), batch_size=self.about["batch"], shuffle=part == "train")
        for batch in loader:
            seeds = batch["item"].batch_size
            yield self.outputs(batch, seeds), batch["item"].y[:seeds]

    def outputs(self, batch, seeds):
        x, edges = batch.x_dict, batch.edge_index_dict
        of_seeds = {relation: edges[relation][:, edges[relation][1] < seeds] for relation in self.graph.into_items}
        h = self.first[0](x, {relation: edges[relation] for relation in self.graph.into_kinds})
        h |= self.first[1]({**x, "item": x["item"][:seeds]}, of_seeds)
        return self.second({name: rows.relu() for name, rows in h.items()}, of_seeds)["item"]


class DglSide:
    """HeteroGraphConv(SAGEConv) over blocks."""

    def __init__(self, graph, about):
        import dgl
        import dgl.nn

        self.name, self.about, self.parts = "DGL " + dgl.__version__, about, graph.parts
        self.graph = dgl.heterograph({relation: (pairs[0], pairs[1]) for relation, pairs in graph.edges.items()},
                                     {name: len(rows) for name, rows in graph.features.items()})
        for name, rows in graph.features.items():
            self.graph.nodes[name].data["x"] = rows
        self.graph.nodes["item"].data["y"] = graph.labels

        def convs(relations, width, columns):
            return dgl.nn.HeteroGraphConv({name: dgl.nn.SAGEConv(width, columns, "mean") for _, name, _ in relations}, "sum")

        # Of all relations in both: DGL asks a block's module of relations without edges too.
        self.layers = torch.nn.ModuleList([convs(graph.edges, graph.width, about["hidden"]),
                                           convs(graph.edges, about["hidden"], about["classes"])])

    def parameters(self):
        return list(self.layers.parameters())

    def batches(self, part):
        import dgl.dataloading

        loader = dgl.dataloading.DataLoader(self.graph, {"item": self.parts[part]}, dgl.dataloading.NeighborSampler(self.about["fanout"]),
                                            batch_size=self.about["batch"], shuffle=part == "train", drop_last=False, num_workers=0)
        for _, _, blocks in loader:
            h = self.layers[0](blocks[0], blocks[0].srcdata["x"])
            yield self.layers[1](blocks[1], {name: rows.relu() for name, rows in h.items()})["item"], blocks[1].dstdata["y"]["item"]


def trained(side, about):
    optimizer, seconds = torch.optim.Adam(side.parameters(), lr=about["rate"]), []
    for _ in range(about["epochs"]):
        begin = time.perf_counter()
        for outputs, labels in side.batches("train"):
            optimizer.zero_grad()
            F.cross_entropy(outputs, labels).backward()
            optimizer.step()
        seconds.append(time.perf_counter() - begin)
        print(f"{side.name}: epoch of {seconds[-1]:.2f} s", file=sys.stderr, flush=True)
    return seconds


def main():
    which, folder, about = sys.argv[1], pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])
    torch.manual_seed(1)
    torch.set_num_threads(about["threads"])
    side = {"pyg": PygSide, "dgl": DglSide}[which](Graph(folder, about), about)
    seconds = trained(side, about)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    right = total = 0
    with torch.no_grad():
        for outputs, labels in side.batches("test"):
            right += int((outputs.argmax(1) == labels).sum())
            total += len(labels)
    print(json.dumps({"side": which, "peer": side.name, "epochs": seconds, "accuracy": right / total, "peak_rss": peak,
                      "torch": torch.__version__}), flush=True)


main()
