#!/usr/bin/env python3
"""BG-HGNN beside R-GCN and a homogenised GAT as relations become many: weights, seconds an epoch, accuracy.

usage: relations.py --tools BUILD [--work FOLDER] [--relations 4,40,200] [--models bg_hgnn,rgcn,rgcn_full,gat] [--seeds 3] [--items 20000]
                    [--sources 20000] [--edges 400000] [--kinds 4] [--hidden 128] [--epochs 10] [--batch 1024] [--fanout 3] [--threads 2]

BUILD is where sluice-prep and sluice-train are. `generate hetero --relations N` makes items whose labels show by the relation alone: the
class of a source says nothing without the relation by which it comes. BG-HGNN's codes are 128 wide; R-GCN has `bases` of 8; rgcn_full a matrix a relation. All have two
layers and equal width, and are trained for as many epochs; the best is chosen by validation. Compare ratios of one run on an idle machine.

A line a run, then a line a number of relations and model with means over the seeds, each a JSON object; at the end the same as a table.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

from tools import run, say

RUN = """
seed = {seed}
dataset.path = "{data}"
memory.host = "6GiB"
task = {{ type = "node_classification", node_type = "item" }}
storage = {{ features = "memory", topology = "memory" }}
sampler.fanout = [{fanout}, {fanout}]
run.dir = "{run}"
[model]
type = "{type}"
layers = 2
hidden = {hidden}
dropout = 0.2
{more}
[train]
device = "cpu"
epochs = {epochs}
batch_size = {batch}
compute_threads = {threads}
data_threads = {threads}
optimizer = {{ type = "adam", lr = 0.01 }}
early_stopping = {{ metric = "valid.accuracy" }}
"""
MODELS = {
    "bg_hgnn": ("bg_hgnn", "heads = 4\nrank = 4\ncode_width = 128"),
    "rgcn": ("rgcn", "bases = 8"),
    "rgcn_full": ("rgcn", "bases = {relations}"),
    "gat": ("gat", "heads = 4"),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--relations", default="4,40,200")
    parser.add_argument("--models", default="bg_hgnn,rgcn,rgcn_full,gat")
    for name, value in (("seeds", 3), ("items", 20000), ("sources", 20000), ("edges", 400000), ("kinds", 4), ("hidden", 128),
                        ("epochs", 10), ("batch", 1024), ("fanout", 3), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def generated(asked, folder, relations, seed):
    data = folder / f"relations-{relations}-{seed}"
    run(asked.tools / "sluice-prep", "generate", "hetero", "--out", data, "--overwrite", "--relations", relations, "--seed", seed,
        "--kinds", asked.kinds, "--items", asked.items, "--sources", asked.sources, "--edges", asked.edges, "--features", 32,
        "--classes", 8, "--homophily", 0.9, "--signal", 2, "--train", 0.3, "--valid", 0.1, "--test", 0.2)
    return data


def weights_of(path):
    """Numbers in a file of safetensors that gradients go to: codes and running figures are buffers."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__" and "code" not in name)


def trained(asked, folder, data, model, relations, seed):
    kind, more = MODELS[model]
    config = folder / "run.toml"
    config.write_text(RUN.format(seed=seed, data=data, run=folder / "run", type=kind, more=more.format(relations=relations),
                                 **{name: getattr(asked, name) for name in ("hidden", "epochs", "batch", "fanout", "threads")}))
    report = json.loads(run(asked.tools / "sluice-train", "run", config, "--overwrite", "--json", "--quiet"))
    return {"case": "relations", "relations": relations, "model": model, "seed": seed, "accuracy": report["metrics"]["test.accuracy"],
            "weights": weights_of(folder / "run" / "weights.safetensors"), "epoch_seconds": statistics.median(report["seconds"]["epochs"])}


def mean_line(lines):
    first = lines[0]
    made = {"case": "relations_mean", "relations": first["relations"], "model": first["model"], "seeds": len(lines),
            "weights": first["weights"]}
    for name in ("accuracy", "epoch_seconds"):
        values = [line[name] for line in lines]
        made |= {name: statistics.mean(values), name + "_sd": statistics.stdev(values) if len(values) > 1 else 0.0}
    return made


def main():
    asked = arguments()
    lines = []
    with tempfile.TemporaryDirectory() as made:
        folder = asked.work or pathlib.Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for relations in map(int, asked.relations.split(",")):
            for seed in range(1, asked.seeds + 1):
                data = generated(asked, folder, relations, seed)
                for model in asked.models.split(","):
                    lines.append(trained(asked, folder, data, model, relations, seed))
                    say(lines[-1])
    table = ["| relations | model | weights | accuracy | seconds an epoch |", "| --- | --- | --- | --- | --- |"]
    for key in dict.fromkeys((line["relations"], line["model"]) for line in lines):
        mean = mean_line([line for line in lines if (line["relations"], line["model"]) == key])
        say(mean)
        table.append(f"| {mean['relations']} | {mean['model']} | {mean['weights']:,} | {mean['accuracy']:.3f} +- {mean['accuracy_sd']:.3f} |"
                     f" {mean['epoch_seconds']:.2f} |")
    print("\n".join(table), file=sys.stderr)


main()
