"""What training by partitions loses: metrics of a run by partitions beside those of an exact run of the same config.

usage: partition_accuracy.py GRAPH --tools BUILD [--folder FOLDER] [--orders beta] [--partitions 16] [--slots 4] [--seeds 1] [--epochs N]
                             [--dim 100] [--decoder complex] [--negatives 1000] [--batch 256] [--lr 0.1] [--entities 40000]
                             [--edges 400000] [--budget 2GiB] [--threads N] [--work FOLDER] [--set KEY=VALUE]...

GRAPH is one of
  kg       made by `sluice-prep generate kg` of --entities and --edges
  wn18rr   FOLDER holds its train.txt, valid.txt and test.txt
  amazon   FOLDER holds the files of configs/amazon-typed-graph.toml; trained by configs/amazon-graphsage.toml, a GraphSAGE encoder over
           learned rows, whose neighbours are drawn among resident partitions
BUILD is where sluice-prep and sluice-train are. kg and wn18rr learn rows of --dim numbers by --decoder under a softmax over --negatives
nodes that a mini-batch shares, at both ends; each test triple is ranked among all entities, filtered (test.mrr).

For each seed an exact run comes first, rows in memory; then a run by partitions for each order, rows on disk, which names the exact one
by embedding.exact_run: its report has both. A mini-batch by partitions is of one bucket, a (partitions x partitions)-th of all links: with a
larger --batch than a bucket has links it takes more steps an epoch than the exact run. Both choose their best epoch by validation.
--set is for both. Prints a JSON object a run by partitions, then one an order with means over the seeds.
"""

import argparse
import json
import os
import pathlib
import statistics
import tempfile

from tools import run, say

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
EPOCHS = {"kg": 20, "wn18rr": 40, "amazon": 5}
METRICS = {"kg": "test.mrr", "wn18rr": "test.mrr", "amazon": "test.auc"}

ROWS = """
model.type = "embedding"
[embedding]
dim = {dim}
optimizer = "adagrad"
lr = {lr}
init = 0.01
[task]
type = "link_prediction"
width = {dim}
decoder = "{decoder}"
ends = "both"
loss = "softmax"
negatives = {negatives}
share = true
ranking = "all"
[train]
batch_size = {batch}
optimizer = {{ type = "adagrad", lr = {lr} }}
checkpoint_every = 0
[eval]
batch_size = 512
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", choices=tuple(EPOCHS))
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, help="the graph's files")
    parser.add_argument("--orders", default="beta", help="by comma: beta, comet, sequential, legend")
    parser.add_argument("--decoder", default="complex")
    parser.add_argument("--budget", default="2GiB")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, help="0, the default: 20 of kg, 40 of wn18rr, 5 of amazon", default=0)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--work", type=pathlib.Path, help="a folder for what is made on the way, on the disk that rows go to")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of both runs")
    for name, default in (("partitions", 16), ("slots", 4), ("seeds", 1), ("dim", 100), ("negatives", 1000), ("batch", 256),
                          ("entities", 40_000), ("edges", 400_000)):
        parser.add_argument("--" + name, type=int, default=default)
    given = parser.parse_args()
    if given.graph != "kg" and not given.folder:
        parser.error(f"--folder names the files of {given.graph}")
    given.epochs = given.epochs or EPOCHS[given.graph]
    return given


def dataset(given, work):
    out = work / "data"
    if given.graph == "kg":
        run(given.tools / "sluice-prep", "generate", "kg", "--entities", given.entities, "--edges", given.edges, "--out", out)
    else:
        run(given.tools / "sluice-prep", "import", "--config", CONFIGS / f"{given.graph}-typed-graph.toml", "--root", given.folder,
            "--out", out)
    return out


def config_of(given, work):
    if given.graph == "amazon":
        return CONFIGS / "amazon-graphsage.toml"
    config = work / "rows.toml"
    # The dataset and the run's folder are set on the command line.
    config.write_text(ROWS.format(**{name: getattr(given, name) for name in ("dim", "lr", "decoder", "negatives", "batch")}))
    return config


def trained(given, config, data, folder, seed, *sets):
    words = [given.tools / "sluice-train", "run", config, "--overwrite", "--json"]
    common = (f"dataset.path={data}", f"run.dir={folder}", f"seed={seed}", f"memory.host={given.budget}", f"train.epochs={given.epochs}",
              f"train.compute_threads={given.threads}", f"train.data_threads={given.threads}", "train.device=cpu")
    for assignment in (*common, *given.set, *sets):
        words += ["--set", assignment]
    return json.loads(run(*words))


def line_of(given, order, seed, report):
    exact, rows = report["exact"], report["partitions"]
    name = METRICS[given.graph]
    return {"case": "partition_accuracy", "mode": given.graph, "order": order, "seed": seed, "metric": name,
            "by_partitions": report["metrics"][name], "exact": exact["metrics"][name], "of_exact": exact["of_exact"].get(name),
            "metrics": {part: {key: value for key, value in of.items() if key.startswith("test.") and ":" not in key}
                        for part, of in (("by_partitions", report["metrics"]), ("exact", exact["metrics"]))},
            "epochs": report["epochs"], "exact_epochs": exact["epochs"], "partitions": rows["partitions"], "slots": rows["slots"],
            "swaps_an_epoch": rows["swaps"] / max(report["epochs"], 1), "bytes": {"read": rows["bytes_read"], "written": rows["bytes_written"]},
            "waited": rows["waited"], "neighbours": rows["neighbours"]}


def mean_line(lines):
    """Over the seeds; the spread is of the share of exact."""
    shares = [line["of_exact"] for line in lines]
    return {"case": "partition_accuracy_mean", **{key: lines[0][key] for key in ("mode", "order", "metric", "partitions", "slots")},
            "seeds": len(lines), **{key: statistics.mean(line[key] for line in lines) for key in ("by_partitions", "exact")},
            "of_exact": statistics.mean(shares), "of_exact_sd": statistics.stdev(shares) if len(shares) > 1 else 0.0}


def main():
    given = arguments()
    orders = given.orders.split(",")
    lines = {order: [] for order in orders}
    with tempfile.TemporaryDirectory(prefix="partition-accuracy-", dir=given.work) as made:
        work = pathlib.Path(made)
        data, config = dataset(given, work), config_of(given, work)
        for seed in range(1, given.seeds + 1):
            exact = work / "exact"
            trained(given, config, data, exact, seed, "embedding.mode=exact", "storage.embeddings=memory")
            for order in orders:
                report = trained(given, config, data, work / "partitions", seed, "embedding.mode=partitions", "storage.embeddings=disk",
                                 f"embedding.partitions={given.partitions}", f"embedding.slots={given.slots}",
                                 f"embedding.order={order}", f"embedding.exact_run={exact}")
                lines[order].append(line_of(given, order, seed, report))
                say(lines[order][-1])
    for order in orders:
        say(mean_line(lines[order]))


main()
