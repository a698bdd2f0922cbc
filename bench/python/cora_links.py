#!/usr/bin/env python3
"""Links of Cora told by embeddings that were trained on the graph without them: AUC and AP over seeds, beside floors.

usage: cora_links.py --tools BUILD --cora DATASET [--config cora-gcmae] [--seeds 5] [--first 1] [--score hadamard] [--valid 0.05] [--test 0.1]
                     [--bars 0.92,0.915] [--set KEY=VALUE]... [--runs FOLDER] [--threads N]

BUILD is where sluice-prep and sluice-train are; --cora is Cora's dataset as configs/cora-graph.toml imports it. A config is a file, or a
name in configs/. For each seed:
  sluice-prep hold-out      a dataset without that seed's links of validation and test, in either direction; the split of nodes stays as it is
  sluice-train run          pre-training on it (dataset.split = "default", the split of nodes): its epoch is chosen by a linear probe of
                            validation nodes, so never by links
  sluice-train embed        every node's row, over the edges that are left
  sluice-train probe        the held-out links against as many pairs without an edge; it refuses a dataset that holds one of them

A pair is scored by dot product, cosine and a logistic regression over Hadamard products (docs/probe.md); --score says beforehand which one
counts for --bars (AUC, AP). Floors are raw features, SGC and a random encoder as wide as the embeddings. A seed that has its file in
--runs (default: runs/cora-links) is not measured again.

A line of JSON a seed, one for each kind of rows and score with mean and deviation, and one that says whether the bars are met; at the
end a table.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import statistics
import sys

from tools import run

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
SCORES = ("dot", "cosine", "hadamard")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--cora", type=pathlib.Path, required=True)
    parser.add_argument("--config", default="cora-gcmae")
    parser.add_argument("--score", choices=SCORES, default="hadamard")
    parser.add_argument("--bars", default="0.92,0.915")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/cora-links"))
    for name, value in (("valid", 0.05), ("test", 0.1)):
        parser.add_argument(f"--{name}", type=float, default=value)
    for name, value in (("seeds", 5), ("first", 1), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    named = pathlib.Path(asked.config)
    asked.config = named if named.is_file() else CONFIGS / f"{asked.config}.toml"
    if not asked.config.is_file():
        parser.error(f"there is no config '{named}': a file, or a name in configs/")
    asked.bars = [float(each) for each in asked.bars.split(",")]
    return asked


def probed(asked, folder, seed):
    """What `sluice-train probe` says of a seed's rows and their floors."""
    data, trained, rows = folder / "links", folder / "run", folder / "rows.npy"
    run(asked.tools / "sluice-prep", "hold-out", asked.cora, "--out", data, "--overwrite", "--valid", asked.valid, "--test", asked.test,
        "--seed", seed, "--quiet")
    sets = [f"dataset.path={data}", "dataset.split=default", f"run.dir={trained}", f"seed={seed}", f"train.compute_threads={asked.threads}",
            *asked.set]
    run(asked.tools / "sluice-train", "run", asked.config, "--overwrite", "--quiet", *(word for each in sets for word in ("--set", each)))
    run(asked.tools / "sluice-train", "embed", trained, "--out", rows, "--quiet")
    report = json.loads(run(asked.tools / "sluice-train", "probe", rows, "--dataset", data, "--tasks", "links", "--floors", "--seed", seed,
                            "--threads", asked.threads, "--quiet", "--json"))
    for made in (data, trained):
        shutil.rmtree(made)
    rows.unlink()
    return {each["rows"]: each["links"] for each in report["results"]}


def measured(asked, seed):
    # All that decides the result: a changed config, or another share, is another folder.
    about = asked.config.read_bytes() + json.dumps([str(asked.cora.resolve()), asked.valid, asked.test, asked.set]).encode()
    folder = asked.runs / f"{asked.config.stem}-{hashlib.sha256(about).hexdigest()[:10]}" / f"seed-{seed}"
    kept = folder / "links.json"
    if not kept.exists():
        print(f"{asked.config.stem}, seed {seed}", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        found = probed(asked, folder.resolve(), seed)
        kept.write_text(json.dumps(found))
    return json.loads(kept.read_text())


def mean_line(asked, seeds, rows, score):
    line = {"case": "cora_links_mean", "config": asked.config.stem, "rows": rows, "score": score, "seeds": len(seeds)}
    for name in ("auc", "ap"):
        values = [each[rows][score][name]["mean"] for each in seeds]
        line |= {name: statistics.mean(values), name + "_sd": statistics.stdev(values) if len(values) > 1 else 0.0}
    return line


def main():
    asked = arguments()
    seeds = []
    for seed in range(asked.first, asked.first + asked.seeds):
        seeds.append(measured(asked, seed))
        print(json.dumps({"case": "cora_links_seed", "config": asked.config.stem, "seed": seed, "links": seeds[-1]}), flush=True)
    lines = [mean_line(asked, seeds, rows, score) for rows in seeds[0] for score in SCORES]
    table = ["| rows | score | AUC | AP |", "| --- | --- | --- | --- |"]
    for line in lines:
        print(json.dumps(line), flush=True)
        table.append(f"| {line['rows']} | {line['score']} | {line['auc']:.4f} +- {line['auc_sd']:.4f} | {line['ap']:.4f} +- {line['ap_sd']:.4f} |")
    own = next(line for line in lines if line["rows"] == "embeddings" and line["score"] == asked.score)
    print(json.dumps({**own, "case": "cora_links", "bars": asked.bars, "met": own["auc"] >= asked.bars[0] and own["ap"] >= asked.bars[1]}))
    print("\n".join(table), file=sys.stderr)


main()
