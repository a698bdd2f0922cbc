"""`sluice-prep propagate` over a generated graph that its budget holds a fraction of.

usage: propagate.py --tools BUILD [--dataset DIR | --nodes 20000000 --edges 400000000 --features 128] [--method sign] [--hops 2]
         [--budget 1GiB] [--threads N] [--rounds 1] [--cgroup auto|off|require] [--dir bench-data]

BUILD is where sluice-prep is. Without --dataset a graph with f16 features is made by `sluice-prep generate sbm` below --dir, and kept:
20 million nodes with 128 features and 400 million edges are 7 GB; its results and what lies between take some 30 GB more for a while.
The dataset is propagated over in a cgroup of the budget and 300 MiB, with nothing in the page cache, and its tables are replaced by
each round. A line of JSON:
  seconds        of the middle round, from the tool's own report
  moved          bytes that the tool reads and writes by its plan: edges, rows in, rows between, tables
  of_formula     moved / the formula of METHODS: rows in + 4 bytes an edge and panel + rows out, of each hop
  device_rate    bytes a second of the features file, read by itself from front to back past the page cache, before each round
  write_rate     bytes a second of a file beside it, written likewise
  of_device      what the disk alone would take for what is read, at the first rate, and written, at the second, of what passed
  peak_rss       of the tool, beside its budget
With --cgroup require it ends with 77, and says why, where no cgroup may be made.
"""

import argparse
import json
import mmap
import os
import pathlib
import statistics
import sys
import time

from confined import bytes_of, confine, may_confine
from tools import run, say

PIECE = 4 << 20
MOST = 2 << 30  # of the features file: enough for its rate


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--dataset", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("bench-data"))
    parser.add_argument("--method", choices=("sgc", "sign", "metapaths", "random_projection"), default="sign")
    parser.add_argument("--budget", type=bytes_of, default=bytes_of("1GiB"))
    parser.add_argument("--cgroup", choices=("auto", "off", "require"), default="auto")
    for name, default in (("nodes", 20_000_000), ("edges", 400_000_000), ("features", 128), ("hops", 2), ("rounds", 1),
                          ("threads", os.cpu_count())):
        parser.add_argument("--" + name, type=int, default=default)
    return parser.parse_args()


def dataset(given):
    if given.dataset:
        return given.dataset
    out = given.dir / f"propagate-{given.nodes}-{given.edges}-{given.features}"
    if not out.exists():
        run(given.tools / "sluice-prep", "generate", "sbm", "--nodes", given.nodes, "--edges", given.edges, "--features", given.features,
            "--dtype", "f16", "--out", out)
    return out


def device_rate(path):
    """Bytes a second of a file's first 2 GiB, read past the page cache where the file system lets that."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        room, done, begin = mmap.mmap(-1, PIECE), 0, time.monotonic()
        while done < MOST:
            got = os.preadv(file, [room], done)
            done += got
            if got < PIECE:
                break
        return done / (time.monotonic() - begin)
    finally:
        os.close(file)


def write_rate(folder):
    """Bytes a second of a file of 2 GiB, written past the page cache where the file system lets that, until it is on the disk."""
    path = folder / f".write-rate-{os.getpid()}"
    made = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        file = os.open(path, made | os.O_DIRECT)
    except OSError:
        file = os.open(path, made)
    try:
        piece, done, begin = mmap.mmap(-1, PIECE), 0, time.monotonic()
        piece.write(os.urandom(PIECE))
        while done < MOST:
            done += os.write(file, piece)
        os.fsync(file)
        return done / (time.monotonic() - begin)
    finally:
        os.close(file)
        path.unlink()


def features_file(data):
    found = sorted(data.glob("nodes/*/features.bin"), key=lambda path: path.stat().st_size)
    if not found:
        sys.exit(f"{data} has no table named 'features'")
    return found[-1]


def counts(given, data):
    """Nodes, edges, and columns of the table that is told as the largest: the dataset's own, whatever was asked to be made."""
    shown = json.loads(run(given.tools / "sluice-prep", "inspect", data, "--json"))
    of = features_file(data).parent.name
    tables = next(each["features"] for each in shown["node_types"] if each["type"] == of)
    return {"nodes": shown["nodes"], "edges": shown["edges"],
            "features": next(table["dim"] for table in tables if table["name"] == "features")}


def propagate(given, data, confined):
    words = [given.tools / "sluice-prep", "propagate", data, "--method", given.method, "--hops", str(given.hops), "--replace",
             "--memory", f"{given.budget}B", "--threads", str(given.threads), "--json"]
    return json.loads(run(*(confine(given.budget, words) if confined else words)))


def main():
    given = arguments()
    confined = may_confine(given.cgroup)
    data = dataset(given)
    rates, write_rates, reports = [], [], []
    for _ in range(given.rounds):
        rates.append(device_rate(features_file(data)))
        write_rates.append(write_rate(data.parent))
        reports.append(propagate(given, data, confined))
    report = sorted(reports, key=lambda one: one["seconds"])[len(reports) // 2]
    rate, written, sizes = statistics.median(rates), statistics.median(write_rates), report["bytes"]
    read = sizes["edges"] + sizes["rows_read"]
    moved = read + sizes["rows_written"]
    alone = read / rate + sizes["rows_written"] / written
    say({"case": "propagate", "method": given.method, "hops": given.hops, **counts(given, data),
         "budget": given.budget, "confined": confined, "threads": given.threads,
         "panels": report["panels"][0]["panels"], "panel": report["panels"][0]["panel"],
         "seconds": report["seconds"], "moved": moved, "formula": sizes["formula"],
         "of_formula": moved / sizes["formula"], "disk": sizes["disk"], "device_rate": rate,
         "write_rate": written, "of_device": alone / report["seconds"], "peak_rss": report["memory"]["peak_rss"],
         "ledger_peak": report["memory"]["ledger_peak"]})


main()
