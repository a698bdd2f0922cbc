"""sluice.prep: own files with text ids from end to end, progress, errors, Ctrl-C; datasets and results by id."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

import numpy as np

from support import SOURCE, TRAIN, Case, sluice

PEOPLE = ["ann", "bob", "čeněk", "dee, jr", "eve"]


def write_people(folder):
    with open(os.path.join(folder, "people.csv"), "w", encoding="utf-8") as file:
        file.write("name,age,height,team\n")
        for i, name in enumerate(PEOPLE):
            quoted = f'"{name}"' if "," in name else name
            file.write(f"{quoted},{20 + i},{1.5 + i / 10},{'red' if i % 2 else 'blue'}\n")
    with open(os.path.join(folder, "knows.csv"), "w", encoding="utf-8") as file:
        file.write('who,whom\nann,bob\nbob,čeněk\nčeněk,"dee, jr"\neve,ann\n')
    return {
        "nodes": [
            {
                "type": "person",
                "ids": "string",
                "id_list": {"file": "people.csv", "column": "name"},
                "features": {"file": "people.csv", "columns": ["age", "height"]},
                "labels": {"file": "people.csv", "columns": ["team"], "kind": "name"},
            }
        ],
        "edges": [{"relation": "knows", "file": "knows.csv"}],
    }


class Prep(Case):
    def test_own_files_with_text_ids(self):
        config = write_people(self.folder)
        out = self.path("people")
        said = sluice.prep.import_(config=config, root=self.folder, out=out, progress=False)
        self.assertEqual((said["nodes"], said["edges"]), (5, 4))
        dataset = sluice.Dataset(out)
        ids = dataset.ids()
        self.assertEqual(sorted(ids.tolist()), sorted(PEOPLE))
        self.assertEqual(dataset.ids(rows=dataset.dense_ids(["eve", "dee, jr"])).tolist(), ["eve", "dee, jr"])
        ages = dict(zip(ids.tolist(), dataset.features()[:, 0].tolist()))
        self.assertEqual(ages, {name: 20 + i for i, name in enumerate(PEOPLE)})
        names = dataset.node_type().labels.names
        teams = {name: names[label] for name, label in zip(ids.tolist(), dataset.labels())}
        self.assertEqual(teams["bob"], "red")
        (batch,) = list(sluice.Loader(dataset, ids=["bob", "eve"], fanout=[-1], shuffle=False))
        self.assertEqual(batch.external_ids(rows=batch.queries.nodes).tolist(), ["bob", "eve"])
        with self.fails(sluice.UsageError, "node 'eve' is given more than once"):
            sluice.Loader(dataset, ids=["bob", "eve", "eve"], fanout=[-1])
        source, target = batch.edge_index(0)
        found = set(zip(batch.external_ids()[source].tolist(), batch.external_ids()[target].tolist()))
        self.assertEqual(found, {("ann", "bob")})
        with self.fails(sluice.UsageError, "no node 'zoe'"):
            dataset.dense_ids(["zoe"])
        again = sluice.prep.describe([self.path("people.csv"), self.path("knows.csv")])
        self.assertIn("[[edges]]", again)

    def test_what_a_dataset_says_of_itself(self):
        out = self.path("graph")
        sluice.prep.generate("hetero", papers=500, authors=200, institutions=10, features=16, out=out, progress=False)
        with sluice.Dataset(out) as dataset:
            self.assertEqual(len(dataset.fingerprint), 16)
            self.assertEqual({node.name: node.count for node in dataset.schema.nodes}["paper"], 500)
            self.assertEqual(dataset.num_nodes, 710)
            self.assertEqual(dataset.features("paper").shape, (500, 16))
            self.assertEqual(dataset.ids("paper", rows=[3]).tolist(), [3])
            with self.fails(sluice.UsageError, "several node types"):
                dataset.features()
            with self.fails(sluice.UsageError, "did you mean 'paper'?"):
                dataset.features("papers")
            batch = next(iter(sluice.Loader(dataset, fanout=[3, 3], batch_size=16)))
            self.assertIsNone(batch.nodes("institution").x)
            self.assertEqual(batch.nodes("author").x.shape[1], 32)
            self.assertTrue(np.array_equal(batch.nodes("paper").x, dataset.features("paper", rows=batch.nodes("paper").ids)))
            self.assertEqual(len(batch.seeds_of("author")), 0)
            block = batch.block(-1, "writes")
            self.assertEqual(block.num_targets, len(batch.seeds_of("paper")))
        self.assertEqual(sluice.prep.inspect(out)["nodes"], 710)
        sluice.prep.verify(out, progress=False)

    def test_lists_and_numpys_values_are_options(self):
        for widths in ([8, 16], (8, 16), np.array([8, 16])):
            with self.subTest(widths=widths):
                out = self.path("kinds")
                sluice.prep.generate(
                    "hetero", relations=np.int64(2), kinds=2, items=60, sources=40, edges=300, features=4, classes=3,
                    widths=widths, dtypes=["f32", "f16"], overwrite=np.True_, out=out, progress=False,
                )
                kinds = {node.name: node.features[0] for node in sluice.Dataset(out).schema.nodes}
                self.assertEqual([(kinds[name].dim, kinds[name].dtype) for name in ("kind0", "kind1")], [(8, "f32"), (16, "f16")])

    def test_errors_are_the_packages(self):
        with self.fails(sluice.UsageError, "nonsense"):
            sluice.prep.generate("sbm", nodes=10, nonsense=3, out=self.path("x"))
        with self.fails(sluice.UsageError):
            sluice.prep.generate("smb", out=self.path("x"))
        with self.fails(sluice.DataError) as raised:
            sluice.prep.verify(self.path("nothing"), progress=False)
        self.assertEqual(raised.error.code, "data")
        config = write_people(self.folder)
        with open(self.path("knows.csv"), "a", encoding="utf-8") as file:
            file.write("eve,zoe\n")
        with self.fails(sluice.DataError, "zoe") as raised:
            sluice.prep.import_(config=config, root=self.folder, out=self.path("people"), progress=False)
        self.assertTrue(raised.error.place.file.endswith("knows.csv"), raised.error.place)
        self.assertEqual(raised.error.place.line, 6)
        self.assertNotIn("knows.csv:6", raised.error.message)
        with self.fails(sluice.UsageError) as raised:
            sluice.prep.import_(config={**config, "nodez": []}, root=self.folder, out=self.path("p"), progress=False)
        self.assertIn("did you mean 'nodes'?", raised.error.hint)
        self.assertEqual(raised.error.place.file, "config")

    def test_what_the_tool_warns_of_is_a_warning(self):
        config = write_people(self.folder)
        config["nodes"][0]["unknown_ids"] = "skip"
        with open(self.path("knows.csv"), "w", encoding="utf-8") as file:
            file.write("who,whom,since\nann,bob,1\neve,zoe,2\n")
        for progress in (False, True):  # on a terminal, too
            with self.subTest(progress=progress), self.assertWarnsRegex(UserWarning, "left out: 'since'") as raised:
                with mock.patch.object(sys, "stderr", io.StringIO()) as screen:
                    out = self.path(f"people{progress}")
                    said = sluice.prep.import_(config=config, root=self.folder, out=out, progress=progress)
            self.assertEqual(os.path.basename(raised.filename), os.path.basename(__file__))
            self.assertNotIn("since", screen.getvalue())
            self.assertEqual(said["relations"][0]["rows_skipped"], 1)
        with self.assertWarnsRegex(UserWarning, "person__knows__person: rows left out, .*: 1"):
            sluice.prep.import_(config=config, root=self.folder, out=self.path("again"), progress=False)

    def test_every_command_is_a_function(self):
        told = subprocess.run([sluice.prep.tool(), "--help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"^  ([a-z-]+)  ", told.split("Subcommands:")[1].split("Examples:")[0], re.MULTILINE)
        self.assertGreater(len(commands), 10)
        names = {"import": "import_"}
        for command in commands:
            self.assertIn(names.get(command, command.replace("-", "_")), sluice.prep.__all__)

    def test_tables_that_are_made_and_links_that_are_held_out(self):
        out, kept = self.path("graph"), self.path("kept")
        sluice.prep.generate("sbm", nodes=300, edges=3000, features=4, out=out, progress=False)
        sluice.prep.propagate(out, "sgc", hops=1, name="hop", dtype="f32", progress=False)
        with sluice.Dataset(out) as dataset:
            self.assertEqual([group.name for group in dataset.node_type().features], ["features", "hop"])
        held = sluice.prep.hold_out(out, out=kept, valid=0.1, test=0.2, seed=3, progress=False)
        self.assertLess(sluice.prep.inspect(kept)["edges"], sluice.prep.inspect(out)["edges"])
        self.assertTrue(held)
        rows = np.arange(600, dtype=np.float32).reshape(300, 2)
        head = json.dumps({"rows": {"dtype": "F32", "shape": [300, 2], "data_offsets": [0, 2400]}}).encode()
        with open(self.path("rows.safetensors"), "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head + rows.tobytes())
        sluice.prep.attach(out, self.path("rows.safetensors"), name="more", progress=False)
        with sluice.Dataset(out) as dataset:
            self.assertTrue(np.array_equal(dataset.features(group="more"), rows))

    def test_progress_is_one_line_in_a_notebook(self):
        screen = io.StringIO()
        with mock.patch.object(sys, "stderr", screen):
            sluice.prep.generate("sbm", nodes=1000, edges=4000, out=self.path("x"), progress=True)
        self.assertNotIn("\x1b", screen.getvalue())
        from sluice._child import _Said

        said = _Said(True)
        with mock.patch.object(sys, "stderr", screen):
            said.add("\r\x1b[Kedges:  12 %, 12 edges of 100 edges, 3 edges/s, 2 s left")
            said.add("\r\x1b[Kedges: 100 %, 100 edges of 100 edges, 9 edges/s, 0 s left\n12:00:00 info 9 edges: 3 edges/s\nerror: no\n  hint: so")
            said.end()
        text = screen.getvalue()
        self.assertIn("\redges:  12 %", text)
        self.assertIn("12:00:00 info 9 edges: 3 edges/s\n", text)
        self.assertNotIn("hint", text)
        self.assertEqual(said.errors, ["error: no", "  hint: so"])

    def test_ctrl_c_stops_the_tool_and_leaves_nothing(self):
        out = self.path("large")
        code = (
            "import sys, sluice\n"
            "print('ready', flush=True)\n"
            "try:\n"
            "    sluice.prep.generate('sbm', nodes=3_000_000, edges=60_000_000, features=64, out=sys.argv[1], progress=False)\n"
            "except KeyboardInterrupt:\n"
            "    sys.exit(3)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([sys.executable, "-c", code, out], stdout=subprocess.PIPE, text=True, env=environment) as child:
            child.stdout.readline()
            time.sleep(0.7)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(60), 3)
        self.assertFalse(os.path.exists(out))


class Results(Case):
    def test_predictions_by_id(self):
        if not os.access(TRAIN, os.X_OK):
            self.skipTest("sluice-train is not built here")
        config = write_people(self.folder)
        config["splits"] = [{"ratio": [0.6, 0.2, 0.2]}]
        data, run = self.path("people"), self.path("run")
        sluice.prep.import_(config=config, root=self.folder, out=data, progress=False)
        with open(self.path("run.toml"), "w", encoding="utf-8") as file:
            file.write(f'dataset.path = "{data}"\nrun.dir = "{run}"\nmemory.host = "64MiB"\ntrain.epochs = 1\n')
        for command in (
            ["run", self.path("run.toml")],
            ["predict", run, "--part", "all", "--out", os.path.join(run, "predictions.npy")],
            ["predict", run, "--part", "all", "--out", self.path("predictions.csv")],
        ):
            done = subprocess.run([TRAIN, *command], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        found = sluice.predictions(run)
        self.assertEqual(sorted(found.by_id()), sorted(PEOPLE))
        self.assertLessEqual(set(found.by_id().values()), {"red", "blue"})
        self.assertEqual(sluice.predictions(self.path("predictions.csv")).by_id(), found.by_id())

    def test_files_that_are_none(self):
        with self.fails(sluice.UsageError, "no predictions"):
            sluice.predictions(self.folder)
        np.save(self.path("a.npy"), np.zeros(3))
        with self.fails(sluice.DataError, "no file of predictions"):
            sluice.predictions(self.folder)
        with open(self.path("b.csv"), "w", encoding="utf-8") as file:
            file.write('source,target,probability\na,b,0.5\na,"c,d",\n')
        links = sluice.predictions(self.path("b.csv")).by_id()
        self.assertEqual(links[("a", "b")], 0.5)
        self.assertTrue(np.isnan(links[("a", "c,d")]))

    def write(self, text):
        with open(self.path("b.csv"), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path("b.csv")

    def test_targets_are_what_was_predicted(self):
        # Of nodes "target" is a value; of links it is an end.
        for header, rows, found in (
            ("id,target", "5,0.5\n6,2\n", {5: 0.5, 6: 2.0}),
            ("id,target", "5,1\n6,2\n", {5: 1.0, 6: 2.0}),
            ("id,target_0,target_1", "5,1,2.5\n", {5: (1.0, 2.5)}),
            ("source,target,class", "5,1,2\n", {(5, 1): 2}),
        ):
            with self.subTest(header=header):
                read = sluice.predictions(self.write(f"{header}\n{rows}"))
                self.assertEqual(read.by_id(), found)
        # None was made: NaN, never the number -1.
        self.assertTrue(np.isnan(sluice.predictions(self.write("id,target\n5,\n6,2\n")).values["target"][0]))
        records = np.array([(b"ann", 0.5), (b"bob", 2)], dtype=[("id", "S3"), ("target", "<f4")])
        np.save(self.path("a.npy"), records)
        self.assertEqual(sluice.predictions(self.path("a.npy")).by_id(), {"ann": 0.5, "bob": 2.0})

    def test_ids_stay_as_they_are_written(self):
        for ids in (["007", "7"], ["1_0", "2"], ["+1", "2"], [" 1", "2"], ["18446744073709551615", "2"]):
            with self.subTest(ids=ids):
                text = "id,class\n" + "".join(f"{each},{i}\n" for i, each in enumerate(ids))
                self.assertEqual(sluice.predictions(self.write(text)).by_id(), {each: i for i, each in enumerate(ids)})
        with self.fails(sluice.UsageError, "several rows of (1, 2)"):
            sluice.predictions(self.write("source,target,probability,type\n1,2,0.5,a\n1,2,0.5,b\n")).by_id()
        twice = sluice.predictions(self.write("source,target,probability\n1,2,0.5\n1,2,0.5\n"))
        self.assertEqual(twice.by_id(), {(1, 2): 0.5})
        with self.fails(sluice.DataError, "row 2 has 1 fields, the header 2"):
            sluice.predictions(self.write("id,class\n1,2\n3\n"))
        with open(self.path("b.csv"), "wb") as file:
            file.write(b"\xff\xfe")
        with self.fails(sluice.DataError, "not a file of predictions"):
            sluice.predictions(self.path("b.csv"))


class Stubs(Case):
    def test_the_stub_is_that_of_the_engine(self):
        try:
            import nanobind  # noqa: F401
        except ImportError:
            self.skipTest("nanobind is not installed here")
        package = os.path.dirname(sluice.__file__)
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(package)}
        command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "sluice._core", "-o", self.path("_core.pyi")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("_core.pyi"), encoding="utf-8") as made, open(
            os.path.join(SOURCE, "python", "sluice", "_core.pyi"), encoding="utf-8"
        ) as kept:
            self.assertEqual(made.read(), kept.read(), "write it anew: scripts/wheel --stubs")

    def test_everything_public_is_documented_and_typed(self):
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(sluice.__file__), "py.typed")))
        for name in sluice.__all__:
            thing = getattr(sluice, name)
            self.assertTrue(thing.__doc__, name)
            for attribute, value in vars(thing).items() if isinstance(thing, type) else ():
                if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{attribute}")
        for name in sluice.prep.__all__:
            self.assertTrue(getattr(sluice.prep, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
