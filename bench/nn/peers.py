"""DGL's operations over a block, forward and backward.

Usage: peers.py FOLDER spmm|mean|max|softmax WIDTH THREADS ROUNDS.

FOLDER holds offsets.i64 and neighbours.i32 (CSC: targets list their sources) and sizes.i64 (sources, targets). Prints
one JSON object: the middle of the rounds after one that is not timed. Started by scripts/bench_peers.
"""

import json
import os
import statistics
import sys
import time

import numpy as np
import torch

import dgl
import dgl.ops


def main():
    folder, operation, width, threads, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    torch.set_num_threads(threads)

    def read(name, dtype):
        return torch.from_numpy(np.fromfile(os.path.join(folder, name), dtype))

    sources, targets = read("sizes.i64", np.int64).tolist()
    offsets, neighbours = read("offsets.i64", np.int64), read("neighbours.i32", np.int32).long()
    # 32 bits, as DGL is fastest with.
    graph = dgl.create_block(
        ("csc", (offsets.int(), neighbours.int(), torch.tensor([], dtype=torch.int32))),
        num_src_nodes=sources, num_dst_nodes=targets)
    forward = {
        "spmm": dgl.ops.copy_u_sum,
        "mean": dgl.ops.copy_u_mean,
        "max": dgl.ops.copy_u_max,
        "softmax": dgl.ops.edge_softmax,
    }[operation]
    torch.manual_seed(1)
    rows = neighbours.numel() if operation == "softmax" else sources
    x = torch.randn(rows, width)
    grad, seconds = None, []
    for _ in range(rounds + 1):
        x = x.detach().requires_grad_()
        begin = time.perf_counter()
        out = forward(graph, x)
        if grad is None:
            grad = torch.ones_like(out)
        out.backward(grad)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"peer": "dgl " + dgl.__version__, "seconds": statistics.median_low(seconds[1:])}))


main()
