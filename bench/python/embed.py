"""`sluice-train embed` over a generated graph that its budget holds a fraction of.

usage: embed.py --tools BUILD [--nodes 20000000 --edges 400000000 --features 128] [--model graphsage] [--layers 3] [--hidden 128]
         [--share .12] [--threads N] [--cgroup auto|off|require] [--dir bench-data]

BUILD is where sluice-prep and sluice-train are. A graph with f16 features is made by `sluice-prep generate sbm` below --dir, and a
model is trained on few of its nodes for one epoch; both are kept. 20 million nodes with 128 features and 400 million edges are 7 GB;
rows between layers take some 31 GB more for a while. All nodes are embedded within --share of the dataset's bytes, without tables
that were added to it, in a cgroup of that and 300 MiB. A line of JSON:
  seconds     of the tool, from its own report
  layers      of each: rows, how often one was read, panels, bytes, seconds
  of_device   what the disk alone would take for all bytes, at its sequential rates, of what passed
With --cgroup require it ends with 77, and says why, where no cgroup may be made.
"""

import argparse
import json
import os
import pathlib

from confined import confine, may_confine
from tools import run, say


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("bench-data"))
    parser.add_argument("--model", default="graphsage")
    parser.add_argument("--share", type=float, default=.12)
    parser.add_argument("--cgroup", choices=("auto", "off", "require"), default="auto")
    for name, default in (("nodes", 20_000_000), ("edges", 400_000_000), ("features", 128), ("layers", 3), ("hidden", 128),
                          ("threads", os.cpu_count())):
        parser.add_argument("--" + name, type=int, default=default)
    return parser.parse_args()


def dataset(given):
    out = given.dir / f"embed-{given.nodes}-{given.edges}-{given.features}"
    if not out.exists():
        trained = min(.1, 20_000 / given.nodes)
        run(given.tools / "sluice-prep", "generate", "sbm", "--nodes", given.nodes, "--edges", given.edges, "--features",
            given.features, "--dtype", "f16", "--train", trained, "--valid", 0, "--test", trained, "--out", out)
    return out


def trained_run(given, data, budget):
    folder = given.dir / f"{data.name}-{given.model}-{given.layers}-{given.hidden}"
    if not (folder / "report.json").exists():
        config = folder.with_suffix(".toml")
        config.write_text(f'dataset.path = "{data.resolve()}"\nrun.dir = "{folder.resolve()}"\nmemory.host = "{budget}B"\n'
                          f'model = {{ type = "{given.model}", layers = {given.layers}, hidden = {given.hidden} }}\n'
                          f'sampler.fanout = {[5] * given.layers}\neval.fanout = {[5] * given.layers}\n'
                          f'train = {{ epochs = 1, compute_threads = {given.threads} }}\n', encoding="utf-8")
        run(given.tools / "sluice-train", "run", config, "--overwrite", "--quiet")
    return folder


def own_bytes(data):
    """Of the dataset's files, without feature tables of nodes that propagation or another program added."""
    files = json.loads((data / "manifest.json").read_text(encoding="utf-8"))["files"]
    kept = ("features.bin", "labels.bin", "ids.bin", "ids.offsets.bin", "times.bin")
    return sum(file["bytes"] for file in files if not file["path"].startswith("nodes/") or file["path"].split("/")[-1] in kept)


def main():
    given = arguments()
    confined = may_confine(given.cgroup)
    given.dir.mkdir(parents=True, exist_ok=True)
    data = dataset(given)
    size = own_bytes(data)
    budget = max(int(size * given.share) >> 20, 64) << 20  # whole MiB: a cgroup rounds down to pages
    folder = trained_run(given, data, 2 * budget)
    out = given.dir / "embed-rows.npy"
    words = [given.tools / "sluice-train", "embed", folder, "--out", out, "--json", "--set", f"memory.host={budget}B", "--set",
             f"train.compute_threads={given.threads}", "--set", "storage.features=disk", "--set", "storage.topology=disk"]
    report = json.loads(run(*(confine(budget, words) if confined else words)))
    out.unlink()
    say({"case": "embed", "model": given.model, "layers": report["layers"], "nodes": given.nodes, "edges": given.edges,
         "features": given.features, "hidden": given.hidden, "dataset_bytes": size, "budget": budget,
         "confined": confined, "threads": given.threads, "rows": report["rows"], "seconds": report["seconds"],
         "of_device": report.get("of_device")})


main()
