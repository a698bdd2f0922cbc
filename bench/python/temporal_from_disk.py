"""Temporal graph networks over a large log of events whose features are on disk, beside the same in memory and a PyTorch loop.

usage: temporal_from_disk.py --tools BUILD [--dataset DIR | --events 10000000 --features 172 --nodes 1000000]
         [--models tf_tgn,tgat] [--peer PYTHON] [--train 100000] [--valid 10000] [--epochs 1] [--rounds 1] [--batch 600]
         [--width 100] [--neighbours 10] [--lr 0.001] [--budget-share 0.12 | --budget SIZE] [--memory SIZE] [--threads N]
         [--edges memory|disk] [--cgroup auto|off|require] [--dir bench-data]
       temporal_from_disk.py --memory-rows --tools BUILD [--memory-nodes 5000000] [--memory-events 10000000]
         [--memory-train 3000000] [--equal-nodes 20000] [--budget 1GiB] [--beside SIZE] [--width 100] ...

BUILD is where sluice-prep and sluice-train are. Without --dataset a graph is made by `sluice-prep generate temporal` below --dir, and
kept: 10 million events with 172 features are 7.1 GB. --peer names a Python with PyTorch and NumPy, which runs tgat_peer.py.

Trained is on the `train` events before the last `valid`, with all events before them as their past: an epoch, or the middle one
of those after the first. AP is that of the last `valid` events after it. Sides run in turn, each in a process of its own; a side
counts by the middle of its rounds. TF-TGN has two layers over the `neighbours` latest events, TGAT two hops of as many.
A line a model and place, `in_memory` with everything there, `in_budget` with features on disk (with --edges disk events are sampled
from there, too) in a cgroup of the budget and 300 MiB: events a second, and from the report of the epoch
  sampling_share, reading_share   time that stages sampled (sample, plan) and read (fetch, repack): both go on beside the steps
  waiting_share                   time that steps waited, for a mini-batch or for rows of memory
  rows_waiting_share              the part of it that they waited for rows of memory
The weights of both places have to be the same: else it ends with 1.

--memory-rows: TGN, whose nodes' memories (d = width, one mail) take more than the budget: 1.2 kB a node. Trained is on the last
`memory-train` events, twice: rows that were never written are not on disk, so the second epoch counts. Ends of events are taken in
turn, so that 3 million of 5 million nodes meet 84 % of them: `nodes_met` and `bytes_met` are counted, and what is met has to be
larger than the budget. First a small graph is trained with its rows in memory and on disk, to the same weights. `--beside SIZE` runs
the large one too with all rows in memory, within that budget. `processor_share` is of the whole run, of all processors.
With --cgroup require it ends with 77, and says why, where no cgroup may be made.
"""

import argparse
import array
import json
import os
import pathlib
import resource
import statistics
import sys
import time

from confined import OVERHEAD, bytes_of, confine, may_confine
from tools import last_line, lines_of, run, say

HERE = pathlib.Path(__file__).resolve().parent
GRAPH = {"--repeat": "0.5", "--homophily": "0.8"}
SCATTERED = {"--repeat": "0", "--in-turn": "1"}  # nodes come again as late as they can
TICKS = 10  # of an event, on average: each has a time of its own

CONFIG = """
seed = 1
dataset.path = "{data}"
memory.host = "{budget}B"
storage = {{ features = "{features}", topology = "{edges}", embeddings = "{rows}" }}
run.dir = "{run}"
{model}
[task]
type = "temporal_link_prediction"
split_by = "time"
split_times = {times}
width = {width}
decoder_hidden = {width}
eval_negatives = ["random"]
[train]
device = "cpu"
epochs = {epochs}
batch_size = {batch}
checkpoint_every = 0
hash_batches = false
compute_threads = {threads}
data_threads = {threads}
optimizer = {{ type = "adam", lr = {lr} }}
[eval]
batch_size = {batch}
"""

MODELS = {
    "tf_tgn": """
sampler = {{ type = "temporal", strategy = "recent", count = [{count}], visibility = "strict" }}
model = {{ type = "tf_tgn", layers = 2, hidden = {width}, heads = 2, dropout = 0.1, time_width = {width} }}
""",
    "tgat": """
sampler = {{ type = "temporal", strategy = "recent", count = [{count}, {count}], visibility = "strict" }}
model = {{ type = "tgat", layers = 2, hidden = {width}, heads = 2, dropout = 0.1, time_width = {width} }}
""",
    "tgn": """
sampler = {{ type = "temporal", strategy = "recent", count = [{count}], visibility = "strict" }}
model = {{ type = "tgn", layers = 1, hidden = {width}, heads = 2, dropout = 0.1, time_width = {width} }}
""",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--dataset", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("bench-data"))
    parser.add_argument("--models", default="tf_tgn,tgat")
    parser.add_argument("--peer", help="a Python with PyTorch and NumPy; none: no peer")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--budget-share", type=float, default=0.12, help="of the data on disk")
    parser.add_argument("--budget", type=bytes_of)
    parser.add_argument("--memory", type=bytes_of, help="budget of what runs in memory")
    parser.add_argument("--edges", choices=("memory", "disk"), default="memory", help="where they are in the budget")
    parser.add_argument("--memory-rows", action="store_true")
    parser.add_argument("--beside", type=bytes_of)
    parser.add_argument("--cgroup", choices=("auto", "off", "require"), default="auto")
    for name, default in (("events", 10_000_000), ("features", 172), ("nodes", 1_000_000), ("train", 100_000), ("valid", 10_000),
                          ("epochs", 1), ("rounds", 1), ("batch", 600), ("width", 100), ("neighbours", 10),
                          ("threads", os.cpu_count()), ("memory-nodes", 5_000_000), ("memory-events", 10_000_000),
                          ("memory-train", 3_000_000), ("equal-nodes", 20_000)):
        parser.add_argument("--" + name, type=int, default=default)
    given = parser.parse_args()
    given.models = given.models.split(",")
    for model in given.models:
        if model not in ("tf_tgn", "tgat"):
            parser.error(f"no model '{model}' here: tf_tgn or tgat")
    return given


# ---- datasets

def generated(given, nodes, events, features, more):
    out = given.dir / "-".join(["temporal", str(nodes), str(events), str(features), *(value for value in more.values())])
    if not out.exists():
        flags = [word for pair in more.items() for word in pair]
        run(given.tools / "sluice-prep", "generate", "temporal", "--nodes", nodes, "--events", events, "--features", 0,
            "--seconds", TICKS * events, "--edge-features", features, *flags, "--quiet", "--out", out)
    return out


def manifest(data):
    return json.loads((data / "manifest.json").read_text())


def split_times(data, train, valid):
    """The last times of the past, of training and of validation: the two last stretches of events have so many."""
    graph = manifest(data)["graph"]
    relation = graph["edges"][0]
    count = relation["count"]
    if train + valid >= count:
        sys.exit(f"error: {data} has {count} events, too few for {train} to train on and {valid} to validate, with a past")
    folder = data / "edges" / "__".join((relation["source"], relation["relation"], relation["target"]))
    ids = array.array("I" if relation["edge_id_bound"] <= 1 << 32 else "Q")
    with open(folder / "edge_ids.bin", "rb") as file:
        ids.fromfile(file, count)

    def time_of(event):
        with open(folder / "times.bin", "rb") as file:
            file.seek(8 * ids.index(event))
            return int.from_bytes(file.read(8), "little", signed=True)

    lasts = [count - valid - train - 1, count - valid - 1, count - 1]
    times = [time_of(event) for event in lasts]
    for event, last in zip(lasts[:2], times[:2]):
        if time_of(event + 1) <= last:
            sys.exit(f"error: events {event} and {event + 1} of {data} are not in the order of time with a time each")
    return times


# ---- runs of sluice-train

def trained(given, about, confined):
    """The report of a run, with the line of the epoch that counts, its weights and what the process took."""
    config = given.dir / "temporal-run.toml"
    about = {"run": given.dir / "temporal-run", "width": given.width, "batch": given.batch, "lr": given.lr,
             "threads": given.threads, "epochs": given.epochs, "features": "memory", "rows": "memory",
             "edges": "memory", **about}
    about["model"] = MODELS[about["model"]].format(count=given.neighbours, width=given.width)
    config.write_text(CONFIG.format(**about))
    words = [given.tools / "sluice-train", "run", config, "--overwrite", "--json"]
    if confined:
        words = confine(about["budget"], words)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    report = json.loads(run(*words))
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = lines_of((about["run"] / "metrics.jsonl").read_text())
    counted = lines[1:] or lines
    middle = statistics.median_low([line["seconds"] for line in counted])
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {**next(line for line in counted if line["seconds"] == middle), "report": report,
            "processor_share": processor / seconds / os.cpu_count(), "weights": report["weights_xxh3"]}


def shares(line):
    stages, seconds = line["stages"], line["seconds"]

    def busy(*names):
        return sum(stages[name]["busy"] for name in names if name in stages) / seconds

    rows = line.get("rows", {}).get("waited", 0)
    return {"sampling_share": busy("sample", "plan"), "reading_share": busy("fetch", "repack"),
            "assembling_share": busy("assemble"), "waiting_share": (stages["step"]["starved"] + rows) / seconds,
            "rows_waiting_share": rows / seconds}


def figures(line, work):
    return {"work": work, "unit": "events", "seconds": line["seconds"], "rate": work / line["seconds"], **shares(line),
            "bytes": line["bytes"], "bound": line["bound"], "plan": line["report"]["storage"]["plan"],
            "peak_anonymous": line["report"]["memory"]["peak_anonymous"], "ledger_peak": line["report"]["memory"]["ledger_peak"]}


def middle_of(rounds):
    middle = statistics.median_low([line["seconds"] for line in rounds])
    return next(line for line in rounds if line["seconds"] == middle)


def must_agree(what, lines):
    """Ends where weights differ."""
    weights = sorted({line["weights"] for line in lines})
    if len(weights) > 1:
        sys.exit(f"error: {what}: the weights differ: {' '.join(weights)}")


# ---- epochs over features on disk

def peer_epoch(given, data):
    words = [given.peer, HERE / "tgat_peer.py", data, "--train", given.train, "--valid", given.valid, "--batch", given.batch,
             "--epochs", given.epochs, "--width", given.width, "--neighbours", given.neighbours, "--lr", given.lr,
             "--threads", given.threads]
    return last_line(run(*words, threads=given.threads))


def epoch_lines(given, model, places, peer):
    """Of a model: its line in memory, beside the peer, and in the budget, beside that in memory."""
    about = {"mode": model, "train": given.train, "valid": given.valid, "width": given.width, "threads": given.threads}
    inside, outside = places["in_memory"], places["in_budget"]
    ap = inside["metrics"]["valid.ap"]
    line = {"case": "temporal_epoch", "part": "in_memory", **about, **figures(inside, given.train), "ap": ap}
    if peer:
        line.update(peer=peer["peer"], peer_rate=peer["rate"], of_peer=line["rate"] / peer["rate"], peer_ap=peer["ap"][-1],
                    ap_difference=ap - peer["ap"][-1], peers={"tgat": peer})
    yield line
    yield {"case": "temporal_epoch", "part": "in_budget", **about, **figures(outside, given.train),
           "ap": outside["metrics"]["valid.ap"], "budget": outside["budget"], "cgroup": outside["cgroup"], "edges": given.edges,
           "peer": "everything in memory", "peer_rate": given.train / inside["seconds"],
           "times_in_memory": outside["seconds"] / inside["seconds"], "weights_equal": True}


def measure_epochs(given, confined):
    data = given.dataset or generated(given, given.nodes, given.events, given.features, GRAPH)
    stored = sum(file["bytes"] for file in manifest(data)["files"])
    # Whole MiB: a cgroup rounds down to pages.
    budget = given.budget or int(given.budget_share * stored) >> 20 << 20
    times = split_times(data, given.train, given.valid)
    places = {"in_memory": {"budget": given.memory or int(1.1 * stored) + (3 << 30), "cgroup": None},
              "in_budget": {"budget": budget, "cgroup": budget + OVERHEAD if confined else None, "features": "disk",
                            "edges": given.edges}}
    rounds, peers = {(model, place): [] for model in given.models for place in places}, []
    for _ in range(given.rounds):
        if given.peer:
            peers.append(peer_epoch(given, data))
            print(f"peer: {peers[-1]['seconds']:.2f} s an epoch", file=sys.stderr, flush=True)
        for (model, place), lines in rounds.items():
            about = {"model": model, "data": data, "times": times, **places[place]}
            lines.append({**trained(given, about, confined and place == "in_budget"), **places[place]})
            print(f"{model}, {place}: {lines[-1]['seconds']:.2f} s an epoch", file=sys.stderr, flush=True)
    for model in given.models:
        must_agree(model, [line for place in places for line in rounds[model, place]])
        own = {place: middle_of(rounds[model, place]) for place in places}
        for line in epoch_lines(given, model, own, middle_of(peers) if peers else None):
            say({**line, "data": stored})


# ---- memories of nodes on disk

def state_run(given, nodes, events, train, **more):
    data = generated(given, nodes, events, 0, SCATTERED)
    times = split_times(data, train, given.valid)
    return {"model": "tgn", "data": data, "times": times, "epochs": 2, **more}


def nodes_met(data, train, valid):
    """How many nodes the events that are trained on have: their numbers among the last but `valid`."""
    graph = manifest(data)["graph"]
    relation, nodes = graph["edges"][0], graph["nodes"][0]["count"]
    folder = data / "edges" / "__".join((relation["source"], relation["relation"], relation["target"]))
    count = relation["count"]

    def column(name, wide, length):
        values = array.array("Q" if wide else "I")
        with open(folder / name, "rb") as file:
            values.fromfile(file, length)
        return values

    ids = column("edge_ids.bin", relation["edge_id_bound"] > 1 << 32, count)
    sources = column("neighbours.bin", nodes > 1 << 32, count)
    listed = relation.get("listed_targets")
    targets = range(nodes) if listed is None else column("listed.bin", nodes > 1 << 32, listed)
    ends = column("offsets.bin", True, len(targets) + 1)
    first, last, met = count - valid - train, count - valid, bytearray(nodes)
    for row, target in enumerate(targets):
        for place in range(ends[row], ends[row + 1]):
            if first <= ids[place] < last:
                met[target] = met[sources[place]] = 1
    return sum(met)


def check_equal_rows(given, budget, confined):
    """A small graph, with rows in memory and on disk."""
    nodes = given.equal_nodes
    runs = [trained(given, state_run(given, nodes, 2 * nodes, nodes, rows=rows, budget=budget), confined)
            for rows in ("memory", "disk")]
    must_agree("rows in memory and on disk", runs)
    say({"case": "temporal_rows_equal", "work": nodes, "unit": "events", "same": True, "nodes": nodes})


def measure_memory_rows(given, confined):
    budget = given.budget or 1 << 30
    check_equal_rows(given, budget, confined)
    sizes = (given.memory_nodes, given.memory_events, given.memory_train)
    about = state_run(given, *sizes, rows="disk", budget=budget)
    row_bytes = 4 * (3 * given.width + 8)
    met = nodes_met(about["data"], given.memory_train, given.valid)
    if row_bytes * met <= budget:
        print(f"{met} nodes have events to train on, whose rows fit in the budget: more --memory-train tells more", file=sys.stderr)
    on_disk = trained(given, about, confined)
    moved = on_disk["bytes"]["read"] + on_disk["bytes"]["written"]
    line = {"case": "temporal_rows", "mode": "tgn", **figures(on_disk, given.memory_train),
            "bytes_per_second": moved / on_disk["seconds"], "processor_share": on_disk["processor_share"],
            "ap": on_disk["metrics"]["valid.ap"], "nodes": given.memory_nodes, "events": given.memory_events,
            "row_bytes": row_bytes, "rows_bytes": row_bytes * given.memory_nodes, "nodes_met": met, "bytes_met": row_bytes * met,
            "budget": budget, "cgroup": budget + OVERHEAD if confined else None}
    if given.beside:
        inside = trained(given, state_run(given, *sizes, rows="memory", budget=given.beside), confined=False)
        must_agree("rows in memory and on disk", [on_disk, inside])
        line.update(peer="rows in memory", peer_rate=given.memory_train / inside["seconds"],
                    times_in_memory=on_disk["seconds"] / inside["seconds"])
    say(line)


def main():
    given = arguments()
    confined = may_confine(given.cgroup)
    given.dir.mkdir(parents=True, exist_ok=True)
    (measure_memory_rows if given.memory_rows else measure_epochs)(given, confined)


main()
