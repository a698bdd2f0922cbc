"""A new user's way, on tables such as users have: text ids, quoted commas, dates, missing cells. The import, by its own guess
and by a description, needs NumPy alone; examples/python/pyg_own_csv.py is skipped, with a line, where there is no PyG. Where
examples/own_model.cpp is built, it trains the same model on the same data."""

import csv
import os
import subprocess
import sys
import unittest

import numpy as np

from shop import DEPARTMENTS, write_shop
from support import BIN, SOURCE, Case, sluice

EXAMPLE = os.path.join(SOURCE, "examples", "python", "pyg_own_csv.py")
OWN_MODEL = os.path.join(BIN, "examples", "example_model")
CONFIG = """dataset.path = "{data}"
memory.host = "128MiB"
run.dir = "{run}"
[model]
type = "graphsage"
hidden = 32
dropout = 0.3
[sampler]
fanout = [10, 10]
[train]
batch_size = 128
epochs = 6
optimizer.lr = 0.01
"""


class OwnCsv(Case):
    def setUp(self):
        super().setUp()
        write_shop(self.folder)
        with open(self.path("products.csv"), newline="", encoding="utf-8") as file:
            self.products = {row["sku"]: row for row in csv.DictReader(file)}

    def switched_on(self):
        """The guess, as a user takes it: the department is the label, columns of one scale, both directions, a split."""
        text = sluice.prep.describe(self.folder)
        lines = text.splitlines()
        at = next(i for i, line in enumerate(lines) if "department of products.csv could be the label" in line)
        for i in range(at + 1, at + 4):
            self.assertTrue(lines[i].startswith("# labels."), lines[i])
            lines[i] = lines[i][2:]
        for i, line in enumerate(lines):
            if line in ("# [[splits]]", "# ratio = [0.6, 0.2, 0.2]"):
                lines[i] = line[2:]
        text = "\n".join(lines)
        for old, new in (('scale = "none"', 'scale = "standard"'), ("undirected = false", "undirected = true")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def test_the_guess_says_what_to_switch_on(self):
        described = " ".join(line.lstrip("# ") for line in sluice.prep.describe(self.folder).splitlines())
        for said in ("released (dates;", "The column last_bought is left out: its dates are texts", "Some cells of price, weight_kg are empty"):
            self.assertIn(said, described)
        with open(self.path("graph.toml"), "w", encoding="utf-8") as file:
            file.write(self.switched_on())
        with self.assertWarnsRegex(UserWarning, "left out: 'times', 'last_bought'"):
            said = sluice.prep.import_(config=self.path("graph.toml"), out=self.path("shop"), progress=False)
        self.check(self.path("shop"), said)

    def check(self, data, said):
        self.assertEqual(said["relations"][0]["rows_skipped"], 7)
        dataset = sluice.Dataset(data)
        labels = dataset.node_type().labels
        self.assertEqual(labels.names, sorted(DEPARTMENTS))
        names = np.array([*labels.names, ""])[dataset.labels()]
        stored = dict(zip(dataset.ids().tolist(), names.tolist()))
        self.assertEqual(stored, {sku: row["department"] for sku, row in self.products.items()})
        features = dataset.features()
        self.assertEqual(features.shape, (3000, 3))
        self.assertTrue(np.isfinite(features).all())
        train, valid, test = dataset.split()
        self.assertEqual(len(train) + len(valid) + len(test), sum(name != "" for name in names))

    def test_a_pyg_model_from_disk_and_the_same_in_cpp(self):
        try:
            import torch_geometric  # noqa: F401
        except (ImportError, OSError) as problem:
            self.skipTest(f"PyG is not installed here: {problem}")
        data = self.path("shop")
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(sluice.__file__)), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, EXAMPLE, self.folder, data], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        python = self.accuracy(csv.DictReader(done.stdout.splitlines()), "department")
        self.assertGreater(python, 0.75, done.stderr)
        if not os.access(OWN_MODEL, os.X_OK):
            return
        self.assertLess(abs(self.own_model(data) - python), 0.08)

    def own_model(self, data):
        run, out = self.path("run"), self.path("own.csv")
        with open(self.path("run.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(data=data, run=run))
        for command in (["run", self.path("run.toml")], ["predict", run, "--part", "all", "--out", out]):
            done = subprocess.run([OWN_MODEL, *command], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, newline="", encoding="utf-8") as file:
            return self.accuracy(csv.DictReader(file), "class_name")

    def accuracy(self, rows, column):
        """Over all products that say their department."""
        found = {row["id"]: row[column] for row in rows}
        self.assertEqual(found.keys(), self.products.keys())
        told = [found[sku] == row["department"] for sku, row in self.products.items() if row["department"]]
        return sum(told) / len(told)


if __name__ == "__main__":
    unittest.main()
