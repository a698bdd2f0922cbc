"""Edges in CSV into memory, in the order of their targets, by pandas: usage: peers.py FILE. Started by scripts/bench_peers.

Prints one JSON object: seconds of reading and of a stable sort by target.
"""

import json
import resource
import sys
import time

import pandas

begin = time.perf_counter()
edges = pandas.read_csv(sys.argv[1])
read = time.perf_counter()
edges = edges.sort_values("dst", kind="stable")
end = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(
    json.dumps(
        {
            "peer": f"pandas {pandas.__version__}",
            "edges": len(edges),
            "seconds": end - begin,
            "read_seconds": read - begin,
            "sort_seconds": end - read,
            "peak_rss": peak,
        }
    )
)
