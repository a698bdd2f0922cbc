"""Epochs of sluice.Loader without a step, for bench/feed: loop.py PACKAGE_FOLDER DATASET MEMORY EPOCHS arrays|edges."""

import json
import sys
import time

package, data, memory, epochs, what = sys.argv[1:]
sys.path.insert(0, package)

import sluice  # noqa: E402

loader = sluice.Loader(data, fanout=[10, 10], features="disk", memory=memory, scratch=None)  # as the loop in C++
seconds = []
for epoch in range(int(epochs)):
    begin = time.perf_counter()
    for batch in loader.epoch(epoch):
        batch.x, batch.labels, batch.ids
        if what == "edges":
            batch.edge_index(0), batch.edge_index(1)
    seconds.append(time.perf_counter() - begin)
print(json.dumps({"batches": len(loader), "seconds": seconds}))
