"""Recent neighbours by PyG's LastNeighborLoader: usage: temporal_peers.py FOLDER NODES THREADS. Started by
scripts/bench_peers.

FOLDER holds source.u32, target.u32 and negative.u32 by event, in time order. The first half is inserted; then batches of
600 events go as in PyG's example of TGN: look up the roots' neighbours, insert the events. It knows no times and takes
each event in both directions. Prints one JSON object: seconds, roots and edges of the middle one of three rounds.
`seconds` are those of the look-ups alone, of roots made distinct beforehand; `with_insert` has the insertions too.
"""

import json
import os
import sys
import time

import numpy as np
import torch
from torch_geometric.nn.models.tgn import LastNeighborLoader

EVENTS, BATCHES, ROUNDS, SIZE = 600, 250, 3, 10


def load(folder, name):
    return torch.from_numpy(np.fromfile(os.path.join(folder, name), np.uint32).astype(np.int64))


def main(folder, nodes, threads):
    torch.set_num_threads(threads)
    source, target, negative = (load(folder, name) for name in ("source.u32", "target.u32", "negative.u32"))
    loader = LastNeighborLoader(nodes, size=SIZE)
    first = len(source) // 2
    for begin in range(0, first, 1 << 17):
        end = min(first, begin + (1 << 17))
        loader.insert(source[begin:end], target[begin:end])
    rounds = []
    at = first
    for _ in range(ROUNDS):
        edges = roots = 0
        seconds = with_insert = 0.0
        for _ in range(min(BATCHES, (len(source) - first) // EVENTS // ROUNDS)):
            events = slice(at, at + EVENTS)
            asked = torch.cat([source[events], target[events], negative[events]]).unique()
            began = time.perf_counter()
            _, edge_index, _ = loader(asked)
            looked_up = time.perf_counter()
            loader.insert(source[events], target[events])
            seconds += looked_up - began
            with_insert += time.perf_counter() - began
            roots += 3 * EVENTS
            edges += edge_index.size(1)
            at += EVENTS
        rounds.append({"seconds": seconds, "with_insert": with_insert, "roots": roots, "edges": edges})
    middle = sorted(rounds, key=lambda one: one["seconds"])[ROUNDS // 2]
    print(json.dumps({"peer": "pyg LastNeighborLoader", **middle}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
