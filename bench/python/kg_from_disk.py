"""A part of an epoch of a knowledge graph whose rows are on disk, exact and by partitions, in a cgroup of the budget and 300 MiB.

usage: kg_from_disk.py --tools BUILD [--dataset DIR | --entities 10000000 --edges 100000000] [--budget 1GiB] [--modes memory,exact,partitions]
         [--dim 100] [--partitions 16] [--slots 4] [--batch 10000] [--negatives 1000] [--seconds 300] [--warm 60]
         [--cgroup auto|off|require] [--dir bench-data]

BUILD is where sluice-prep and sluice-train are, and bench/embedding, which measures the bare disk. Without --dataset a graph is
made by `sluice-prep generate kg` below --dir, and kept. Rows of 100 numbers and as many sums of Adagrad are 800 bytes: 8 GB of
10 million entities.

A run goes on for `warm` + `seconds` and is then told to stop. Links a second, bytes (of the process, by /proc/PID/io) and processor
time are taken between two lines of its progress, the first after `warm`; of a run that ends before, over its epoch, as
metrics.jsonl has them. Rows that were never touched are not on disk: until all were, a run writes more than it reads.
of_device is the rate of bytes beside the bare disk's: pages here and there for exact, whole partitions for partitions. Of the mode
memory all rows are in memory, without a cgroup; of those behind it times_of_memory is how many times as long a link takes.
By partitions the budget holds slots + 1 of them, as the next is read while one trains: 10 million entities in 1 GiB are
  kg_from_disk.py --tools build/release --cgroup require --modes partitions --partitions 80 --warm 600
A quarter of the rows in memory, beside all of them:
  kg_from_disk.py --tools build/release --entities 1000000 --edges 10000000 --budget 700MiB --batch 1000 --modes memory,exact \\
    --seconds 60 --warm 60
Prints a JSON object a mode. With --cgroup require it ends with 77, and says why, where no cgroup may be made.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

from confined import OVERHEAD, bytes_of, confine, may_confine
from tools import lines_of, run, say

PROGRESS = re.compile(r"epoch 1/1: .*? ([\d,]+) seeds of ([\d,]+) seeds")

IN_MEMORY = bytes_of("16GiB")  # a budget that is enough
CONFIG = """
seed = 1
dataset.path = "{data}"
memory.host = "{budget}B"
storage = {{ embeddings = "{rows}" }}
model.type = "embedding"
run.dir = "{run}"
[embedding]
dim = {dim}
optimizer = "adagrad"
lr = 0.1
{mode}
[task]
type = "link_prediction"
width = {dim}
decoder = "complex"
ends = "both"
loss = "softmax"
negatives = {negatives}
share = true
ranking = "sampled"
eval_negatives = 1
[train]
device = "cpu"
epochs = 1
batch_size = {batch}
checkpoint_every = 0
optimizer = {{ type = "adagrad", lr = 0.1 }}
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--dataset", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("bench-data"))
    parser.add_argument("--budget", type=bytes_of, default=bytes_of("1GiB"))
    parser.add_argument("--modes", default="exact,partitions")
    parser.add_argument("--cgroup", choices=("auto", "off", "require"), default="auto")
    for name, default in (("entities", 10_000_000), ("edges", 100_000_000), ("dim", 100), ("partitions", 16), ("slots", 4),
                          ("batch", 10_000), ("negatives", 1000), ("seconds", 300), ("warm", 60)):
        parser.add_argument("--" + name, type=int, default=default)
    return parser.parse_args()


def dataset(given):
    if given.dataset:
        return given.dataset
    out = given.dir / f"kg-{given.entities}-{given.edges}"
    if not out.exists():
        run(given.tools / "sluice-prep", "generate", "kg", "--entities", given.entities, "--edges", given.edges, "--valid", "0.0001",
            "--test", "0.0001", "--out", out)
    return out


class Mark:
    """How far a run is, and what it has taken, at a moment."""

    def __init__(self, pid, links):
        self.time = time.monotonic()
        self.links = links
        io = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
        self.read, self.written = int(io["read_bytes"]), int(io["write_bytes"])
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        self.processor = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(given, config, confined):
    """A process whose own id is that of sluice-train: sh tells it on the first line of stdout, and becomes it."""
    words = ["sh", "-c", 'echo $$; exec "$@"', "sh", given.tools / "sluice-train", "run", config, "--overwrite", "--json"]
    if confined:
        words = confine(given.budget, words)
    child = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return child, int(child.stdout.readline())


def watch(given, child, pid):
    """The marks of a run's progress after the warm-up, and what it printed. Tells it to stop when it has run long enough."""
    marks, printed = [], []
    collect = threading.Thread(target=lambda: printed.append(child.stdout.read()))
    collect.start()
    begin, told = time.monotonic(), False
    for line in child.stderr:
        print(line, end="", file=sys.stderr)
        found = PROGRESS.search(line)
        since = time.monotonic() - begin
        if found and since >= given.warm and not told:
            try:
                marks.append(Mark(pid, int(found[1].replace(",", ""))))
            except (FileNotFoundError, ProcessLookupError):  # it just ended
                pass
        if len(marks) > 1 and since >= given.warm + given.seconds and not told:
            os.kill(pid, signal.SIGINT)
            told = True
    child.wait()
    collect.join()
    return marks, printed[0], told


def figures(given, marks, folder, printed):
    """Of the part between the first mark and the last, or of a whole epoch."""
    if len(marks) > 1:
        first, last = marks[0], marks[-1]
        seconds = last.time - first.time
        return {"part": "some of an epoch", "work": last.links - first.links, "seconds": seconds,
                "bytes": {"read": last.read - first.read, "written": last.written - first.written},
                "processor_share": (last.processor - first.processor) / seconds / os.cpu_count()}
    line = lines_of((folder / "metrics.jsonl").read_text())[0]
    steps, rows = line["stages"]["step"], line.get("partitions")
    swapping = {"partitions": rows, "computing_share": 1 - rows["waited"] / line["seconds"]} if rows else {}
    return {**swapping, "part": "an epoch", "work": round(line["seeds_per_second"] * line["seconds"]), "seconds": line["seconds"],
            "bytes": {"read": line["bytes"]["read"], "written": line["bytes"]["written"]}, "step": steps, "bound": line["bound"],
            "memory": json.loads(printed)["memory"]}


def device_rates(given):
    """Bytes a second of the bare disk: pages here and there, and whole partitions; none where it cannot be measured."""
    words = [given.tools / "bench/embedding", "--filter", "windows,partitions", "--dir", given.dir, "--dim", given.dim,
             "--partitions", given.partitions, "--slots", given.slots, "--windows", 10, "--rounds", 1,
             "--rows", min(max(given.entities, 50_000), 1_000_000)]
    rates = {}
    for line in lines_of(run(*words)):
        if line.get("mode") == "random":
            rates["exact"] = line.get("device_rate")
        elif line["case"] == "partitions":
            rates["partitions"] = line.get("disk_rate")
    return rates


def measure(given, data, mode, confined, rates, memory_rate):
    in_memory = mode == "memory"
    budget, confined = (IN_MEMORY, False) if in_memory else (given.budget, confined)
    folder, config = given.dir / "kg-run", given.dir / "kg-run.toml"
    keys = f'mode = "partitions"\npartitions = {given.partitions}\nslots = {given.slots}' if mode == "partitions" else ""
    config.write_text(CONFIG.format(data=data, run=folder, budget=budget, dim=given.dim, mode=keys, batch=given.batch,
                                    negatives=given.negatives, rows="memory" if in_memory else "disk"))
    child, pid = start(given, config, confined)
    marks, printed, told = watch(given, child, pid)
    if child.returncode != 0 and not told:
        sys.exit(f"error: sluice-train, mode {mode}, ended with {child.returncode}: see above")
    found = figures(given, marks, folder, printed)
    moved = (found["bytes"]["read"] + found["bytes"]["written"]) / found["seconds"]
    line = {"case": "kg_from_disk", "mode": mode, "unit": "links", **found, "rate": found["work"] / found["seconds"],
            "bytes_per_second": moved}
    if rates.get(mode):
        line.update(device_rate=rates[mode], of_device=moved / rates[mode])
    if memory_rate:
        line["times_of_memory"] = memory_rate / line["rate"]
    line.update(entities=given.entities, edges=given.edges, dim=given.dim, budget=budget,
                cgroup=given.budget + OVERHEAD if confined else None)
    say(line)
    return line["rate"]


def main():
    given = arguments()
    confined = may_confine(given.cgroup)
    given.dir.mkdir(parents=True, exist_ok=True)
    data, rates = dataset(given), device_rates(given)
    memory_rate = None
    for mode in given.modes.split(","):
        rate = measure(given, data, mode, confined, rates, memory_rate)
        memory_rate = rate if mode == "memory" else memory_rate


main()
