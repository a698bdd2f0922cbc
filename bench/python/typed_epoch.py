#!/usr/bin/env python3
"""GraphSAGE over three node types and six relations, in memory: seconds an epoch and accuracy, beside PyG's and DGL's.

usage: typed_epoch.py --tools BUILD --peer PYTHON [--dgl PYTHON] [--work FOLDER] [--items 200000] [--sources 100000] [--edges 6000000]
                      [--features 128] [--classes 16] [--train 0.15] [--fanout 10,10] [--batch 1024] [--hidden 128] [--epochs 3]
                      [--threads 2] [--memory 6GiB]

BUILD is where sluice-prep and sluice-train are. --peer has torch, torch_geometric and torch-sparse (or pyg-lib), as
`scripts/bench_peers` builds them; --dgl has DGL 2.1. `generate hetero --relations 3 --kinds 2` makes items and two kinds that point to
them; `export` writes arrays, from which Sluice imports the graph with each relation's reverse, and which the peers read. So all have
3 node types and 6 relations: without reverses the kinds would have no in-edges, and a second layer nothing to do.

Fanout counts for each relation, features are f32, layers two of equal width, Adam at the same rate, no dropout. PyG's are HeteroConv(SAGEConv)
behind NeighborLoader, its second layer and the items of its first cut to what seeds need; DGL's HeteroGraphConv(SAGEConv). Ours has one
projection a type more. An epoch is of training alone. Each side is a process of its own, one after the other.

A line of JSON a side, then one with all:
  seconds, peer_seconds   the median of the epochs after the first
  of_peer                 our rate as a share of PyG's; epoch_ratio is our time as a share of its time
  accuracy, peers         test accuracy after as many epochs, by neighbours drawn with the same fanout
"""

import argparse
import array
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RATE = 0.003
KINDS, RELATIONS = 2, 3
RUN = """
seed = 1
dataset.path = "{data}"
memory.host = "{memory}"
task = {{ type = "node_classification", node_type = "item" }}
storage = {{ features = "memory", topology = "memory" }}
sampler.fanout = {fanout}
model = {{ type = "graphsage", layers = 2, hidden = {hidden}, dropout = 0.0, execution = "plain" }}
run.dir = "{run}"
[train]
device = "cpu"
epochs = {epochs}
batch_size = {batch}
checkpoint_every = 0
hash_batches = false
compute_threads = {threads}
data_threads = {threads}
optimizer = {{ type = "adam", lr = {rate} }}
[eval]
every = {epochs}
batch_size = {batch}
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--dgl")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--memory", default="6GiB")
    parser.add_argument("--train", type=float, default=0.15)
    parser.add_argument("--fanout", type=lambda text: [int(each) for each in text.split(",")], default=[10, 10])
    for name, value in (("items", 200_000), ("sources", 100_000), ("edges", 6_000_000), ("features", 128), ("classes", 16),
                        ("batch", 1024), ("hidden", 128), ("epochs", 3), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    if len(asked.fanout) != 2:
        parser.error("--fanout is two numbers, as 10,10")
    if asked.epochs < 2:
        parser.error("--epochs is at least 2: the first does not count")
    return asked


def run(*command, **more):
    words = [str(part) for part in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(words)} ended with {done.returncode}: {done.stdout}")
    return done.stdout


def write_ids(path, ids):
    """An array of NumPy."""
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(ids)},), }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + array.array("q", ids).tobytes())


def exported(asked, folder):
    """Arrays of the generated graph, and of its split."""
    drawn, arrays = folder / "drawn", folder / "arrays"
    run(asked.tools / "sluice-prep", "generate", "hetero", "--out", drawn, "--overwrite", "--quiet", "--relations", RELATIONS,
        "--kinds", KINDS,
        "--items", asked.items, "--sources", asked.sources, "--edges", asked.edges, "--features", asked.features, "--dtype", "f32",
        "--classes", asked.classes, "--homophily", 0.8, "--signal", 2, "--train", asked.train, "--valid", 0.01, "--test", 0.05)
    run(asked.tools / "sluice-prep", "export", drawn, "--format", "npy", "--out", arrays, "--quiet")
    split = json.loads(run(asked.tools / "sluice-prep", "inspect", drawn, "--json"))["splits"][0]
    for part in ("train", "valid", "test"):
        ids = array.array("Q", (drawn / "splits" / split["name"] / f"{part}.bin").read_bytes()[:8 * split[part]])
        write_ids(arrays / f"{part}.npy", ids)
    return arrays


def imported(asked, folder, arrays):
    types = ["item", *(f"kind{k}" for k in range(KINDS))]
    spec = [f'[[nodes]]\ntype = "{name}"\nfeatures.file = "{name}.features.npy"\n' for name in types]
    spec[0] += 'labels.file = "item.labels.npy"\n'
    for r in range(RELATIONS):
        kind = f"kind{r % KINDS}"
        spec.append(f'[[edges]]\nrelation = "r{r}"\nsource = "{kind}"\ntarget = "item"\nfile = "{kind}__r{r}__item.npy"\nreverse = "r{r}_of"\n')
    spec.append('[[splits]]\nnode_type = "item"\ntrain = "train.npy"\nvalid = "valid.npy"\ntest = "test.npy"\n')
    config = folder / "graph.toml"
    config.write_text("\n".join(spec))
    run(asked.tools / "sluice-prep", "import", "--config", config, "--root", arrays, "--out", folder / "data", "--overwrite", "--quiet")
    return folder / "data"


def ours(asked, folder, data):
    config = folder / "run.toml"
    config.write_text(RUN.format(data=data, run=folder / "run", rate=RATE, memory=asked.memory, fanout=asked.fanout, hidden=asked.hidden,
                                 epochs=asked.epochs, batch=asked.batch, threads=asked.threads))
    report = json.loads(run(asked.tools / "sluice-train", "run", config, "--overwrite", "--json", "--quiet"))
    return {"side": "sluice", "epochs": report["seconds"]["epochs"], "accuracy": report["metrics"]["test.accuracy"],
            "peak_rss": report["memory"]["peak_rss"]}


def theirs(asked, arrays, side, python):
    about = {"relations": RELATIONS, "kinds": KINDS, "fanout": asked.fanout, "batch": asked.batch, "hidden": asked.hidden,
             "epochs": asked.epochs, "threads": asked.threads, "rate": RATE, "classes": asked.classes}
    printed = run(python, HERE / "typed_peers.py", side, arrays, json.dumps(about),
                  env=dict(os.environ, OMP_NUM_THREADS=str(asked.threads), DGLBACKEND="pytorch"))
    return json.loads(printed.splitlines()[-1])


def counted(line):
    return line | {"seconds": statistics.median(line["epochs"][1:])}


def measure(asked, folder):
    arrays = exported(asked, folder)
    data = imported(asked, folder, arrays)
    lines = {}
    for side, python in (("pyg", asked.peer), ("dgl", asked.dgl), ("sluice", None)):
        if side == "sluice" or python:
            lines[side] = counted(ours(asked, folder, data) if side == "sluice" else theirs(asked, arrays, side, python))
            print(json.dumps({"case": "typed_epoch_side", **lines[side]}), flush=True)
    own, peer = lines.pop("sluice"), lines["pyg"]
    print(json.dumps({"case": "typed_epoch", "work": round(asked.items * asked.train), "unit": "seeds", "seconds": own["seconds"],
                      "peer": peer["peer"], "peer_seconds": peer["seconds"], "of_peer": peer["seconds"] / own["seconds"],
                      "epoch_ratio": own["seconds"] / peer["seconds"], "accuracy": own["accuracy"], "peak_rss": own["peak_rss"],
                      "peers": lines, "items": asked.items, "sources": asked.sources, "edges": 2 * asked.edges,
                      "features": asked.features, "fanout": asked.fanout, "batch": asked.batch, "hidden": asked.hidden,
                      "threads": asked.threads}))


def main():
    asked = arguments()
    with tempfile.TemporaryDirectory() as made:
        folder = (asked.work or pathlib.Path(made)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "arrays").exists():
            sys.exit(f"error: {folder} has a folder 'arrays' already: name another --work")
        measure(asked, folder)


main()
