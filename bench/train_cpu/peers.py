"""An epoch of training in memory by other libraries. Usage: peers.py PEER MODEL FOLDER THREADS EPOCHS.

PEER is graphbolt (GraphBolt's loader and DGL's layers) or pyg (NeighborLoader and PyG's layers, trimmed to what each
layer needs); MODEL is graphsage, gat or gcn: two layers of 128, fanout 10/10, mini-batches of 1,024, Adam. FOLDER holds
offsets.u64 and neighbours.u32 (CSC), features.f32 (rows), labels.i32 and train.u64. Prints one JSON object: the middle
of the epochs after the first. Started by scripts/bench_peers.
"""

import json
import os
import resource
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

FANOUT, BATCH, HIDDEN, HEADS = [10, 10], 1024, 128, 4


def load(folder):
    def read(name, dtype):
        return np.fromfile(os.path.join(folder, name), dtype)

    offsets = torch.from_numpy(read("offsets.u64", np.uint64).astype(np.int64))
    neighbours = torch.from_numpy(read("neighbours.u32", np.uint32).astype(np.int64))
    nodes = len(offsets) - 1
    features = torch.from_numpy(read("features.f32", np.float32).reshape(nodes, -1))
    labels = torch.from_numpy(read("labels.i32", np.int32).astype(np.int64))
    train = torch.from_numpy(read("train.u64", np.uint64).astype(np.int64))
    return offsets, neighbours, features, labels, train


class Net(torch.nn.Module):
    """Two layers with a ReLU between; `call(layer number, layer, x)` applies one."""

    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x, call):
        for i, layer in enumerate(self.layers):
            x = call(i, layer, x).flatten(1)
            x = F.relu(x) if i == 0 else x
        return x


def graphbolt(model, data):
    import dgl.graphbolt as gb
    import dgl.nn

    offsets, neighbours, features, labels, train = data
    graph = gb.fused_csc_sampling_graph(offsets, neighbours)
    store = gb.BasicFeatureStore({("node", None, "feat"): gb.TorchBasedFeature(features)})
    items = gb.ItemSet((train, labels[train]), names=("seed_nodes", "labels"))
    pipe = gb.ItemSampler(items, batch_size=BATCH, shuffle=True).sample_neighbor(graph, FANOUT)
    pipe = pipe.fetch_feature(store, node_feature_keys=["feat"]).copy_to(torch.device("cpu"))
    loader = gb.DataLoader(pipe, num_workers=int(os.environ.get("PEER_WORKERS", "0")))
    width, classes = features.shape[1], int(labels.max()) + 1
    layers = {
        "graphsage": lambda: [dgl.nn.SAGEConv(width, HIDDEN, "mean"), dgl.nn.SAGEConv(HIDDEN, classes, "mean")],
        "gat": lambda: [dgl.nn.GATConv(width, HIDDEN // HEADS, HEADS, allow_zero_in_degree=True),
                        dgl.nn.GATConv(HIDDEN, classes, 1, allow_zero_in_degree=True)],
        "gcn": lambda: [dgl.nn.GraphConv(width, HIDDEN, allow_zero_in_degree=True),
                        dgl.nn.GraphConv(HIDDEN, classes, allow_zero_in_degree=True)],
    }[model]()

    def batches():
        for batch in loader:
            blocks = batch.blocks
            yield (batch.node_features["feat"], batch.labels, lambda i, layer, x: layer(blocks[i], x), len(batch.labels),
                   sum(block.num_edges() for block in blocks))

    return "graphbolt+dgl", Net(layers), batches


def pyg(model, data):
    import torch_geometric
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv

    offsets, neighbours, features, labels, train = data
    targets = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
    graph = torch_geometric.data.Data(x=features, y=labels, edge_index=torch.stack([neighbours, targets]))
    loader = NeighborLoader(graph, FANOUT, input_nodes=train, batch_size=BATCH, shuffle=True, is_sorted=True,
                            num_workers=int(os.environ.get("PEER_WORKERS", "0")))
    width, classes = features.shape[1], int(labels.max()) + 1
    layers = {
        "graphsage": lambda: [SAGEConv(width, HIDDEN), SAGEConv(HIDDEN, classes)],
        "gat": lambda: [GATConv(width, HIDDEN // HEADS, HEADS), GATConv(HIDDEN, classes, 1)],
        "gcn": lambda: [GCNConv(width, HIDDEN), GCNConv(HIDDEN, classes)],
    }[model]()

    def batches():
        for batch in loader:
            edges = batch.edge_index
            # Hop by hop, seeds first: the last layer needs the first hop's edges and nodes alone. (trim_to_layer wants
            # pyg-lib's counts, which torch-sparse does not give.)
            first = edges[:, :int((edges[1] < batch.batch_size).sum())]
            nodes = int(first[0].max()) + 1

            def call(i, layer, x, edges=edges, first=first, nodes=nodes):
                return layer(x, edges) if i == 0 else layer(x[:nodes], first)

            yield batch.x, batch.y[:batch.batch_size], call, batch.batch_size, edges.shape[1]

    return "pyg " + torch_geometric.__version__, Net(layers), batches


def main():
    peer, model, folder, threads, epochs = sys.argv[1:4] + [int(value) for value in sys.argv[4:6]]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    name, net, batches = {"graphbolt": graphbolt, "pyg": pyg}[peer](model, load(folder))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    seconds, losses, edges = [], [], 0
    for _ in range(epochs):
        begin, total, seeds, edges = time.perf_counter(), 0.0, 0, 0
        for x, y, call, count, sampled in batches():
            loss = F.cross_entropy(net(x, call)[:count], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * count
            seeds += count
            edges += sampled
        seconds.append(time.perf_counter() - begin)
        losses.append(total / seeds)
        print(f"{name} {model}: epoch of {seconds[-1]:.2f} s, loss {losses[-1]:.4f}", file=sys.stderr, flush=True)
    print(json.dumps({"peer": name, "seconds": statistics.median_low(seconds[1:]), "loss": losses[-1], "edges": edges,
                      "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


main()
