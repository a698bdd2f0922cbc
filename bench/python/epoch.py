"""PyG's SAGEConv over sluice.pyg.NeighborLoader from disk, beside PyG's own NeighborLoader in memory: epoch, memory, accuracy.

usage: epoch.py DATASET [--package FOLDER] [--memory 512MiB] [--epochs 2] [--threads N] [--only sluice|pyg]

DATASET is the quickstart's graph: scripts/quickstart makes it, or
  sluice-prep generate sbm --nodes 4400000 --edges 26000000 --features 128 --classes 16 --signal 1.5 \\
    --train 0.02 --valid 0.002 --test 0.004 --out data/quickstart
Runs by a Python with PyTorch, PyG and torch-sparse or pyg-lib, which PyG's side needs (torch-sparse builds from source, minutes, by
the packages setuptools and wheel that are there; it loads scipy):
  pip install torch torch_geometric setuptools wheel scipy
  FORCE_ONLY_CPU=1 pip install --no-build-isolation torch-sparse
  epoch.py data/quickstart --package build/release/python
Each side is a process of its own, so that its peak memory is its own. Both train a GraphSAGE of two layers 128 wide, fanout
10/10, mini-batches of 1024, on the same model code; epochs after the first count. Prints a JSON object a line, and the ratios.
"""

import argparse
import os
import resource
import statistics
import sys
import time

from tools import last_line, run, say

FANOUT, BATCH, HIDDEN = [10, 10], 1024, 128


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--package", help="the folder that the package sluice lies in, unless it is installed")
    parser.add_argument("--memory", default="512MiB", help="budget of the loader from disk")
    parser.add_argument("--scratch", help="a folder for epoch plans of the loader from disk, else that of DATASET")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=("sluice", "pyg"), help="one side, in this process")
    return parser.parse_args()


def data_in_memory(dataset):
    """The same graph as PyG has it: all of it in tensors."""
    import numpy as np
    import sluice
    import torch
    from torch_geometric.data import Data

    # Edges grouped by target, all of them: whole in-neighbourhoods of all nodes, some at a time.
    sources, targets = [], []
    loader = sluice.Loader(dataset, part="all", fanout=[-1], batch_size=1 << 16, shuffle=False, labels=False, feature_groups=[])
    for batch in loader:
        source, target = batch.edge_index(0)
        sources.append(batch.ids[source])
        targets.append(batch.ids[target])
    loader.close()
    edge_index = torch.from_numpy(np.stack([np.concatenate(sources), np.concatenate(targets)]))
    del sources, targets
    data = Data(x=torch.from_numpy(dataset.features()), edge_index=edge_index, y=torch.from_numpy(dataset.labels()).long())
    return data, [torch.from_numpy(part) for part in dataset.split()]


def loaders(options, dataset):
    if options.only == "sluice":
        from sluice.pyg import NeighborLoader

        words = {"memory": options.memory, "features": "disk", "data_threads": options.threads}
        if options.scratch:
            words["scratch"] = options.scratch
        train = NeighborLoader(dataset, FANOUT, "train", batch_size=BATCH, shuffle=True, **words)
        return train, lambda: NeighborLoader(dataset, FANOUT, "test", batch_size=BATCH, **words)
    from torch_geometric.loader import NeighborLoader

    data, (train, _, test) = data_in_memory(dataset)
    loader = NeighborLoader(data, FANOUT, input_nodes=train, batch_size=BATCH, shuffle=True)
    return loader, lambda: NeighborLoader(data, FANOUT, input_nodes=test, batch_size=BATCH)


def measure(options):
    import sluice
    import torch
    import torch.nn.functional as F
    from torch_geometric.nn import SAGEConv

    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    dataset = sluice.Dataset(options.dataset)
    node = dataset.node_type()
    layers = torch.nn.ModuleList([SAGEConv(node.features[0].dim, HIDDEN), SAGEConv(HIDDEN, node.labels.width)])

    def forward(batch, training):
        x = F.dropout(layers[0](batch.x, batch.edge_index).relu(), 0.2, training)
        return layers[1](x, batch.edge_index)[: batch.batch_size]

    optimizer = torch.optim.Adam(layers.parameters(), lr=0.003)
    train, make_test = loaders(options, dataset)
    seconds = []
    for _ in range(options.epochs):
        begin = time.perf_counter()
        for batch in train:
            optimizer.zero_grad()
            F.cross_entropy(forward(batch, True), batch.y[: batch.batch_size]).backward()
            optimizer.step()
        seconds.append(time.perf_counter() - begin)
        del batch
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if options.only == "sluice":
        train.close()
    right = total = 0
    with torch.no_grad():
        for batch in make_test():
            right += int((forward(batch, False).argmax(1) == batch.y[: batch.batch_size]).sum())
            total += batch.batch_size
    line = {"side": options.only, "seconds": seconds, "epoch": statistics.median(seconds[1:] or seconds), "peak_rss": peak,
            "test_accuracy": right / total, "torch": torch.__version__, "threads": options.threads}
    say(line)


def both(options):
    lines = {}
    for side in ("sluice", "pyg"):
        lines[side] = last_line(run(sys.executable, *sys.argv, "--only", side))
        say(lines[side])
    ours, theirs = lines["sluice"], lines["pyg"]
    say({"epoch_ratio": ours["epoch"] / theirs["epoch"], "peak_ratio": ours["peak_rss"] / theirs["peak_rss"],
         "accuracy_difference": ours["test_accuracy"] - theirs["test_accuracy"]})


if __name__ == "__main__":
    given = arguments()
    if given.package:
        sys.path.insert(0, given.package)
    measure(given) if given.only else both(given)
