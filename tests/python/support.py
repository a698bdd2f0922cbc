"""What the tests of the Python package share: where things are, Cora, made-up graphs, brute force."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

SOURCE = os.environ.get("SLUICE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BIN = os.environ.get("SLUICE_BIN", os.path.join(SOURCE, "build", "release"))
sys.path.insert(0, os.environ.get("SLUICE_PYTHON", os.path.join(BIN, "python")))

import sluice  # noqa: E402  (it lies in the build folder)

DATA = os.environ.get("SLUICE_DATA", os.path.join(SOURCE, "..", "shared", "data"))
TRAIN = os.path.join(BIN, "sluice-train")


class Case(unittest.TestCase):
    """A test with a folder of its own, which goes with it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-python-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def fails(self, kind, *words):
        """A context in which an error of that class is raised whose text has all the words."""
        case = self

        class Raises:
            def __enter__(self):
                return self

            def __exit__(self, what, error, trace):
                case.assertIsNotNone(what, f"no {kind.__name__} was raised")
                if not issubclass(what, kind):
                    return False
                self.error = error
                for word in words:
                    case.assertIn(word, str(error))
                return True

        return Raises()


def cora_files():
    """The folder of Cora's files; skips the test where there is none."""
    folder = os.path.join(DATA, "cora")
    if not os.path.isdir(folder):
        raise unittest.SkipTest(f"no Cora in {folder}")
    return folder


_cora = {}


def cora():
    """Cora as a dataset, imported once a process."""
    if "path" not in _cora:
        files = cora_files()
        _cora["folder"] = tempfile.TemporaryDirectory(prefix="sluice-cora-")
        path = os.path.join(_cora["folder"].name, "cora")
        config = os.path.join(SOURCE, "configs", "cora-graph.toml")
        sluice.prep.import_(config=config, root=files, out=path, progress=False)
        _cora["path"] = path
    return _cora["path"]


def cora_edges():
    """Cora's directed edges, both ways: a set of (source, target)."""
    pairs = np.loadtxt(os.path.join(cora_files(), "edges.csv"), delimiter=",", skiprows=1, dtype=np.int64)
    return {(int(s), int(t)) for s, t in pairs} | {(int(t), int(s)) for s, t in pairs}


def in_edges(edges):
    """{target: set of sources}."""
    lists = {}
    for source, target in edges:
        lists.setdefault(target, set()).add(source)
    return lists


def run_python(code, *arguments, env=None, **more):
    """Runs code in a child with the package on its path."""
    environment = {**os.environ, "PYTHONPATH": os.environ.get("SLUICE_PYTHON", os.path.join(BIN, "python")), **(env or {})}
    return subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, **more)
