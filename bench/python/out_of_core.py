#!/usr/bin/env python3
"""A graph six times its budget, trained in a cgroup: the same weights as in memory, and after a SIGKILL in the middle of an epoch.

usage: out_of_core.py --tools BUILD --what typed|self_supervised [--times 6] [--nodes N] [--edges N] [--features N] [--train SHARE]
                      [--epochs N] [--batch N] [--fanout 5] [--hidden N] [--threads N] [--cgroup auto|off|require] [--dir bench-data]

BUILD is where sluice-prep and sluice-train are. The graph is generated below --dir, 2 to 3 GB by default, and kept; the budget is its bytes /
--times. What is trained:
  typed             GraphSAGE over items and two kinds of nodes, as many of each as --nodes says, 6 relations, tables of --features columns
                    in f32 (items), 64 in f32 and 256 in f16
  self_supervised   GCMAE in mini-batches on `generate sbm`, its encoder a GCN of two layers, 32 wide; seeds are the
                    nodes of the split. Wider rows hold what averages of features tell without being trained

It is trained three times, and the weights have to be the same: else it ends with 1. Features and edges are on disk, but for the third.
  whole     in a cgroup of the budget and 300 MiB, from begin to end
  killed    the same, killed half an epoch after the first, behind a checkpoint that was written in between, and resumed in another cgroup
  memory    with everything in memory, outside a cgroup, in a budget of --memory (default: twice the graph and 2 GiB)
Of self_supervised the whole run is then embedded in the same cgroup, and `sluice-train probe` measures the rows beside raw features, SGC and
a random encoder, in what memory there is: probes are not out of core.

A line of JSON a run (seconds, bytes, peaks of the process and of the cgroup, weights), one of the embedding and one of the probe, and at
the end one with all. With --cgroup require it ends with 77, and says why, where no cgroup may be made.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from confined import OVERHEAD, bytes_of, confine, may_confine
from tools import run

CHECKPOINTS = 0.01  # minutes between them
TYPED, SELF = "typed", "self_supervised"
DEFAULTS = {TYPED: {"nodes": 1_500_000, "edges": 24_000_000, "features": 128, "train": 0.1, "batch": 512, "epochs": 2, "hidden": 64},
            SELF: {"nodes": 3_500_000, "edges": 42_000_000, "features": 128, "train": 0.01, "batch": 256, "epochs": 3, "hidden": 32}}
RATES = {TYPED: 1e-3, SELF: 3e-3}
RUN = """
seed = 1
dataset.path = "{data}"
memory.host = "{budget}B"
storage = {{ features = "{place}", topology = "{place}" }}
run.dir = "{run}"
{what}
[train]
device = "cpu"
epochs = {epochs}
batch_size = {batch}
checkpoint_minutes = {minutes}
compute_threads = {threads}
data_threads = {threads}
optimizer = {{ type = "adam", lr = {rate} }}
[eval]
every = {epochs}
batch_size = {batch}
"""
MODELS = {TYPED: """
task = {{ type = "node_classification", node_type = "item" }}
sampler.fanout = [{fanout}, {fanout}]
model = {{ type = "graphsage", layers = 2, hidden = {hidden}, dropout = 0.2 }}
""", SELF: """
sampler.fanout = [{fanout}, {fanout}, {fanout}]     # the decoder's layer, then the encoder's two
model = {{ type = "gcn", layers = 2, hidden = {hidden}, dropout = 0.0, output_activation = "prelu" }}
[task]
type = "self_supervised"
width = {hidden}
nodes = "split"
choose = "last"
floors = "none"
masked = {{ rate = 0.5, gamma = 2, decoder = "gat", remask = "masked" }}
contrast = {{ weight = 2.0, temperature = 0.5, drop = "nodes", drop_rate = 0.2 }}
adjacency = {{ weight = 0.1, nodes = 512 }}
variance = {{ weight = 0.5 }}
"""}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--what", choices=(TYPED, SELF), required=True)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("bench-data"))
    parser.add_argument("--times", type=float, default=6)
    parser.add_argument("--train", type=float)
    parser.add_argument("--memory", type=bytes_of)
    parser.add_argument("--cgroup", choices=("auto", "off", "require"), default="auto")
    for name in ("nodes", "edges", "features", "epochs", "batch", "hidden"):
        parser.add_argument(f"--{name}", type=int)
    for name, value in (("fanout", 5), ("threads", os.cpu_count())):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    for name, value in DEFAULTS[asked.what].items():
        if getattr(asked, name) is None:
            setattr(asked, name, value)
    if asked.epochs < 2:
        parser.error("--epochs is at least 2: the second is broken off")
    return asked


def dataset(asked):
    data = asked.dir / f"out-of-core-{asked.what}-{asked.nodes}-{asked.edges}-{asked.features}-{asked.train}"
    if not data.exists():
        common = ["--out", data, "--quiet", "--edges", asked.edges, "--features", asked.features, "--train", asked.train, "--valid", 0.002,
                  "--test", 0.005]
        if asked.what == TYPED:
            run(asked.tools / "sluice-prep", "generate", "hetero", "--items", asked.nodes, "--sources", asked.nodes, "--relations", 6,
                "--kinds", 2, "--widths", "64,256", "--dtypes", "f32,f16", "--skew", 2, *common)
        else:
            run(asked.tools / "sluice-prep", "generate", "sbm", "--nodes", asked.nodes, *common)
    return data


def size_of(data):
    return sum(file["bytes"] for file in json.loads((data / "manifest.json").read_text())["files"])


# ---- runs

def config(asked, data, name, place, budget):
    path = asked.dir / f"out-of-core-{asked.what}-{name}.toml"
    model = MODELS[asked.what].format(fanout=asked.fanout, hidden=asked.hidden)
    path.write_text(RUN.format(data=data.resolve(), run=path.with_suffix("").resolve(), budget=budget, place=place, epochs=asked.epochs,
                               batch=asked.batch, threads=asked.threads, minutes=CHECKPOINTS, rate=RATES[asked.what], what=model))
    return path


def peaks_of(said):
    """What scripts/in_cgroup says at its end; nothing of a run that had none."""
    found = re.search(r"peak (\d+) MiB with page cache, anonymous at most (\d+) MiB.* (\d+) killed", said)
    return dict(zip(("cgroup_peak_mib", "cgroup_anonymous_mib", "killed_for_memory"), map(int, found.groups()))) if found else {}


def finished(words, budget):
    """What a command printed as JSON, in a cgroup where there is a budget for one, with what that took."""
    words = [str(word) for word in (confine(budget, words) if budget else words)]
    begin = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout), {"wall_seconds": time.monotonic() - begin, **peaks_of(done.stderr)}


def train_line(asked, name, words, budget):
    report, more = finished([asked.tools / "sluice-train", *words, "--json", "--quiet"], budget)
    line = {"case": "out_of_core_run", "part": name, "mode": asked.what, "seconds": report["seconds"]["total"],
            "epochs": report["seconds"]["epochs"], "bytes_read": report["bytes"]["read"], "bytes_written": report["bytes"]["written"],
            "plan": report["storage"]["plan"], "peak_rss": report["memory"]["peak_rss"],
            "peak_anonymous": report["memory"]["peak_anonymous"], "ledger_peak": report["memory"]["ledger_peak"],
            "metrics": {key: value for key, value in report["metrics"].items() if key.startswith("test.")},
            "weights": report["weights_xxh3"], **more}
    print(json.dumps(line), flush=True)
    return line


def trainer_below(process, tool):
    """The number of the process of `tool` that a command started, or is; none before it is there."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:  # it has ended
            continue
    for number in parents:
        above = number
        while above not in (0, process.pid):
            above = parents.get(above, 0)
        try:
            if above == process.pid and pathlib.Path(f"/proc/{number}/exe").samefile(tool):
                return number
        except OSError:
            continue
    return None


def killed(asked, path, budget):
    """Trains until the middle of the second epoch, behind a checkpoint of that epoch, and kills."""
    folder = path.with_suffix("")
    words = [asked.tools / "sluice-train", "run", path, "--overwrite", "--quiet"]
    process = subprocess.Popen([str(word) for word in (confine(budget, words) if budget else words)], stdout=subprocess.DEVNULL)
    lines, last, since = folder / "metrics.jsonl", folder / "checkpoints/last.ckpt", None
    earlier = lines.stat().st_mtime if lines.exists() else 0
    while process.poll() is None:
        if since is None and lines.exists() and lines.stat().st_mtime > earlier and lines.read_text().count("\n") >= 1:
            since, epoch = time.time(), json.loads(lines.read_text().splitlines()[0])["seconds"]
        # What was written in the epoch's first quarter may be the end of the one before.
        if since and time.time() > since + epoch / 2 and last.exists() and last.stat().st_mtime > since + epoch / 4:
            number = trainer_below(process, asked.tools / "sluice-train")
            if number:
                os.kill(number, signal.SIGKILL)
        time.sleep(0.01)
    done = len(lines.read_text().splitlines())
    if process.returncode not in (137, -signal.SIGKILL) or done >= asked.epochs:
        sys.exit(f"error: the run that was to be killed ended with {process.returncode} after {done} epochs: take more --nodes or --train, so "
                 "that an epoch takes longer than checkpoints are apart")
    print(json.dumps({"case": "out_of_core_kill", "mode": asked.what, "epochs_done": done, "after": time.time() - since}), flush=True)
    return folder


# ---- what a run without labels is worth

def embedded(asked, folder, budget, confined):
    rows = asked.dir / "out-of-core-rows.npy"
    words = [asked.tools / "sluice-train", "embed", folder, "--out", rows, "--json", "--quiet", "--set", f"memory.host={budget}B"]
    report, more = finished(words, budget if confined else None)
    print(json.dumps({"case": "out_of_core_embed", "rows": report["rows"], "seconds": report["seconds"], "layers": report["layers"],
                      "of_device": report.get("of_device"), **more}), flush=True)
    return rows


def probed(asked, data, rows):
    report, _ = finished([asked.tools / "sluice-train", "probe", rows, "--dataset", data, "--tasks", "classify", "--floors", "--random-width",
                          asked.hidden, "--threads", asked.threads, "--json", "--quiet"], None)
    line = {"case": "out_of_core_probe", "probe": report}
    print(json.dumps(line), flush=True)
    return line


def main():
    asked = arguments()
    confined = may_confine(asked.cgroup)
    asked.dir.mkdir(parents=True, exist_ok=True)
    data = dataset(asked)
    size = size_of(data)
    budget = int(size / asked.times) >> 20 << 20  # whole MiB: a cgroup rounds down to pages
    limit = budget if confined else None
    whole = config(asked, data, "whole", "disk", budget)
    lines = {"whole": train_line(asked, "whole", ["run", whole, "--overwrite"], limit)}
    folder = killed(asked, config(asked, data, "killed", "disk", budget), limit)
    lines["killed"] = train_line(asked, "killed", ["resume", folder], limit)
    inside = config(asked, data, "memory", "memory", asked.memory or 2 * size + (2 << 30))
    lines["memory"] = train_line(asked, "memory", ["run", inside, "--overwrite"], None)
    if asked.what == SELF:
        rows = embedded(asked, whole.with_suffix(""), budget, confined)
        probed(asked, data, rows)
        rows.unlink()
    weights = {name: line["weights"] for name, line in lines.items()}
    print(json.dumps({"case": "out_of_core", "mode": asked.what, "dataset_bytes": size, "budget": budget,
                      "cgroup": budget + OVERHEAD if confined else None, "seconds": lines["whole"]["seconds"],
                      "times_in_memory": sum(lines["whole"]["epochs"]) / sum(lines["memory"]["epochs"]),
                      "bytes_read": lines["whole"]["bytes_read"], "peak_anonymous": lines["whole"]["peak_anonymous"],
                      "weights_equal": len(set(weights.values())) == 1}))
    if len(set(weights.values())) > 1:
        sys.exit(f"error: the weights differ: {weights}")


main()
