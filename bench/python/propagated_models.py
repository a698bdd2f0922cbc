#!/usr/bin/env python3
"""SGC and SIGN over tables that `sluice-prep propagate` made, beside GraphSAGE: seconds an epoch, what the tables took, accuracy.

usage: propagated_models.py --tools BUILD [--cora DIR] [--work FOLDER] [--nodes 200000] [--edges 2000000] [--features 64] [--classes 8]
                            [--hops 2] [--seeds 3] [--epochs 10] [--batch 1024] [--hidden 128] [--memory 2GiB] [--threads 2]

BUILD is where sluice-prep and sluice-train are. --cora is Cora's dataset as configs/cora-graph.toml imports it; it is copied, because
propagation adds tables (those that it has are made anew), and without it there is only the generated graph, of `generate sbm`. Each model is trained on the same split from
memory, with the same budget, and the best epoch is chosen by validation. On Cora GraphSAGE's neighbourhoods are whole, on the
generated graph 10 a hop; --epochs is the generated graph's, Cora has 200. Compare ratios of one run on an idle machine.

A line of JSON a propagation (seconds, bytes of tables), a run, and a graph and model with means over the seeds:
  epoch_seconds  the median over epochs of training alone
  of_sage        that, as a share of GraphSAGE's
  propagated     seconds of what made its tables, once, from the tool's own report
"""

import argparse
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

from tools import run, say

RUN = """
seed = {seed}
memory.host = "{memory}"
storage = {{ features = "memory", topology = "memory" }}
sampler.fanout = {fanout}
run.dir = "{run}"
[dataset]
path = "{data}"
normalize = "{normalize}"
[model]
{model}
[train]
device = "cpu"
epochs = {epochs}
batch_size = {batch}
compute_threads = {threads}
data_threads = {threads}
optimizer = {{ type = "adam", lr = {rate}, weight_decay = {decay} }}
early_stopping = {{ metric = "valid.accuracy" }}
"""
MODELS = {
    "sage": 'type = "graphsage"\nlayers = {hops}\nhidden = {hidden}\ndropout = {dropout}\ninput_dropout = {input_dropout}',
    "sgc": 'type = "sign"\ntables = ["sgc"]\nlayers = 0\ntable_dropout = {input_dropout}',
    "sign": 'type = "sign"\ntables = ["features", "sign-*"]\nlayers = 1\nhidden = {hidden}\ndropout = {dropout}\n'
            'table_dropout = {input_dropout}',
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--cora", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--memory", default="2GiB")
    for name, value in (("nodes", 200_000), ("edges", 2_000_000), ("features", 64), ("classes", 8), ("hops", 2), ("seeds", 3),
                        ("epochs", 10), ("batch", 1024), ("hidden", 128), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def generated(asked, folder):
    """The graph, and what a run over it is: a noisy signal, so that neighbourhoods tell more than a node's own row."""
    data = folder / "generated"
    run(asked.tools / "sluice-prep", "generate", "sbm", "--out", data, "--overwrite", "--nodes", asked.nodes, "--edges", asked.edges,
        "--features", asked.features, "--classes", asked.classes, "--signal", 1, "--train", 0.2, "--valid", 0.05, "--test", 0.1)
    return data, {"normalize": "none", "epochs": asked.epochs, "batch": asked.batch, "hidden": asked.hidden, "fanout": [10] * asked.hops,
                  "rate": 0.003, "decay": 0, "dropout": 0.2, "input_dropout": 0}


def copied(asked, folder):
    data = folder / "cora-copy"  # not "cora": --work may be the folder that --cora lies in
    if data.exists():
        shutil.rmtree(data)
    shutil.copytree(asked.cora, data)
    return data, {"normalize": "row_l1", "epochs": 200, "batch": 140, "hidden": 64, "fanout": [-1] * asked.hops, "rate": 0.01,
                  "decay": 5e-4, "dropout": 0.5, "input_dropout": 0.5}


def refuse_others(data, method, made):
    """Models read tables by how their names begin: those of other hops would be read too."""
    nodes = json.loads((data / "manifest.json").read_text())["graph"]["nodes"]
    others = {table["name"] for each in nodes for table in each["features"] if table["name"].startswith(method)} - made
    if others:
        sys.exit(f"error: the dataset has tables of another propagation, {', '.join(sorted(others))}: import it anew")


def propagated(asked, graph, data):
    """Seconds by method."""
    seconds = {"sage": 0.0}
    for method in ("sgc", "sign"):
        report = json.loads(run(asked.tools / "sluice-prep", "propagate", data, "--method", method, "--hops", asked.hops, "--replace",
                                "--memory", asked.memory, "--threads", asked.threads, "--json"))
        seconds[method] = report["seconds"]
        refuse_others(data, method, {table["name"] for table in report["tables"]})
        say({"case": "propagated_tables", "graph": graph, "method": method, "hops": asked.hops,
             "seconds": report["seconds"], "tables": report["bytes"]["tables"], "passes": report["passes"]})
    return seconds


def trained(asked, folder, graph, data, keys, model, seed):
    config = folder / "run.toml"
    values = keys | {"hops": asked.hops, "seed": seed, "memory": asked.memory, "threads": asked.threads, "data": data,
                     "run": folder / "run"}
    config.write_text(RUN.format(model=MODELS[model].format(**values), **values))
    report = json.loads(run(asked.tools / "sluice-train", "run", config, "--overwrite", "--json", "--quiet"))
    return {"case": "propagated_model", "graph": graph, "model": model, "seed": seed, "accuracy": report["metrics"]["test.accuracy"],
            "epoch_seconds": statistics.median(report["seconds"]["epochs"])}


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def measure(asked, folder, graph, data, keys):
    seconds = propagated(asked, graph, data)
    lines = {model: [] for model in MODELS}
    for seed in range(1, asked.seeds + 1):  # seed by seed, so that what else the machine does meets all models
        for model, own in lines.items():
            own.append(trained(asked, folder, graph, data, keys, model, seed))
            say(own[-1])
    epochs = {model: statistics.median(line["epoch_seconds"] for line in own) for model, own in lines.items()}
    for model, own in lines.items():
        accuracy = [line["accuracy"] for line in own]
        say({"case": "propagated_model_mean", "graph": graph, "model": model, "seeds": asked.seeds,
             "accuracy": statistics.mean(accuracy), "accuracy_sd": spread(accuracy), "epoch_seconds": epochs[model],
             "of_sage": epochs[model] / epochs["sage"], "propagated": seconds[model]})


def main():
    asked = arguments()
    with tempfile.TemporaryDirectory() as made:
        folder = asked.work or pathlib.Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        if asked.cora:
            measure(asked, folder, "cora", *copied(asked, folder))
        measure(asked, folder, "generated", *generated(asked, folder))


main()
