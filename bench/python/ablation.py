#!/usr/bin/env python3
"""What each part of GCMAE is worth: a config with all of them, and with each one off in turn, over seeds.

usage: ablation.py --tools BUILD [--config cora-gcmae] [--parts masked,contrast,adjacency,variance] [--seeds 5] [--first 1]
                   [--show accuracy,nmi,ari] [--set KEY=VALUE]... [--runs FOLDER]

BUILD is where sluice-train is. A part is off by `task.PART.weight=0`: it has no weights then and computes nothing. `masked` is the
reconstruction of masked features, `variance` what the paper calls discrimination. Nothing else changes: what is off is not made up for by
other rates, so a difference says what the part adds to this config. Runs are those of seeds.py, which goes on where it was broken off.

A line of JSON a variant: means, deviations, and the difference to all parts, with the deviation of the difference of the same seeds; at the
end a table. A part without which a figure is as good or better did not help it, and the table says so.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

SEEDS = pathlib.Path(__file__).resolve().parent / "seeds.py"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--config", default="cora-gcmae")
    parser.add_argument("--parts", default="masked,contrast,adjacency,variance")
    parser.add_argument("--show", default="accuracy,nmi,ari")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--runs", default="runs/seeds")
    for name, value in (("seeds", 5), ("first", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    asked.parts, asked.show = asked.parts.split(","), asked.show.split(",")
    return asked


def over_seeds(asked, sets):
    """Each seed's test metrics."""
    words = [sys.executable, SEEDS, asked.config, "--tools", asked.tools, "--runs", asked.runs, "--seeds", asked.seeds, "--first", asked.first]
    for assignment in [*asked.set, *sets]:
        words += ["--set", assignment]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: seeds.py ended with {done.returncode}: see above")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line["metrics"] for line in lines if line["case"] == "seed"]


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def variant_line(asked, without, own, whole):
    line = {"case": "ablation", "config": asked.config, "without": without, "seeds": len(own)}
    for name in asked.show:
        values = [metrics[name] for metrics in own]
        lost = [metrics[name] - one for metrics, one in zip(whole, values)]
        line[name] = {"mean": statistics.mean(values), "sd": spread(values)}
        if without:
            line[name] |= {"lost": statistics.mean(lost), "lost_sd": spread(lost)}
    if without:
        line["does_not_help"] = [name for name in asked.show if line[name]["lost"] <= 0]
    return line


def cell(figure):
    text = f"{figure['mean']:.4f} +- {figure['sd']:.4f}"
    return f"{text} ({-figure['lost']:+.4f} +- {figure['lost_sd']:.4f})" if "lost" in figure else text


def main():
    asked = arguments()
    whole = over_seeds(asked, [])
    missing = [name for name in asked.show if any(name not in metrics for metrics in whole)]
    if missing:
        sys.exit(f"error: runs of '{asked.config}' have no test metric {', '.join(missing)}: --show names some of {', '.join(whole[0])}")
    lines = [variant_line(asked, None, whole, whole)]
    lines += [variant_line(asked, part, over_seeds(asked, [f"task.{part}.weight=0"]), whole) for part in asked.parts]
    table = ["| " + " | ".join(["variant", *asked.show, "does not help"]) + " |", "| --- " * (len(asked.show) + 2) + "|"]
    for line in lines:
        print(json.dumps(line), flush=True)
        title = f"without {line['without']}" if line["without"] else "all parts"
        table.append("| " + " | ".join([title, *(cell(line[name]) for name in asked.show), ", ".join(line.get("does_not_help", []))]) + " |")
    print("\n".join(table), file=sys.stderr)


main()
