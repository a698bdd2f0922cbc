"""Errors are exceptions with a code, a message, a hint and a place; Ctrl-C comes through while the loader waits."""

import os
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

from support import Case, cora, run_python, sluice

WAITS = """
import sys, time, sluice
loader = sluice.Loader(sys.argv[1], fanout=[15, 15, 15], batch_size=100000, part="all", features="disk", memory="2GiB")
print("ready", flush=True)
try:
    while True:
        for batch in loader:
            pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(3)
"""


class Errors(Case):
    def test_classes_by_code(self):
        with self.fails(sluice.DataError) as raised:
            sluice.Dataset(self.path("nothing"))
        self.assertEqual(raised.error.code, "data")
        self.assertIn("nothing", raised.error.place.file)
        self.assertTrue(issubclass(sluice.DataError, sluice.Error))
        with self.fails(sluice.ResourceError, "set memory to at least", "the loader does not fit") as raised:
            sluice.Loader(cora(), memory="1MiB", features="memory", topology="memory")
        self.assertEqual(raised.error.code, "resource")
        self.assertIn("total", raised.error.message)
        # What the hint says is enough is enough.
        least = raised.error.hint.split('"')[1]
        self.assertEqual(len(list(sluice.Loader(cora(), memory=least, features="memory", topology="memory"))), 1)

    def test_options_teach(self):
        for options, words in (
            ({"fanuot": [2]}, ("unknown option 'fanuot'", "did you mean 'fanout'?")),
            ({"bach_size": 2}, ("did you mean 'batch_size'?",)),
            ({"sampler": "neighbour"}, ("there is no \"neighbour\"", "neighbor")),
            ({"sampler": {"type": "labor", "fanuot": [1]}}, ("sampler.fanuot", "fanout")),
            ({"fanout": "many"}, ("sampler.fanout", "expected list of integers")),
            ({"features": "disc"}, ("\"disc\"", "did you mean \"disk\"?")),
            ({"memory": "lots"}, ("memory",)),
            ({"part": "training"}, ("part", "train")),
            ({"batch_size": 0}, ("batch_size",)),
            ({"split": "other"}, ("no split 'other'", "default")),
            ({"node_type": "papers"}, ("papers", "paper")),
            ({"nodes": [99999]}, ("99999",)),
            ({"ids": [99999]}, ("99999",)),
            ({"cache": "mru"}, ("cache", "lru")),
        ):
            with self.subTest(options=options), self.fails(sluice.UsageError, *words):
                sluice.Loader(cora(), **options)

    def test_lists_of_what_are_no_numbers(self):
        dataset = sluice.Dataset(cora())
        mask = np.arange(dataset.num_nodes) < 3
        for asked, words in (
            (mask, ("a mask", "numpy.flatnonzero(mask)")),
            ([1.0, 2.5], ("2.5 is no whole number",)),
            ([1.0, np.nan], ("nan is no whole number",)),
            ([1, None], ("no whole number",)),
            ([2**63], ("9223372036854775808",)),
            ([2**70], ("beyond 64 bits",)),
            (["3"], ("text", "dense_ids")),
            (np.array(["2020-01-01"], dtype="datetime64[D]"), ("datetime64[D]", "ticks")),
        ):
            with self.subTest(asked=asked):
                for give in (
                    lambda: dataset.features(rows=asked),
                    lambda: sluice.Loader(cora(), nodes=asked),
                    lambda: sluice.Loader(cora(), links=(asked, asked)),
                ):
                    with self.fails(sluice.UsageError, *words):
                        give()
        for asked in (mask, [1.5], [np.nan], ["1.0"], ["one"], [2**63]):
            with self.subTest(ids=asked), self.fails(sluice.UsageError):
                dataset.dense_ids(asked)
        # Whole numbers are taken however they are kept.
        for asked in ([4.0, 2.0], np.array([4, 2], dtype=np.uint8), np.array([4, 2], dtype=object), (4, 2)):
            self.assertTrue(np.array_equal(dataset.features(rows=asked), dataset.features(rows=[4, 2])))
            self.assertEqual(dataset.dense_ids(asked).tolist(), [4, 2])
        self.assertEqual(dataset.dense_ids(["4", "2"]).tolist(), [4, 2])
        self.assertEqual(dataset.features(rows=[]).shape, (0, 1433))

    def test_nodes_and_links_are_named_as_they_were_given(self):
        for options, words in (
            ({"nodes": [1, 2, 1]}, ("node 1", "more than once")),
            ({"nodes": [3, -1]}, ("node -1",)),
            ({"links": ([0, -2], [1, 1])}, ("node -2",)),
            ({"links": np.array([[0, 1], [1, 2], [2, 3]])}, ("links has 3 entries", "pairs.T")),
        ):
            with self.subTest(options=options), self.fails(sluice.UsageError, *words):
                sluice.Loader(cora(), **options)
        with self.fails(sluice.UsageError, "row -1"):
            sluice.Dataset(cora()).features(rows=[-1])

    def test_layers_that_are_not_there(self):
        batch = next(iter(sluice.Loader(cora(), fanout=[2, 2], batch_size=4)))
        for layer in (2, -3, 7):
            with self.fails(sluice.UsageError, f"layer {layer}", "has 2"):
                batch.block(layer)
        self.assertEqual(batch.block(-1).num_targets, batch.block(1).num_targets)

    def test_a_dataset_stays_where_it_was_opened(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        folder, name = os.path.split(cora())
        os.chdir(folder)
        dataset = sluice.Dataset(name)
        self.assertEqual(dataset.path, name)
        os.chdir(self.folder)
        self.assertEqual(len(dataset.labels()), 2708)
        self.assertEqual(len(list(sluice.Loader(dataset, fanout=[2], batch_size=1024))), 1)

    def test_closed_ones_say_so(self):
        loader = sluice.Loader(cora())
        epoch = iter(loader)
        loader.close()
        with self.fails(sluice.UsageError):
            next(epoch)
        with self.fails(sluice.UsageError, "closed"):
            iter(loader)
        with sluice.Dataset(cora()) as dataset:
            self.assertEqual(dataset.features(rows=[1, 2]).shape, (2, 1433))
        with self.fails(sluice.UsageError, "closed"):
            dataset.features()

    def test_one_epoch_at_a_time(self):
        loader = sluice.Loader(cora(), batch_size=10)
        first = iter(loader)
        next(first)
        second = iter(loader)
        with self.fails(sluice.UsageError, "another epoch was begun"):
            next(first)
        self.assertEqual(len(list(second)), len(loader))

    def test_damage_is_found(self):
        data = self.path("data")
        sluice.prep.generate("sbm", nodes=2000, edges=8000, features=16, out=data, progress=False)
        (folder,) = [at for at, _, names in os.walk(data) if "features.bin" in names]
        with open(os.path.join(folder, "features.bin"), "r+b") as file:
            file.seek(5000)
            file.write(b"\xff\xfe\xfd\xfc")
        with self.fails(sluice.DataError, "features.bin"):
            for _ in sluice.Loader(data, features="disk", part="all", fanout=[1]):
                pass


class Interrupts(Case):
    def test_ctrl_c_while_a_mini_batch_is_waited_for(self):
        data = self.path("data")
        sluice.prep.generate("sbm", nodes=400_000, edges=4_000_000, features=64, out=data, progress=False)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([sys.executable, "-c", WAITS, data], stdout=subprocess.PIPE, text=True, env=environment) as child:
            self.assertEqual(child.stdout.readline().strip(), "ready")
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            begin = time.monotonic()
            self.assertEqual(child.stdout.readline().strip(), "interrupted")
            self.assertLess(time.monotonic() - begin, 2)
            self.assertEqual(child.wait(60), 3)

    def test_others_run_while_it_waits(self):
        done = run_python(
            "import sys, threading, time, sluice\n"
            "loader = sluice.Loader(sys.argv[1], fanout=[15, 15], batch_size=2708, part='all', features='disk', data_threads=1)\n"
            "ticks, stop = [], threading.Event()\n"
            "def tick():\n"
            "    while not stop.is_set():\n"
            "        ticks.append(time.monotonic()); time.sleep(0.001)\n"
            "thread = threading.Thread(target=tick); thread.start()\n"
            "begin = time.monotonic()\n"
            "for _ in range(5):\n"
            "    for batch in loader: pass\n"
            "took = time.monotonic() - begin\n"
            "stop.set(); thread.join()\n"
            "assert len(ticks) > took / 0.02, (len(ticks), took)\n",
            cora(),
        )
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
