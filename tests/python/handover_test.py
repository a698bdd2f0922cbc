"""What sluice-train trained, in Python: weights by name, and examples/python/predict.py predicts the same. The second is
skipped, with a line, where PyTorch is not installed; both where sluice-train is not built."""

import csv
import json
import os
import subprocess
import sys
import unittest

import numpy as np

from support import SOURCE, TRAIN, Case, sluice

EXAMPLE = os.path.join(SOURCE, "examples", "python", "predict.py")
CONFIG = """[dataset]
path = "{data}"
[memory]
host = "64MiB"
[model]
type = "graphsage"
hidden = 16
[sampler]
fanout = [5, 5]
[train]
epochs = 3
[run]
dir = "{run}"
"""


def write_rings(folder):
    """A graph whose ids and classes are texts: two rings, whose nodes' features say which."""
    with open(os.path.join(folder, "nodes.csv"), "w", encoding="utf-8") as file:
        file.write("name,kind,f0,f1\n")
        for i in range(200):
            ring = i % 2
            file.write(f"n{i},{('round', 'square')[ring]},{ring + (i % 7) / 9},{1 - ring + (i % 5) / 7}\n")
    with open(os.path.join(folder, "edges.csv"), "w", encoding="utf-8") as file:
        file.write("source,target\n" + "".join(f"n{i},n{(i + 2) % 200}\nn{i},n{(i + 8) % 200}\n" for i in range(200)))
    nodes = {
        "ids": "string",
        "id_list": {"file": "nodes.csv", "column": "name"},
        "features": {"file": "nodes.csv", "columns": ["f0", "f1"]},
        "labels": {"file": "nodes.csv", "columns": ["kind"], "kind": "name"},
    }
    return {"nodes": [nodes], "edges": [{"file": "edges.csv"}], "splits": [{"ratio": [0.5, 0.25, 0.25]}]}


class Handover(Case):
    def trained(self):
        if not os.access(TRAIN, os.X_OK):
            self.skipTest("sluice-train is not built here")
        data, run = self.path("data"), self.path("run")
        sluice.prep.import_(config=write_rings(self.folder), root=self.folder, out=data, progress=False)
        with open(self.path("run.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(data=data, run=run))
        for command in (["run", self.path("run.toml")], ["predict", run, "--part", "all", "--out", self.path("own.csv")]):
            done = subprocess.run([TRAIN, *command], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        return data, run

    def test_weights_by_name(self):
        _, run = self.trained()
        found = sluice.weights(run)
        self.assertEqual(found.classes, ["round", "square"])
        self.assertEqual(found.metadata["model"], "graphsage")
        self.assertEqual(found.arrays["layer0.own.weight"].shape, (16, 2))
        self.assertEqual({array.dtype for array in found.arrays.values()}, {np.dtype("float32")})
        again = self.path("again.safetensors")
        done = subprocess.run([TRAIN, "export", run, "--out", again], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(again, "rb") as exported, open(os.path.join(run, "weights.safetensors"), "rb") as written:
            self.assertEqual(exported.read(), written.read())
        self.assertEqual(list(sluice.weights(os.path.join(run, "weights.safetensors")).arrays), list(found.arrays))

    def test_the_example_predicts_the_same(self):
        try:
            import torch  # noqa: F401
        except (ImportError, OSError) as problem:
            self.skipTest(f"PyTorch is not installed here: {problem}")
        data, run = self.trained()
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(sluice.__file__))}
        done = subprocess.run([sys.executable, EXAMPLE, run, data], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("own.csv"), newline="", encoding="utf-8") as file:
            own = {row["id"]: row for row in csv.DictReader(file)}
        self.assertEqual(len(own), 200)
        self.assertEqual({row["id"]: row for row in csv.DictReader(done.stdout.splitlines())}, own)

    def test_the_example_is_short(self):
        with open(EXAMPLE, encoding="utf-8") as file:
            code = [line for line in file if line.strip() and not line.startswith("#")]
        self.assertLessEqual(len(code), 20)

    def test_files_that_are_none(self):
        with self.fails(sluice.UsageError, "weights.safetensors", "sluice-train export"):
            sluice.weights(self.folder)
        for name, raw in (("a", b""), ("b", b"\x05" + bytes(7) + b"[1,2]"), ("c", bytes([40]) + bytes(40))):
            with open(self.path(name), "wb") as file:
                file.write(raw)
            with self.subTest(name=name), self.fails(sluice.DataError, "safetensors"):
                sluice.weights(self.path(name))

    def test_types_and_shapes(self):
        header = {"a": {"dtype": "I64", "shape": [2, 1], "data_offsets": [0, 16]}, "__metadata__": {"classes": '["x"]'}}
        text = json.dumps(header).encode()
        with open(self.path("w"), "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + np.array([3, 4]).tobytes())
        found = sluice.weights(self.path("w"))
        self.assertEqual((found.arrays["a"].tolist(), found.classes, found.metadata), ([[3], [4]], ["x"], {}))


if __name__ == "__main__":
    unittest.main()
