"""COO to CSC by another library: usage: peers.py scipy|dgl|pyg|scipy_events FOLDER NODES THREADS. Started by scripts/bench_peers.

Prints one JSON object a kernel: the middle of three rounds from COO in memory (of the library's own width) to CSC. Of
scipy_events FOLDER also holds time.i64, by event: once the kernel with edge ids, once times by target too.
"""

import gc
import json
import os
import resource
import statistics
import sys
import time

import numpy as np

ROUNDS = 3


def load(folder):
    return [np.fromfile(os.path.join(folder, name), np.uint32) for name in ("source.u32", "target.u32")]


def measure(peer, convert, edge_ids, **more):
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        result = convert()
        seconds.append(time.perf_counter() - begin)
        del result
        gc.collect()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    line = {"peer": peer, "edge_ids": edge_ids, "seconds": statistics.median(seconds), "peak_rss": peak, **more}
    print(json.dumps(line), flush=True)


def scipy_kernel(folder, nodes):
    from scipy.sparse import _sparsetools

    source, target = (ids.astype(np.int32) for ids in load(folder))
    edges = len(source)
    ids = np.arange(edges, dtype=np.int32)

    def convert():
        offsets = np.empty(nodes + 1, np.int32)
        neighbours, out_ids = np.empty(edges, np.int32), np.empty(edges, np.int32)
        _sparsetools.coo_tocsr(nodes, nodes, edges, target, source, ids, offsets, neighbours, out_ids)
        return offsets, neighbours, out_ids

    return convert


def scipy(folder, nodes, _):
    measure("scipy coo_tocsr i32", scipy_kernel(folder, nodes), True)


def scipy_events(folder, nodes, _):
    convert = scipy_kernel(folder, nodes)
    times = np.fromfile(os.path.join(folder, "time.i64"), np.int64)

    def convert_all():
        offsets, neighbours, ids = convert()
        return offsets, neighbours, ids, times[ids]

    measure("scipy coo_tocsr i32", convert, True, times=False)
    measure("scipy coo_tocsr i32, times by id", convert_all, True, times=True)


def dgl(folder, nodes, threads):
    import torch

    import dgl as library

    torch.set_num_threads(threads)
    source, target = (torch.from_numpy(ids.astype(np.int32)) for ids in load(folder))

    def convert():
        graph = library.graph((source, target), num_nodes=nodes).formats(["csc"])
        graph.create_formats_()
        return graph

    measure("dgl i32", convert, True)


def pyg(folder, nodes, threads):
    import torch
    from torch_geometric.data import Data
    from torch_geometric.sampler.utils import to_csc

    torch.set_num_threads(threads)
    edge_index = torch.stack([torch.from_numpy(ids.astype(np.int64)) for ids in load(folder)])

    def convert():  # what its NeighborLoader does
        return to_csc(Data(edge_index=edge_index, num_nodes=nodes), device="cpu")

    measure("pyg to_csc", convert, True)


if __name__ == "__main__":
    {"scipy": scipy, "dgl": dgl, "pyg": pyg, "scipy_events": scipy_events}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
