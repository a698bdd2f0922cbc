#!/usr/bin/env python3
"""Bytes that an epoch reads by cache policy: a graph of types with tables of their own, features on disk, a cache of a tenth of them.

usage: cache_bytes.py --tools BUILD [--policies ranked,proportional,belady,lru,none] [--share 0.1] [--plan direct] [--epochs 3]
                      [--items 200000] [--sources 200000] [--edges 8000000] [--relations 8] [--widths 64,256,768,1024] [--dtypes f32,f16]
                      [--features 256] [--skew 3] [--train 0.1] [--fanout 5] [--batch 256] [--hidden 64] [--threads 2] [--dir bench-data]

BUILD is where sluice-prep and sluice-train are. `generate hetero` makes items and as many kinds of nodes as --widths has numbers, each with
its own width and dtype, of which few have most edges (--skew); items have --features in f32. The graph is kept below --dir, 1.4 GB by default.
A GraphSAGE of two layers is trained on it by each policy, features on disk, edges in memory.

The policies differ in which rows stay, and in how the tables share one budget:
  ranked         rows of the nodes with most neighbours; of all rows of all tables those that save most by uses * cost of a miss / bytes
  proportional   the same rows of a table, but each table has a share by what its misses would cost (Heta)
  belady, lru    the row needed again last, or not used for longest, gives way; tables share as mini-batches ask for bytes of each
  none           nothing stays beyond the next window; shares as of belady

--share is of the bytes of all feature tables. A budget is more than its caches, and policies that know next uses plan in some of it: so for
each policy `memory.host` is set from what runs of an epoch leave for caches, until these take that share within 2 %. Results are the
same with any policy: weights that differ end it with 1.

A line of JSON a policy, means over the epochs after the first, then one of ranked beside the others:
  bytes_read     of an epoch, by pages: what the plan reads
  hit_rate       of the distinct rows of a window, those that were there; kept_rate: that the policy kept beyond the window before
  cache_bytes    that caches took, and their share of the features
  of_none        bytes_read as a share of that of `none`, where it was run; of_proportional likewise
"""

import argparse
import json
import os
import pathlib
import statistics
import sys

from tools import run

WITHIN = 0.02
STAGING = 16 << 20  # at the least
ROUNDS = 8
ROOM = 2 << 30  # beside the caches, to begin with: the first look says what is needed
RUN = """
seed = 1
dataset.path = "{data}"
memory.host = "{host}B"
task = {{ type = "node_classification", node_type = "item" }}
storage = {{ features = "disk", topology = "memory", plan = "{plan}", cache = "{policy}" }}
sampler.fanout = [{fanout}, {fanout}]
model = {{ type = "graphsage", layers = 2, hidden = {hidden}, dropout = 0.0, execution = "plain" }}
run.dir = "{run}"
[train]
device = "cpu"
epochs = {epochs}
batch_size = {batch}
checkpoint_every = 0
compute_threads = {threads}
data_threads = {threads}
[eval]
every = {epochs}
batch_size = {batch}
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("bench-data"))
    parser.add_argument("--policies", default="ranked,proportional,belady,lru,none")
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--plan", choices=("auto", "direct", "sweep", "repack"), default="direct")
    parser.add_argument("--widths", default="64,256,768,1024")
    parser.add_argument("--dtypes", default="f32,f16")
    parser.add_argument("--train", type=float, default=0.1)
    for name, value in (("epochs", 3), ("items", 200_000), ("sources", 200_000), ("edges", 8_000_000), ("relations", 8), ("skew", 3),
                        ("features", 256), ("fanout", 5), ("batch", 256), ("hidden", 64), ("threads", os.cpu_count())):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    if asked.epochs < 2:
        parser.error("--epochs is at least 2: the first, of empty caches, does not count")
    return asked


def generated(asked):
    numbers = ("items", "sources", "edges", "relations", "widths", "dtypes", "features", "skew", "train")
    data = asked.dir / "-".join(["cache", *(str(getattr(asked, name)).replace(",", "_") for name in numbers)])
    if not data.exists():
        flags = [word for name in numbers for word in (f"--{name}", getattr(asked, name))]
        run(asked.tools / "sluice-prep", "generate", "hetero", "--out", data, "--quiet", "--kinds", len(asked.widths.split(",")),
            "--classes", 8, "--valid", 0.001, "--test", 0.001, *flags)
    return data


def feature_bytes(asked, data):
    types = json.loads(run(asked.tools / "sluice-prep", "inspect", data, "--json"))["node_types"]
    return sum(table["rows"] * table["row_bytes"] for each in types for table in each["features"])


def trained(asked, data, policy, host, epochs, *more):
    config = asked.dir / "cache-run.toml"
    folder = asked.dir / "cache-run"
    config.write_text(RUN.format(data=data.resolve(), run=folder.resolve(), policy=policy, host=host, epochs=epochs, plan=asked.plan,
                                 fanout=asked.fanout, hidden=asked.hidden, batch=asked.batch, threads=asked.threads))
    return json.loads(run(asked.tools / "sluice-train", "run", config, "--overwrite", "--json", "--quiet", *more))


def cached(report):
    return report["memory"]["peaks"]["feature cache"]


def budget_for(asked, data, policy, wanted):
    """memory.host with which the caches take so many bytes."""
    split = trained(asked, data, policy, wanted + ROOM, 1, "--dry-run")["memory"]["split"]
    # Staging grows with the budget, and windows are more than their caches: what a run took corrects the first guess.
    host = sum(size for name, size in split.items() if name not in ("windows", "feature staging")) + wanted * 5 // 4 + STAGING
    for _ in range(ROUNDS):
        took = cached(trained(asked, data, policy, host, 1))
        print(f"{policy}: with a budget of {host} bytes caches take {took} of {wanted}", file=sys.stderr, flush=True)
        if abs(took - wanted) <= WITHIN * wanted:
            return host
        host += wanted - took
    return sys.exit(f"error: no budget found with which caches of '{policy}' take {wanted} bytes: take more --sources, or a smaller --batch")


def measured(asked, data, policy, features):
    host = budget_for(asked, data, policy, int(asked.share * features))
    report = trained(asked, data, policy, host, asked.epochs)
    lines = [json.loads(line) for line in (asked.dir / "cache-run/metrics.jsonl").read_text().splitlines()][1:]

    def mean(figure):
        return statistics.mean(figure(line) for line in lines)

    def hits(line):
        return sum(line["cache"]["hits"].values())

    return {"case": "cache_bytes", "policy": policy, "unit": "bytes", "bytes_read": mean(lambda line: line["bytes"]["read"]),
            "useful": mean(lambda line: line["bytes"]["useful"]), "hit_rate": mean(lambda line: hits(line) / line["cache"]["wanted"]),
            "kept_rate": mean(lambda line: line["cache"]["hits"]["kept"] / line["cache"]["wanted"]), "seconds": mean(lambda line: line["seconds"]),
            "cache_bytes": cached(report), "cache_share": cached(report) / features, "feature_bytes": features, "budget": host,
            "plan": report["storage"]["plan"], "weights": report["weights_xxh3"]}


def main():
    asked = arguments()
    asked.dir.mkdir(parents=True, exist_ok=True)
    data = generated(asked)
    features = feature_bytes(asked, data)
    lines = {policy: measured(asked, data, policy, features) for policy in asked.policies.split(",")}
    for line in lines.values():
        for peer in ("none", "proportional"):
            if peer in lines:
                line[f"of_{peer}"] = line["bytes_read"] / lines[peer]["bytes_read"]
        print(json.dumps(line), flush=True)
    if len({line["weights"] for line in lines.values()}) > 1:
        sys.exit("error: the weights differ between policies: " + ", ".join(f"{name} {line['weights']}" for name, line in lines.items()))
    if "ranked" in lines:
        ranked = lines["ranked"]["bytes_read"]
        print(json.dumps({"case": "cache_bytes_ranked", "show": "bytes", "unit": "bytes", "work": ranked,
                          "ratios": {name: line["bytes_read"] / ranked for name, line in lines.items() if name != "ranked"},
                          "cache_share": lines["ranked"]["cache_share"], "feature_bytes": features}))


main()
