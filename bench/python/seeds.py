"""What configs reach, as a mean over seeds: of each config and seed a run, of each config a mean and a deviation of its test metrics.

usage: seeds.py CONFIG... --tools BUILD [--seeds 3] [--first 1] [--set KEY=VALUE]... [--each KEY=VALUE;VALUE]... [--runs FOLDER]
                [--show NAME,NAME] [--again]

A CONFIG is a file, or a name in configs/ (uci-tftgn). BUILD is where sluice-train is. Datasets are where the configs say, from
here: --set dataset.path=FOLDER, where all are of one. --set is for all runs; --each trains every config once a value, which may be several.

Runs lie in --runs (default: runs/seeds), in a folder by config, keys and seed. A run that has its report there is not run again, and
one that was broken off goes on: the same command goes on where it stopped. A config that was changed is another one. --again runs all
anew.

Prints a JSON object a run (metrics, best epoch, seconds, visibility), then one a config (mean, sd); at the end a table of --show. Runs that
measured floors beside a probe (docs/self-supervised.md) have them in both, and in the table a row for each.

The boards of configs/, whose graphs lie in data/:
  seeds.py uci-edgebank uci-recency uci-graphmixer uci-tftgn uci-tgn uci-tgat uci-jodie --tools build/release
  seeds.py uci-recency --set model.by=node --tools build/release      the destination's recency alone
  seeds.py uci-tftgn --set model.pairs=co_occurrence --tools build/release
  seeds.py uci-tpnet uci-dygformer --seeds 1 --tools build/release
  seeds.py wikipedia-edgebank wikipedia-recency wikipedia-pairs --seeds 1 --each "sampler.visibility=strict;batch_lag" --tools build/release
  seeds.py wikipedia-tftgn wikipedia-tpnet --seeds 1 --each "sampler.visibility=strict;batch_lag" --set eval.batch_size=200 \\
    --set memory.host=8GiB --tools build/release                      so that both lag behind as much as what is published
"""

import argparse
import hashlib
import itertools
import json
import os
import pathlib
import statistics
import sys

from tools import run, say

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
SHOWN = "ap,auc,mrr,ap.historical,ap.inductive,accuracy,f1_micro,f1_macro,nmi,ari,ndcg@10"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="+", metavar="CONFIG")
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--each", action="append", default=[], metavar="KEY=VALUE;VALUE")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/seeds"))
    parser.add_argument("--show", default=SHOWN)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    if given.seeds < 1:
        parser.error("--seeds is at least 1")
    for assignment in given.set + given.each:
        if "=" not in assignment:
            parser.error(f"'{assignment}' is no KEY=VALUE")
    given.configs = [config_file(parser, name) for name in given.configs]
    return given


def config_file(parser, name):
    for path in (pathlib.Path(name), CONFIGS / f"{name}.toml"):
        if path.is_file():
            return path
    return parser.error(f"there is no config '{name}': a file, or a name in {os.path.relpath(CONFIGS)}")


def variants(given):
    """The keys of each way to train a config."""
    ways = []
    for assignment in given.each:
        key, values = assignment.split("=", 1)
        ways.append([f"{key}={value}" for value in values.split(";")])
    return [list(chosen) + given.set for chosen in itertools.product(*ways)]


class Trial:
    """A config with keys, in a folder that no other has."""

    def __init__(self, given, config, sets):
        self.tools, self.again, self.config, self.sets = given.tools, given.again, config, sets
        text = config.read_bytes() + json.dumps(sets).encode()
        self.folder = given.runs / f"{config.stem}-{hashlib.sha256(text).hexdigest()[:10]}"

    def report(self, seed):
        folder = self.folder / f"seed-{seed}"
        if self.again or not (folder / "report.json").exists():
            self.train(folder, seed)
        return json.loads((folder / "report.json").read_text())

    def train(self, folder, seed):
        train = self.tools / "sluice-train"
        if not self.again and (folder / "checkpoints" / "last.ckpt").exists():
            words = [train, "resume", folder, "--quiet"]
        else:
            words = [train, "run", self.config, "--overwrite", "--quiet"]
            for assignment in (f"seed={seed}", f"run.dir={folder}", *self.sets):
                words += ["--set", assignment]
        print(f"{self.config.stem}, seed {seed}: {' '.join(self.sets)}", file=sys.stderr, flush=True)
        run(*words)


def tested(report):
    """{name: value} of a report's test metrics that are numbers."""
    return {name.removeprefix("test."): value for name, value in report["metrics"].items()
            if name.startswith("test.") and value is not None}


def floors_of(report):
    """{rows: {metric: value}} of what a report's probe was measured beside."""
    return {floor["rows"]: tested({"metrics": floor}) for floor in report.get("probe", {}).get("floors", [])}


def run_line(trial, seed, report):
    return {"case": "seed", "config": trial.config.stem, "sets": trial.sets, "seed": seed, "metrics": tested(report),
            "epochs": report["epochs"], "best_epoch": report.get("best_epoch"), "visibility": report.get("visibility"),
            "seconds": report["seconds"]["total"], "floors": floors_of(report)}


def spread_of(each_seed):
    """Mean and deviation of the metrics that every seed has."""
    values = {name: [seed[name] for seed in each_seed] for name in each_seed[0] if all(name in seed for seed in each_seed)}
    return {"mean": {name: statistics.mean(each) for name, each in values.items()},
            "sd": {name: statistics.stdev(each) if len(each) > 1 else 0.0 for name, each in values.items()}}


def mean_line(lines):
    floors = [rows for rows in lines[0]["floors"] if all(rows in line["floors"] for line in lines)]
    return {"case": "seeds", "config": lines[0]["config"], "sets": lines[0]["sets"], "seeds": len(lines),
            "visibility": lines[0]["visibility"], **spread_of([line["metrics"] for line in lines]),
            "seconds": statistics.mean(line["seconds"] for line in lines),
            "floors": {rows: spread_of([line["floors"][rows] for line in lines]) for rows in floors}}


def table(means, shown):
    names = [name for name in shown if any(name in mean["mean"] for mean in means)]
    lines = ["| config | seeds | " + " | ".join(names) + " | s a run |", "| --- " * (len(names) + 3) + "|"]

    def row(title, seeds, of, seconds):
        cells = [f"{of['mean'][name]:.4f} +- {of['sd'][name]:.4f}" if name in of["mean"] else "-" for name in names]
        lines.append(f"| {title} | {seeds} | " + " | ".join(cells) + f" | {seconds} |")

    for mean in means:
        row(" ".join([mean["config"], *mean["sets"]]), mean["seeds"], mean, f"{mean['seconds']:.0f}")
        for rows, floor in mean["floors"].items():
            row(f"{mean['config']}: floor {rows}", mean["seeds"], floor, "-")
    return "\n".join(lines)


def main():
    given = arguments()
    means = []
    for config, sets in itertools.product(given.configs, variants(given)):
        trial, lines = Trial(given, config, sets), []
        for seed in range(given.first, given.first + given.seeds):
            lines.append(run_line(trial, seed, trial.report(seed)))
            say(lines[-1])
        means.append(mean_line(lines))
    for mean in means:
        say(mean)
    print(table(means, given.show.split(",")), file=sys.stderr)


main()
