#!/usr/bin/env python3
"""What training on appended events forgets: replay by structure, uniform, and none, on a generated graph that drifts.

usage: forgetting.py --tools BUILD [--work FOLDER] [--seeds 3] [--nodes 2000] [--events 40000] [--appended 0.4] [--drift 3]
                     [--homophily 0.8] [--size 200] [--epochs 4] [--threads 2] [--rules none,uniform,structure]

BUILD is where sluice-prep and sluice-train are. A graph is generated (`generate temporal`: nodes of classes that change, events mostly
within classes), its events exported, the first of them imported as a dataset and the rest appended to it. A run trains on the first; from its
best weights `sluice-train continue` goes on over the rest, once by each rule. Seeds are those of the graph and of the runs alike.

A line a rule and seed, then a line a rule with means and standard deviations over the seeds, each a JSON object: AP of the new test
events, AP of the old ones before and after, and what was forgotten; `seconds` of training and validation. At the end the same as a
table.
"""

import argparse
import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

GRAPH = """
[[nodes]]
count = {nodes}
[[edges]]
file = "{file}"
source_column = "source"
target_column = "target"
time_column = "time"
"""

RUN = """
seed = {seed}
dataset.path = "{data}"
memory.host = "1GiB"
storage = {{ features = "memory", topology = "memory" }}
run.dir = "{run}"
[sampler]
type = "temporal"
count = [10]
[model]
type = "graphmixer"
hidden = 32
events = 10
[task]
type = "temporal_link_prediction"
width = 32
decoder_hidden = 32
candidates = "nodes"            # the same before and after events come
[embedding]
dim = 16                        # nodes have no features: without rows of their own none is known again
[train]
device = "cpu"
epochs = {epochs}
batch_size = 200
compute_threads = {threads}
data_threads = {threads}
optimizer = {{ type = "adam", lr = 1e-3 }}
[eval]
batch_size = 200
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--events", type=int, default=40000)
    parser.add_argument("--appended", type=float, default=0.4)
    parser.add_argument("--drift", type=float, default=3)
    parser.add_argument("--homophily", type=float, default=0.8)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rules", default="none,uniform,structure")
    return parser.parse_args()


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)}\n{done.stderr}{done.stdout}")
    return done.stdout


def timed_rows(path):
    """(source, target, time) of exported events, in the order of time."""
    with path.open(newline="") as lines:
        rows = [(int(row["source"]), int(row["target"]), int(row["time"])) for row in csv.DictReader(lines)]
    return sorted(rows, key=lambda row: row[2])


def write_events(path, rows):
    with path.open("w", newline="") as out:
        lines = csv.writer(out)
        lines.writerow(["source", "target", "time"])
        lines.writerows(rows)


def events_of(asked, folder, seed):
    prep = asked.tools / "sluice-prep"
    run(prep, "generate", "temporal", "--out", folder / "whole", "--overwrite", "--nodes", asked.nodes, "--events", asked.events,
        "--seed", seed, "--homophily", asked.homophily, "--drift", asked.drift, "--repeat", "0.2", "--features", "0")
    shutil.rmtree(folder / "files", ignore_errors=True)
    run(prep, "export", folder / "whole", "--out", folder / "files")
    return timed_rows(folder / "files" / "node__event__node.csv")


def grow(asked, folder, rows):
    """Imports the first events; the rest are appended by what is returned."""
    prep = asked.tools / "sluice-prep"
    first = len(rows) - round(asked.appended * len(rows))
    for name, part in (("first", rows[:first]), ("rest", rows[first:])):
        write_events(folder / f"{name}.csv", part)
        (folder / f"{name}.toml").write_text(GRAPH.format(nodes=asked.nodes, file=f"{name}.csv"))
    run(prep, "import", "--config", folder / "first.toml", "--out", folder / "data", "--overwrite")
    return lambda: run(prep, "append", folder / "data", "--config", folder / "rest.toml")


def figures_of(report):
    old = report["continual"]["old_test"]
    return {
        "new_ap": report["metrics"]["test.ap"],
        "old_ap_before": old["before"]["ap"],
        "old_ap_after": old["after"]["ap"],
        "forgetting": report["continual"]["forgetting"]["ap"],
        "seconds": report["seconds"]["total"],
    }


def seed_lines(asked, folder, seed):
    train = asked.tools / "sluice-train"
    append = grow(asked, folder, events_of(asked, folder, seed))
    config = folder / "run.toml"
    config.write_text(RUN.format(seed=seed, data=folder / "data", run=folder / "run", epochs=asked.epochs,
                                 threads=asked.threads))
    run(train, "run", config, "--overwrite", "--json", "--quiet")
    append()
    for rule in asked.rules.split(","):
        sets = [f"run.dir={folder / rule}", f"replay.choose={rule}", f"replay.size={asked.size}"]
        flags = [flag for each in sets for flag in ("--set", each)]
        report = json.loads(run(train, "continue", folder / "run", "--overwrite", "--json", "--quiet", *flags))
        yield {"case": "forgetting", "rule": rule, "seed": seed, **figures_of(report)}


def mean_line(rule, lines, asked):
    own = [line for line in lines if line["rule"] == rule]
    made = {"case": "forgetting_mean", "rule": rule, "seeds": len(own), "nodes": asked.nodes, "events": asked.events,
            "appended": asked.appended, "drift": asked.drift, "size": asked.size, "epochs": asked.epochs}
    for name in ("new_ap", "old_ap_before", "old_ap_after", "forgetting", "seconds"):
        values = [line[name] for line in own]
        made[name] = statistics.mean(values)
        made[name + "_sd"] = statistics.stdev(values) if len(values) > 1 else 0.0
    return made


def table(means):
    lines = ["| replay | new AP | old AP before | old AP after | forgetting | seconds |", "| --- | --- | --- | --- | --- | --- |"]
    for mean in means:
        cells = [f"{mean[name]:.4f} +- {mean[name + '_sd']:.4f}" for name in ("new_ap", "old_ap_before", "old_ap_after", "forgetting")]
        lines.append(f"| {mean['rule']} | " + " | ".join(cells) + f" | {mean['seconds']:.1f} |")
    return "\n".join(lines)


def main():
    asked = arguments()
    lines = []
    with tempfile.TemporaryDirectory() as made:
        work = asked.work or pathlib.Path(made)
        for seed in range(1, asked.seeds + 1):
            folder = work / f"seed-{seed}"
            folder.mkdir(parents=True, exist_ok=True)
            for line in seed_lines(asked, folder, seed):
                lines.append(line)
                print(json.dumps(line), flush=True)
    means = [mean_line(rule, lines, asked) for rule in asked.rules.split(",")]
    for mean in means:
        print(json.dumps(mean), flush=True)
    print(table(means), file=sys.stderr)


main()
