"""Queries of links, of nodes and links at times, and of graphs."""

import unittest

import numpy as np

from support import Case, cora, cora_edges, sluice


def pairs_of(batch):
    sources = batch.seeds[batch.queries.sources]
    return list(zip(sources.tolist(), batch.seeds[batch.queries.destinations].tolist()))


class Links(Case):
    SHARES = [0.8, 0.1, 0.1]

    def loader(self, part, **options):
        return sluice.Loader(
            cora(), queries="links", part=part, edge_split=self.SHARES, fanout=[4, 4], batch_size=512, negatives=2, **options
        )

    def test_parts_share_the_edges_out_and_both_directions_stay_together(self):
        found = {part: {pair for batch in self.loader(part) for pair in pairs_of(batch)} for part in ("train", "valid", "test")}
        self.assertEqual(set().union(*found.values()), cora_edges())
        self.assertEqual(sum(map(len, found.values())), len(cora_edges()))
        for pairs in found.values():
            self.assertTrue(all((t, s) in pairs for s, t in pairs))
        self.assertAlmostEqual(len(found["train"]) / len(cora_edges()), 0.8, delta=0.03)

    def test_no_block_shows_what_is_asked_or_held_out(self):
        train = {pair for batch in self.loader("train") for pair in pairs_of(batch)}
        for part in ("train", "valid"):
            for batch in self.loader(part):
                asked = set(pairs_of(batch))
                source, target = batch.edge_index(0)
                seen = set(zip(batch.ids[source].tolist(), batch.ids[target].tolist()))
                self.assertLessEqual(seen, train)
                self.assertFalse(seen & asked)
                self.assertFalse(seen & {(t, s) for s, t in asked})

    def test_negatives_are_no_training_links(self):
        train = {pair for batch in self.loader("train") for pair in pairs_of(batch)}
        for kind in ("uniform", "degree", "in_batch"):
            for batch in self.loader("valid", negative_sampler=kind, filtered=True):
                rows = batch.queries.negatives
                self.assertEqual(rows.shape, (len(batch), 2))
                for (source, _), others in zip(pairs_of(batch), rows):
                    found = {(source, other) for other in batch.seeds[others[others >= 0]].tolist()}
                    self.assertFalse(found & train, kind)

    def test_links_of_ones_own(self):
        sources, targets = [0, 1, 2, 3], [9, 8, 7, 6]
        loader = sluice.Loader(cora(), links=(sources, targets), truth=[1, 0, 1, 0], fanout=[2], batch_size=3, shuffle=False)
        found = list(loader)
        self.assertEqual([pair for batch in found for pair in pairs_of(batch)], list(zip(sources, targets)))
        self.assertEqual(np.concatenate([batch.queries.truth for batch in found]).tolist(), [1, 0, 1, 0])

    def test_what_does_not_fit_is_said(self):
        with self.fails(sluice.UsageError, "no edge split 'default'", "edge_split"):
            sluice.Loader(cora(), queries="links")
        with self.fails(sluice.UsageError, "citez", "cites"):
            sluice.Loader(cora(), queries="links", part="all", relation="citez")
        with self.fails(sluice.UsageError, "entries"):
            sluice.Loader(cora(), links=([1, 2], [3]))
        with self.fails(sluice.UsageError, "5000"):
            sluice.Loader(cora(), links=([1, 5000], [3, 4]))


class Timed(Case):
    def setUp(self):
        super().setUp()
        self.data = self.path("events")
        sluice.prep.generate("temporal", nodes=300, events=4000, features=8, out=self.data, progress=False)

    def check(self, batch):
        times = batch.nodes().times
        for layer in range(batch.num_layers):
            source, target = batch.edge_index(layer)
            deltas = batch.block(layer).deltas
            self.assertTrue(np.all(deltas > 0))
            self.assertTrue(np.array_equal(times[source], times[target] - deltas))

    def test_events_in_the_order_of_time(self):
        times = np.sort(sluice.Dataset(self.data).edge_times())
        seen = []
        shares = [0.5, 0.25, 0.25]
        for part in ("train", "valid", "test"):
            loader = sluice.Loader(
                self.data, queries="links", sampler="temporal", part=part, edge_split=shares, shuffle=False, batch_size=300, negatives=1
            )
            for batch in loader:
                self.check(batch)
                seen += batch.queries.times.tolist()
        self.assertEqual(seen, times.tolist())

    def test_nodes_at_times_of_ones_own(self):
        when = int(np.median(sluice.Dataset(self.data).edge_times()))
        loader = sluice.Loader(self.data, nodes=[1, 2, 3, 4], times=[when, when, when + 9, when], sampler="temporal", shuffle=False)
        (batch,) = list(loader)
        self.check(batch)
        self.assertEqual(batch.queries.times.tolist(), [when, when, when + 9, when])

    def test_a_sampler_that_goes_by_time_must_have_times(self):
        with self.fails(sluice.UsageError, "times"):
            sluice.Loader(cora(), queries="links", part="all", sampler="temporal")


class Graphs(Case):
    def test_whole_graphs(self):
        text = self.path("graphs.txt")
        with open(text, "w", encoding="utf-8") as file:
            file.write("3\n")
            for label, size in ((0, 3), (1, 2), (0, 4)):
                file.write(f"{size} {label}\n")
                for node in range(size):
                    others = [other for other in range(size) if other != node]
                    file.write(f"0 {len(others)} {' '.join(map(str, others))}\n")
        out = self.path("graphs")
        sluice.prep.import_(text, layout="files", out=out, progress=False)
        dataset = sluice.Dataset(out)
        offsets, labels = dataset.graphs()
        self.assertEqual(offsets.tolist(), [0, 3, 5, 9])
        loader = sluice.Loader(dataset, queries="graphs", part="all", batch_size=2, shuffle=False, fanout=[-1])
        first, second = list(loader)
        self.assertEqual(first.labels.tolist() + second.labels.tolist(), labels.tolist())
        self.assertEqual(first.queries.offsets.tolist(), [0, 3, 5])
        self.assertEqual(first.seeds[first.queries.nodes].tolist(), [0, 1, 2, 3, 4])
        self.assertEqual([b.queries.ids.tolist() for b in sluice.Loader(dataset, graphs=[2], fanout=[-1])], [[2]])


if __name__ == "__main__":
    unittest.main()
