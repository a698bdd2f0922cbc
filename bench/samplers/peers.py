"""Neighbour sampling by another library. Usage: peers.py dgl|graphbolt FOLDER FANOUT THREADS ROUNDS.

FOLDER holds offsets.u64 and neighbours.u32 (CSC) and seeds.u64 (mini-batches one after the other, their size in
batch_size). FANOUT is as in 15,10,5. Prints one JSON object: the middle of the rounds over all mini-batches, after a
round that is not timed. Both relabel into blocks, as Sluice does. Started by scripts/bench_peers.
"""

import json
import os
import resource
import statistics
import sys
import time

import numpy as np


def load(folder):
    def read(name, dtype):
        return np.fromfile(os.path.join(folder, name), dtype)

    offsets = read("offsets.u64", np.uint64).astype(np.int64)
    neighbours = read("neighbours.u32", np.uint32)
    with open(os.path.join(folder, "batch_size")) as file:
        size = int(file.read())
    return offsets, neighbours, read("seeds.u64", np.uint64).astype(np.int64).reshape(-1, size)


def dgl_blocks(offsets, neighbours, fanout):
    import torch

    import dgl

    # In 64 bits: with 32 it draws the same few neighbours over and over.
    csc = [torch.from_numpy(array.astype(np.int64)) for array in (offsets, neighbours)]
    graph = dgl.graph(("csc", (*csc, torch.tensor([], dtype=torch.int64))))
    sampler = dgl.dataloading.NeighborSampler(fanout[::-1])

    def sample(seeds):
        inputs, _, blocks = sampler.sample_blocks(graph, torch.from_numpy(seeds))
        return sum(block.num_edges() for block in blocks), len(inputs)

    return "dgl 2.1 NeighborSampler", sample


def graphbolt(offsets, neighbours, fanout):
    import dgl.graphbolt
    import torch

    graph = dgl.graphbolt.fused_csc_sampling_graph(
        torch.from_numpy(offsets), torch.from_numpy(neighbours.astype(np.int64)))
    try:
        from dgl.graphbolt.internal import unique_and_compact_csc_formats
    except ImportError:
        from dgl.graphbolt import unique_and_compact_csc_formats
    counts = [torch.LongTensor([count]) for count in fanout]

    def sample(seeds):
        nodes, edges = torch.from_numpy(seeds), 0
        for count in counts:
            sampled = graph.sample_neighbors(nodes, count).sampled_csc
            edges += sampled.indices.numel()
            nodes, _ = unique_and_compact_csc_formats(sampled, nodes)
        return edges, nodes.numel()

    return "graphbolt 2.1", sample


def main():
    peer, folder, fanout, threads, rounds = sys.argv[1:6]
    import torch

    torch.set_num_threads(int(threads))
    offsets, neighbours, batches = load(folder)
    make = {"dgl": dgl_blocks, "graphbolt": graphbolt}[peer]
    name, sample = make(offsets, neighbours, [int(count) for count in fanout.split(",")])
    seconds, edges, nodes = [], 0, 0
    for timed in range(int(rounds) + 1):
        begin = time.perf_counter()
        done = [sample(seeds) for seeds in batches]
        if timed:
            seconds.append(time.perf_counter() - begin)
        edges, nodes = (sum(column) for column in zip(*done))
    print(json.dumps({
        "peer": name,
        "threads": int(threads),
        "seconds": statistics.median(seconds),
        "edges": edges,
        "rate": edges / statistics.median(seconds),
        "edges_per_batch": edges // len(batches),
        "nodes_per_batch": nodes // len(batches),
        "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }))


main()
