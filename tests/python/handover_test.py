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
EXAMPLE_OF_LINKS = os.path.join(SOURCE, "examples", "python", "predict_links.py")
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

CONFIG_OF_LINKS = """[dataset]
path = "{data}"
[memory]
host = "64MiB"
[model]
type = "embedding"
[embedding]
dim = 8
optimizer = "adagrad"
lr = 0.1
init = 0.1
[task]
type = "link_prediction"
width = 8
decoder = "distmult"
ends = "both"
reciprocal = {reciprocal}
loss = "all"
ranking = "all"
[train]
epochs = 5
batch_size = 32
[run]
dir = "{run}"
"""


def write_triples(folder):
    """Triples of text: relation k leads from n(i) to n(i + k + 1), and some are kept for valid and test."""
    parts = {"train.txt": [], "valid.txt": [], "test.txt": []}
    for i in range(50):
        for k in range(3):
            part = "test.txt" if (i + k) % 7 == 6 else "valid.txt" if (i + k) % 7 == 5 else "train.txt"
            parts[part].append(f"n{i}\t{('next', 'after', 'third')[k]}\tn{(i + k + 1) % 50}\n")
    for name, lines in parts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.writelines(lines)
    edges = {"file": "train.txt", "source_column": "head", "target_column": "tail", "type_column": "relation", "types": "labels"}
    split = {"of": "edges", "valid": "valid.txt", "test": "test.txt", "format": "triples"}
    return {
        "nodes": [{"type": "entity", "ids": "string"}],
        "edges": [{**edges, "format": "triples"}],
        "splits": [split],
    }


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
    def train(self, graph, config, data, run, *predict):
        """Trains on a graph, and writes its predictions into own.csv."""
        if not os.access(TRAIN, os.X_OK):
            self.skipTest("sluice-train is not built here")
        if not os.path.exists(data):
            sluice.prep.import_(config=graph(self.folder), root=self.folder, out=data, progress=False)
        with open(self.path("run.toml"), "w", encoding="utf-8") as file:
            file.write(config.format(data=data, run=run))
        for command in (["run", self.path("run.toml")], ["predict", run, *predict, "--out", self.path("own.csv")]):
            done = subprocess.run([TRAIN, *command], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def trained(self):
        data, run = self.path("data"), self.path("run")
        self.train(write_rings, CONFIG, data, run, "--part", "all")
        return data, run

    def example(self, script, run, data):
        """What an example prints, and what the tool wrote: rows of a table each."""
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(sluice.__file__))}
        done = subprocess.run([sys.executable, script, run, data], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("own.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(done.stdout.splitlines())), list(csv.DictReader(file))

    def needs_torch(self):
        try:
            import torch  # noqa: F401
        except (ImportError, OSError) as problem:
            self.skipTest(f"PyTorch is not installed here: {problem}")

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
        self.needs_torch()
        data, run = self.trained()
        printed, own = self.example(EXAMPLE, run, data)
        self.assertEqual(len(own), 200)
        self.assertEqual({row["id"]: row for row in printed}, {row["id"]: row for row in own})

    def test_the_example_of_links_predicts_the_same(self):
        self.needs_torch()
        for reciprocal in ("false", "true"):
            with self.subTest(reciprocal=reciprocal):
                data, run = self.path("triples"), self.path("run-" + reciprocal)
                config = CONFIG_OF_LINKS.replace("{reciprocal}", reciprocal)
                self.train(write_triples, config, data, run, "--part", "test")
                printed, own = self.example(EXAMPLE_OF_LINKS, run, data)
                self.assertEqual(len(own), 21)
                self.assertEqual([(row["source"], row["target"]) for row in printed], [(row["source"], row["target"]) for row in own])
                self.assertGreater(len({row["probability"] for row in own}), 15)
                for here, there in zip(printed, own):  # sums in another order
                    self.assertAlmostEqual(float(here["probability"]), float(there["probability"]), places=5)

    def test_the_examples_are_short(self):
        for example in (EXAMPLE, EXAMPLE_OF_LINKS):
            with open(example, encoding="utf-8") as file:
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
