"""The loader's mini-batches: against brute force on Cora, the same bits wherever data lies, shared out by rank."""

import json
import os
import signal
import subprocess
import unittest
from unittest import mock

import numpy as np

from support import TRAIN, Case, cora, cora_edges, in_edges, sluice


def hash_of(**options):
    with sluice.Loader(cora(), fanout=[5, 3], batch_size=64, part="all", hash=True, **options) as loader:
        for _ in loader.epoch(3):
            pass
        return loader.batches_xxh3


class Batches(Case):
    def test_all_in_edges_are_those_of_the_files(self):
        dataset = sluice.Dataset(cora())
        features, labels = dataset.features(), dataset.labels()
        sources_of = in_edges(cora_edges())
        seen = []
        for batch in sluice.Loader(dataset, fanout=[-1, -1], batch_size=30):
            self.assertEqual(batch.num_layers, 2)
            self.assertTrue(np.array_equal(batch.x, features[batch.ids]))
            self.assertTrue(np.array_equal(batch.labels, labels[batch.seeds]))
            self.assertTrue(np.array_equal(batch.ids[: len(batch.seeds)], batch.seeds))
            self.assertTrue(np.array_equal(batch.seeds[batch.queries.nodes], batch.queries.ids))
            self.assertEqual(len(set(batch.ids.tolist())), len(batch.ids))
            for layer in range(2):
                block = batch.block(layer)
                source, target = batch.edge_index(layer)
                self.assertEqual(block.num_edges, len(source))
                for row in range(block.num_targets):
                    found = batch.ids[source[target == row]].tolist()
                    self.assertEqual(sorted(found), sorted(sources_of.get(int(batch.ids[row]), ())))
                    begin, end = block.offsets[row], block.offsets[row + 1]
                    self.assertEqual(batch.ids[block.neighbours[begin:end]].tolist(), found)
            seen += batch.seeds.tolist()
        self.assertEqual(sorted(seen), dataset.split().train.tolist())

    def test_a_fanout_is_at_most_so_many_edges_that_are_there(self):
        edges = cora_edges()
        for sampler in ("neighbor", "labor"):
            for batch in sluice.Loader(cora(), sampler=sampler, fanout=[4, 2], batch_size=50, part="valid"):
                for layer, most in ((0, 2), (1, 4)):  # the first number is next to the seeds
                    source, target = batch.edge_index(layer)
                    self.assertTrue(all((int(batch.ids[s]), int(batch.ids[t])) in edges for s, t in zip(source, target)))
                    if len(target):
                        self.assertLessEqual(np.bincount(target).max(), most)

    def test_epochs_differ_and_come_again(self):
        loader = sluice.Loader(cora(), fanout=[3], batch_size=20)
        first = [batch.xxh3() for batch in loader]
        second = [batch.xxh3() for batch in loader]
        self.assertEqual(len(first), len(loader))
        self.assertNotEqual(first, second)
        self.assertEqual([batch.xxh3() for batch in loader.epoch(0)], first)
        self.assertEqual([batch.xxh3() for batch in loader.epoch(1, first_batch=2)], second[2:])
        self.assertEqual([batch.index for batch in loader.epoch(7, first_batch=5)], list(range(5, len(loader))))
        self.assertEqual({batch.epoch for batch in loader.epoch(7)}, {7})

    def test_nodes_by_the_users_own_ids(self):
        wanted = [5, 3, 2000]
        loader = sluice.Loader(cora(), ids=wanted, fanout=[2], batch_size=2, shuffle=False)
        self.assertEqual(np.concatenate([b.external_ids(rows=b.queries.nodes) for b in loader]).tolist(), wanted)

    def test_every_sampler_of_the_registry(self):
        known = [line.split(":")[0].strip() for line in sluice.loader_options().splitlines() if line.startswith("  ")]
        options = {"neighbor": {"fanout": [2]}, "labor": {"fanout": [2]}, "ladies": {}, "subgraph": {}, "walk": {}, "cluster": {}}
        for sampler, own in options.items():
            self.assertIn(sampler, known)
            batches = list(sluice.Loader(cora(), sampler={"type": sampler, **own}, batch_size=64, memory="256MiB"))
            self.assertEqual(sum(len(batch) for batch in batches), 140, sampler)
            self.assertTrue(all(batch.x.shape == (len(batch.ids), 1433) for batch in batches), sampler)


class SameBits(Case):
    def test_threads_places_and_budgets_change_nothing(self):
        wanted = hash_of(data_threads=1, features="memory", topology="memory")
        for threads in (1, 2, 4):
            for features in ("memory", "disk"):
                for topology in ("memory", "disk"):
                    got = hash_of(data_threads=threads, features=features, topology=topology, memory="64MiB")
                    self.assertEqual(got, wanted, (threads, features, topology))
        self.assertEqual(hash_of(features="disk", scratch=self.folder, io="pread", cache="lru", window=1), wanted)
        self.assertEqual(hash_of(features="disk", scratch=self.folder, plan="repack"), wanted)
        self.assertEqual(hash_of(features="disk", scratch=None), wanted)
        self.assertNotEqual(hash_of(seed=2), wanted)

    def test_plans_lie_beside_the_dataset_where_there_is_room(self):
        from sluice.loader import _scratch_beside

        dataset = sluice.Dataset(cora())
        self.assertEqual(_scratch_beside(dataset), os.path.dirname(os.path.realpath(cora())))
        with mock.patch("shutil.disk_usage", return_value=mock.Mock(free=2 * 2708 * 1433 * 4 - 1)):
            self.assertIsNone(_scratch_beside(dataset))
        with mock.patch("os.access", return_value=False):
            self.assertIsNone(_scratch_beside(dataset))
        options = sluice.Loader(dataset, fanout=[2], features="disk", memory="64MiB").resolved_options()
        self.assertIn(f'scratch = "{_scratch_beside(dataset)}"', options)

    def test_equal_to_the_training_tool(self):
        if not os.access(TRAIN, os.X_OK):
            self.skipTest("sluice-train is not built here")
        config = self.path("run.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(
                f'dataset.path = "{cora()}"\nrun.dir = "{self.path("run")}"\nmemory.host = "128MiB"\n'
                'model = { type = "graphsage", hidden = 8 }\nsampler.fanout = [7, 3]\n'
                "[train]\nepochs = 2\nbatch_size = 32\ncompute_threads = 1\nhash_batches = true\n[eval]\nbatch_size = 500\n"
            )
        done = subprocess.run([TRAIN, "run", config, "--json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        loader = sluice.Loader(cora(), fanout=[7, 3], batch_size=32, hash=True, memory="128MiB")
        valid, test = (
            loader.beside(part=part, fanout=[-1, -1], batch_size=500, shuffle=False, exact=True) for part in ("valid", "test")
        )
        chain = "0"
        for source, epoch in ((loader, 0), (valid, 0), (loader, 1), (valid, 0), (test, 0)):
            for _ in source.epoch(epoch, batches_xxh3=chain):
                pass
            chain = source.batches_xxh3
        self.assertEqual(int(chain, 16), int(str(json.loads(done.stdout)["batches_xxh3"]), 16))


class Starts(Case):
    def test_an_epoch_begins_at_its_end_at_the_latest(self):
        for features in ("disk", "memory"):
            loader = sluice.Loader(cora(), fanout=[3, 2], batch_size=30, features=features, memory="64MiB")
            batches = len(loader)
            self.assertEqual(len(list(loader.epoch(np.int64(1), first_batch=batches))), 0)
            for options in (
                {"first_batch": batches + 1},
                {"first_batch": -1},
                {"number": -1},
                {"number": 1.0},
                {"batches_xxh3": "zz"},
            ):
                with self.subTest(features=features, options=options), self.fails(sluice.UsageError):
                    loader.epoch(**{"number": 0, **options})
            self.assertEqual(sum(1 for _ in loader), batches)

    def test_a_fork_is_told(self):
        loader = sluice.Loader(cora(), fanout=[3, 2], batch_size=30)
        epoch = iter(loader)
        next(epoch)
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # it would wait for threads that it does not have
            told = 0
            for use in (lambda: next(epoch), lambda: iter(loader)):
                try:
                    use()
                except sluice.UsageError as error:
                    told += "another process" in error.message
            loader.close()
            os._exit(40 + told)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 42)
        self.assertEqual(sum(1 for _ in epoch), len(loader) - 1)

    def test_mini_batches_that_are_kept_are_named(self):
        loader = sluice.Loader(cora(), fanout=[-1, -1], batch_size=20, part="all", features="disk", memory="40MiB")
        with self.fails(sluice.ResourceError, "held="):
            kept = list(loader)
            self.fail(f"{len(kept)} mini-batches fitted")


class Ranks(Case):
    def test_ranks_share_an_epoch_out(self):
        options = dict(fanout=[3, 2], batch_size=30, part="all")

        def parts(batch):
            return batch.seeds.tolist(), batch.ids.tolist(), batch.x.sum(), batch.edge_index(0).tolist()

        alone = [parts(batch) for batch in sluice.Loader(cora(), **options).epoch(1)]
        for world in (2, 3, 7):
            shares = [sluice.Loader(cora(), rank=rank, world_size=world, **options) for rank in range(world)]
            self.assertEqual(sum(len(share) for share in shares), len(alone))
            for rank, share in enumerate(shares):
                self.assertEqual([parts(batch) for batch in share.epoch(1)], alone[rank::world])
            even = [sluice.Loader(cora(), rank=r, world_size=world, even=True, **options) for r in range(world)]
            self.assertEqual({len(share) for share in even}, {len(alone) // world})

    def test_a_rank_that_is_not_there(self):
        with self.fails(sluice.UsageError, "rank 2 of 2"):
            sluice.Loader(cora(), rank=2, world_size=2)


if __name__ == "__main__":
    unittest.main()
