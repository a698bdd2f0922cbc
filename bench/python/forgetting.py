#!/usr/bin/env python3
"""What training on appended data forgets: replay by structure, uniform, and none, on generated graphs that drift.

usage: forgetting.py --tools BUILD [--what events|nodes] [--work FOLDER] [--seeds 3] [--nodes 2000] [--appended 0.4] [--size 200]
                     [--epochs 4] [--threads 2] [--rules none,uniform,structure] [--homophily 0.8]
                     events: [--events 40000] [--drift 3]        nodes: [--communities 20]

BUILD is where sluice-prep and sluice-train are. The first part of a graph is imported as a dataset and the rest appended to it. A run trains
on the first; from its best weights `sluice-train continue` goes on over the rest, once by each rule. Seeds are those of the graph and of the
runs alike.

  events  temporal links of `generate temporal`: nodes of classes that change, events mostly within classes; AP. The rest are the
          latest events.
  nodes   classes of nodes in communities, whose sizes are as 1, 1/2, 1/3, ...: where a class lies among the features is another in
          each, edges mostly join one class of one community; accuracy. The rest are nodes of new communities.

A line a rule and seed, then a line a rule with means and standard deviations over the seeds, each a JSON object: the metric of the new
test part, of the old one before and after, and what was forgotten; `seconds` of training and validation. At the end the same as
a table.
"""

import argparse
import csv
import json
import pathlib
import random
import shutil
import statistics
import sys
import tempfile

from tools import run, say

EVENT_GRAPH = """
[[nodes]]
count = {nodes}
[[edges]]
file = "{file}"
source_column = "source"
target_column = "target"
time_column = "time"
"""

NODE_GRAPH = """
csv.header = "no"
[[nodes]]
count = {count}
features = {{ file = "{part}-features.csv" }}
labels = {{ file = "{part}-labels.csv" }}
[[edges]]
file = "{part}-edges.csv"
{split}
"""

RUN = """
seed = {seed}
dataset.path = "{data}"
memory.host = "1GiB"
storage = {{ features = "memory", topology = "memory" }}
run.dir = "{run}"
[train]
device = "cpu"
epochs = {epochs}
batch_size = 200
compute_threads = {threads}
data_threads = {threads}
"""

EVENT_RUN = RUN + """
optimizer = {{ type = "adam", lr = 1e-3 }}
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
[eval]
batch_size = 200
"""

NODE_RUN = RUN + """
optimizer = {{ type = "adam", lr = 1e-2 }}
[sampler]
fanout = [10, 10]
[model]
type = "graphsage"
hidden = 64
"""

METRIC = {"events": "ap", "nodes": "accuracy"}
CLASSES, FEATURES, DEGREE = 4, 32, 6  # of nodes


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--what", choices=sorted(METRIC), default="events")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--events", type=int, default=40000)
    parser.add_argument("--appended", type=float, default=0.4)
    parser.add_argument("--drift", type=float, default=3)
    parser.add_argument("--homophily", type=float, default=0.8)
    parser.add_argument("--communities", type=int, default=20)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rules", default="none,uniform,structure")
    return parser.parse_args()


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


def imported(asked, folder, first, rest):
    """Imports by the config `first`; `rest` is appended by what is returned."""
    prep = asked.tools / "sluice-prep"
    for name, text in (("first", first), ("rest", rest)):
        (folder / f"{name}.toml").write_text(text)
    run(prep, "import", "--config", folder / "first.toml", "--out", folder / "data", "--overwrite")
    return lambda: run(prep, "append", folder / "data", "--config", folder / "rest.toml")


def grow_events(asked, folder, seed):
    rows = events_of(asked, folder, seed)
    first = len(rows) - round(asked.appended * len(rows))
    write_events(folder / "first.csv", rows[:first])
    write_events(folder / "rest.csv", rows[first:])
    return imported(asked, folder, *(EVENT_GRAPH.format(nodes=asked.nodes, file=f"{part}.csv") for part in ("first", "rest")))


def sizes_of(nodes, communities):
    """Of communities, as 1, 1/2, 1/3, ...; together `nodes`."""
    shares = [1 / (rank + 1) for rank in range(communities)]
    sizes = [max(2 * CLASSES, int(nodes * share / sum(shares))) for share in shares]
    sizes[0] += nodes - sum(sizes)
    return sizes


def communities_of(draw, first, sizes, homophily):
    """Nodes from number `first` on: rows of features, classes, and edges among them."""
    rows, classes, edges = [], [], []
    for size in sizes:
        centres = [[draw.gauss(0, 1) for _ in range(FEATURES)] for _ in range(CLASSES)]
        begin = first + len(rows)
        own = [draw.randrange(CLASSES) for _ in range(size)]
        alike = [[begin + at for at in range(size) if own[at] == kind] for kind in range(CLASSES)]
        for at, kind in enumerate(own):
            rows.append([centre + draw.gauss(0, 1.5) for centre in centres[kind]])
            for _ in range(DEGREE):
                near = draw.choice(alike[kind]) if draw.random() < homophily else begin + draw.randrange(size)
                edges += [(begin + at, near), (near, begin + at)]
        classes += own
    return rows, classes, edges


def write_lines(path, rows):
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(rows)


def grow_nodes(asked, folder, seed):
    draw = random.Random(seed)
    fresh = round(asked.appended * asked.nodes)
    old = asked.nodes - fresh
    texts = []
    for part, first, count, communities in (("first", 0, old, asked.communities), ("rest", old, fresh, max(1, asked.communities // 4))):
        rows, classes, edges = communities_of(draw, first, sizes_of(count, communities), asked.homophily)
        # Communities hang together by an edge a node to any that was there before.
        edges += [(first + at, draw.randrange(first + at)) for at in range(count) if first + at > 0]
        write_lines(folder / f"{part}-features.csv", ([f"{value:.4f}" for value in row] for row in rows))
        write_lines(folder / f"{part}-labels.csv", ([kind] for kind in classes))
        write_lines(folder / f"{part}-edges.csv", edges)
        split = "[[splits]]\nratio = [0.6, 0.2, 0.2]" if part == "first" else ""
        texts.append(NODE_GRAPH.format(count=first + count, part=part, split=split))
    return imported(asked, folder, *texts)


def figures_of(report, metric):
    old = report["continual"]["old_test"]
    return {
        "metric": metric,
        "new": report["metrics"][f"test.{metric}"],
        "old_before": old["before"][metric],
        "old_after": old["after"][metric],
        "forgetting": report["continual"]["forgetting"][metric],
        "seconds": report["seconds"]["total"],
    }


def seed_lines(asked, folder, seed):
    train = asked.tools / "sluice-train"
    grow, text = {"events": (grow_events, EVENT_RUN), "nodes": (grow_nodes, NODE_RUN)}[asked.what]
    append = grow(asked, folder, seed)
    config = folder / "run.toml"
    config.write_text(text.format(seed=seed, data=folder / "data", run=folder / "run", epochs=asked.epochs,
                                 threads=asked.threads))
    run(train, "run", config, "--overwrite", "--json", "--quiet")
    append()
    for rule in asked.rules.split(","):
        sets = [f"run.dir={folder / rule}", f"replay.choose={rule}", f"replay.size={asked.size}"]
        flags = [flag for each in sets for flag in ("--set", each)]
        report = json.loads(run(train, "continue", folder / "run", "--overwrite", "--json", "--quiet", *flags))
        yield {"case": "forgetting", "rule": rule, "seed": seed, **figures_of(report, METRIC[asked.what])}


def mean_line(rule, lines, asked):
    own = [line for line in lines if line["rule"] == rule]
    made = {"case": "forgetting_mean", "rule": rule, "seeds": len(own), "metric": METRIC[asked.what], "nodes": asked.nodes,
            "appended": asked.appended, "size": asked.size, "epochs": asked.epochs}
    made |= {"events": asked.events, "drift": asked.drift} if asked.what == "events" else {"communities": asked.communities}
    for name in ("new", "old_before", "old_after", "forgetting", "seconds"):
        values = [line[name] for line in own]
        made[name] = statistics.mean(values)
        made[name + "_sd"] = statistics.stdev(values) if len(values) > 1 else 0.0
    return made


def table(means):
    name = means[0]["metric"]
    lines = [f"| replay | new {name} | old before | old after | forgetting | seconds |", "| --- | --- | --- | --- | --- | --- |"]
    for mean in means:
        cells = [f"{mean[name]:.4f} +- {mean[name + '_sd']:.4f}" for name in ("new", "old_before", "old_after", "forgetting")]
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
                say(line)
    means = [mean_line(rule, lines, asked) for rule in asked.rules.split(",")]
    for mean in means:
        say(mean)
    print(table(means), file=sys.stderr)


main()
