#!/usr/bin/env python3
"""examples/predict.py predicts in PyTorch what sluice-train predicts; run by ctest.

Skipped (77) where this Python has no PyTorch or no NumPy. SLUICE_BIN is the build folder; SLUICE_PYTHON names another Python.
"""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SLUICE_BIN"])
PYTHON = os.environ.get("SLUICE_PYTHON", sys.executable)
CONFIG = """[dataset]
path = "{data}"
[model]
type = "graphsage"
hidden = 16
[task]
type = "node_classification"
[sampler]
type = "neighbor"
fanout = [5, 5]
[train]
epochs = 5
[run]
dir = "{run}"
"""


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def import_texts(folder):
    """A small graph whose classes and ids are texts: two rings, whose nodes' features say which."""
    with open(folder / "nodes.csv", "w", encoding="utf-8") as nodes:
        nodes.write("id,label,train_mask,val_mask,test_mask,f0,f1\n")
        for i in range(200):
            ring = i % 2
            part = ("1,0,0", "1,0,0", "0,1,0", "0,0,1")[i // 2 % 4]
            nodes.write(f"n{i},{('round', 'square')[ring]},{part},{ring + (i % 7) / 9},{1 - ring + (i % 5) / 7}\n")
    with open(folder / "edges.csv", "w", encoding="utf-8") as edges:
        edges.write("source,target\n" + "".join(f"n{i},n{(i + 2) % 200}\nn{i},n{(i + 8) % 200}\n" for i in range(200)))
    run(BUILD / "sluice-prep", "import", folder / "nodes.csv", folder / "edges.csv", "--yes", "--out", folder / "data")


def main(folder):
    data, ran = folder / "data", folder / "run"
    import_texts(folder)
    (folder / "mine.toml").write_text(CONFIG.format(data=data, run=ran))
    run(BUILD / "sluice-train", "run", folder / "mine.toml")
    run(BUILD / "sluice-train", "predict", ran, "--part", "all", "--out", folder / "own.csv")
    run(BUILD / "sluice-prep", "export", data, "--out", folder / "exported")
    run(BUILD / "sluice-train", "export", ran, "--out", folder / "again.safetensors")
    if (folder / "again.safetensors").read_bytes() != (ran / "weights.safetensors").read_bytes():
        sys.exit("export writes other weights than the run did")
    own = {row["id"]: row for row in csv.DictReader(open(folder / "own.csv", encoding="utf-8"))}
    text = run(PYTHON, ROOT / "examples/predict.py", ran / "weights.safetensors", folder / "exported")
    theirs = {row["id"]: row for row in csv.DictReader(text.splitlines())}
    if own != theirs:
        sys.exit(f"other predictions: {[(a, theirs.get(i)) for i, a in own.items() if theirs.get(i) != a][:5]}")
    print(f"{len(own)} predictions are the same")


if subprocess.run([PYTHON, "-c", "import numpy, torch"], capture_output=True, check=False).returncode != 0:
    print(f"skipped: {PYTHON} has no PyTorch or no NumPy")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    main(pathlib.Path(temporary))
