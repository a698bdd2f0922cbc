"""sluice.pyg: mini-batches against brute force and PyG's own models, graphs written and read again, what is refused.

Skipped, with a line, where PyTorch or PyG is not installed; that `import sluice` loads neither is tested everywhere.
"""

import os
import random
import unittest
import warnings

import numpy as np

from support import Case, cora, run_python, sluice

try:
    import torch
    import torch_geometric.typing
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.nn import SAGEConv
    from torch_geometric.utils import trim_to_layer

    from sluice import pyg
except (ImportError, OSError) as problem:
    MISSING = str(problem)
else:
    MISSING = ""

needs_pyg = unittest.skipIf(MISSING, f"PyTorch or PyG is not installed here: {MISSING}")
SEED = int(os.environ.get("SLUICE_TEST_SEED", random.randrange(1 << 30)))
print(f"seed {SEED}")


def pairs(edge_index):
    return list(map(tuple, edge_index.t().tolist()))


def random_graph(nodes=300, edges=2400, **more):
    generator = torch.Generator().manual_seed(SEED)
    x = torch.randn(nodes, 12, generator=generator)
    edge_index = torch.randint(nodes, (2, edges), generator=generator)
    return Data(x=x, edge_index=edge_index, y=torch.randint(5, (nodes,), generator=generator), **more)


def random_hetero():
    generator = torch.Generator().manual_seed(SEED)
    data = HeteroData()
    data["paper"].x = torch.randn(200, 8, generator=generator)
    data["paper"].y = torch.randint(3, (200,), generator=generator)
    data["paper"].train_mask = torch.rand(200, generator=generator) < 0.4
    data["author"].x = torch.randn(150, 6, generator=generator)
    data["topic"].num_nodes = 20
    for source, relation, target, count in (
        ("author", "writes", "paper", 900), ("paper", "cites", "paper", 800), ("paper", "rev_writes", "author", 900),
        ("topic", "of", "paper", 300),
    ):
        ends = [torch.randint(data[kind].num_nodes, (count,), generator=generator) for kind in (source, target)]
        data[source, relation, target].edge_index = torch.stack(ends)
    data["paper", "cites", "paper"].edge_attr = torch.randn(800, 3, generator=generator)
    return data


class Lazy(Case):
    def test_importing_sluice_loads_no_pytorch(self):
        done = run_python("import sys, sluice; assert 'torch' not in sys.modules and 'torch_geometric' not in sys.modules")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_without_pytorch_the_error_says_what_to_install(self):
        done = run_python(
            "import sys; sys.modules['torch'] = None\n"
            "import sluice\n"
            "try: sluice.pyg\n"
            "except ImportError as error: assert 'pip install torch torch_geometric' in str(error), error\n"
            "else: raise SystemExit('no error')\n"
        )
        self.assertEqual(done.returncode, 0, done.stderr)


@needs_pyg
class Homogeneous(Case):
    def setUp(self):
        super().setUp()
        self.data = random_graph()
        self.out = self.path("data")
        pyg.write(self.data, self.out, progress=False)

    def check(self, batch, fanout):
        """That a mini-batch is a part of the graph, and each node drew once, at the hop that found it."""
        data = self.data
        self.assertTrue(torch.equal(batch.x, data.x[batch.n_id]))
        self.assertTrue(torch.equal(batch.y, data.y[batch.n_id[: batch.batch_size]]))
        self.assertTrue(torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id]))
        self.assertEqual(len(set(batch.n_id.tolist())), len(batch.n_id))
        self.assertEqual(len(set(batch.e_id.tolist())), len(batch.e_id))
        self.assertEqual(batch.num_sampled_nodes[0], batch.batch_size)
        self.assertEqual(sum(batch.num_sampled_nodes), batch.num_nodes)
        self.assertEqual(sum(batch.num_sampled_edges), batch.num_edges)
        degrees = torch.bincount(data.edge_index[1], minlength=data.num_nodes)
        row, edge = 0, 0
        for hop, most in enumerate(fanout):
            size, count = batch.num_sampled_nodes[hop], batch.num_sampled_edges[hop]
            source, target = batch.edge_index[:, edge : edge + count]
            drawn = torch.bincount(target, minlength=row + size)[row:]
            self.assertEqual(len(drawn), size)
            self.assertTrue(torch.equal(drawn, degrees[batch.n_id[row : row + size]].clamp(max=most if most >= 0 else data.num_edges)))
            self.assertTrue(bool((target >= row).all()) if count else True)
            row, edge = row + size, edge + count
            # The next hop's nodes are those that this one found.
            found = {node for node in source.tolist() if node >= row}
            self.assertEqual(found, set(range(row, row + batch.num_sampled_nodes[hop + 1])))

    def test_mini_batches_are_parts_of_the_graph(self):
        for fanout in ([-1, -1], [4, 2], [3, 0, 2], [2, 2, 2]):
            for sampler in (None, "labor"):
                with self.subTest(fanout=fanout, sampler=sampler):
                    seen = []
                    for batch in pyg.NeighborLoader(self.out, fanout, batch_size=64, edge_ids=True, sampler=sampler):
                        self.assertIsInstance(batch, Data)
                        self.check(batch, fanout)
                        seen += batch.input_id.tolist()
                    self.assertEqual(seen, list(range(300)))

    def test_fields_are_those_of_pyg(self):
        batch = next(iter(pyg.NeighborLoader(self.out, [3, 3], batch_size=10)))
        self.assertEqual(
            set(batch.keys()),
            {"x", "y", "edge_index", "n_id", "input_id", "batch_size", "num_nodes", "num_sampled_nodes", "num_sampled_edges"},
        )
        self.assertEqual({batch.edge_index.dtype, batch.y.dtype, batch.n_id.dtype, batch.input_id.dtype}, {torch.int64})
        self.assertTrue(batch.validate())
        self.assertTrue(batch.edge_index.is_contiguous())
        if not (torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE):
            return  # PyG has no loader to compare with
        theirs = next(iter(NeighborLoader(self.data, [3, 3], batch_size=10)))
        self.assertLessEqual(set(theirs.keys()) - {"e_id"}, set(batch.keys()))

    def test_full_neighbourhoods_predict_as_the_whole_graph_does(self):
        torch.manual_seed(SEED)
        layers = [SAGEConv(12, 16), SAGEConv(16, 5)]

        def forward(x, edge_index):
            return layers[1](layers[0](x, edge_index).relu(), edge_index)

        wanted = forward(self.data.x, self.data.edge_index)
        for subgraph_type in ("directional", "induced"):
            for batch in pyg.NeighborLoader(self.out, [-1, -1], batch_size=50, subgraph_type=subgraph_type):
                out = forward(batch.x, batch.edge_index)[: batch.batch_size]
                self.assertTrue(torch.allclose(out, wanted[batch.input_id], atol=1e-5))

    def test_trimming_by_hops_changes_no_prediction(self):
        torch.manual_seed(SEED)
        layers = [SAGEConv(12, 16), SAGEConv(16, 16), SAGEConv(16, 5)]
        for batch in pyg.NeighborLoader(self.out, [3, 2, 2], batch_size=50):
            whole, x, edge_index = batch.x, batch.x, batch.edge_index
            for i, layer in enumerate(layers):
                whole = layer(whole, batch.edge_index)
                x, edge_index, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
                x = layer(x, edge_index)
            size = batch.batch_size
            self.assertTrue(torch.allclose(x[:size], whole[:size], atol=1e-5))

    def test_samplers_that_give_all_edges_among_their_nodes(self):
        every = pairs(self.data.edge_index)
        for options in (
            {"num_neighbors": [2, 2], "subgraph_type": "induced"},
            {"num_neighbors": None, "sampler": {"type": "walk", "length": 3}},
            {"num_neighbors": None, "sampler": {"type": "cluster", "clusters": 10}},
        ):
            with self.subTest(options=options):
                for batch in pyg.NeighborLoader(self.out, batch_size=20, edge_ids=True, **options):
                    rows = set(batch.n_id.tolist())
                    among = [edge for edge in every if edge[0] in rows and edge[1] in rows]
                    self.assertEqual(sorted(pairs(batch.n_id[batch.edge_index])), sorted(among))
                    self.assertTrue(torch.equal(batch.n_id[: batch.batch_size], batch.input_id))
                    self.assertNotIn("num_sampled_edges", batch)

    def test_whom_it_asks_about(self):
        mask = self.data.y == 2
        ids = [7, 3, 299, 0]
        for given, wanted in ((mask, mask.nonzero().view(-1).tolist()), (torch.tensor(ids), range(4)), (ids, range(4)), (None, range(300))):
            loader = pyg.NeighborLoader(self.out, [2], given, batch_size=50)
            self.assertEqual(torch.cat([batch.input_id for batch in loader]).tolist(), list(wanted))
        loader = pyg.NeighborLoader(self.out, [2], torch.tensor(ids), batch_size=3, shuffle=True)
        for _ in range(3):
            for batch in loader:
                self.assertEqual(torch.tensor(ids)[batch.input_id].tolist(), batch.n_id[: batch.batch_size].tolist())

    def test_epochs_and_the_last_mini_batch(self):
        loader = pyg.NeighborLoader(self.out, [2], batch_size=64, shuffle=True, seed=5)
        first, second = ([batch.n_id for batch in loader] for _ in range(2))
        self.assertEqual(len(loader), 5)
        self.assertFalse(torch.equal(first[0], second[0]))
        self.assertTrue(all(map(torch.equal, first, [batch.n_id for batch in loader.epoch(0)])))
        whole = pyg.NeighborLoader(self.out, [2], batch_size=64, drop_last=True)
        self.assertEqual((len(whole), [batch.batch_size for batch in whole]), (4, [64] * 4))
        self.assertEqual(len(pyg.NeighborLoader(self.out, [2], batch_size=100, drop_last=True)), 3)
        shares = [pyg.NeighborLoader(self.out, [2], batch_size=64, drop_last=True, rank=rank, world_size=2) for rank in (0, 1)]
        shares += [pyg.NeighborLoader(self.out, [2], batch_size=64, drop_last=True, rank=rank, world_size=3, even=True) for rank in range(3)]
        self.assertEqual([len(share) for share in shares], [len(list(share)) for share in shares])

    def test_tensors_are_views_of_the_engines_memory(self):
        loader = pyg.NeighborLoader(self.out, [2], batch_size=64)
        batch = next(iter(loader.loader.epoch(0)))
        data = loader._convert(batch)
        self.assertEqual(data.x.data_ptr(), batch.x.__array_interface__["data"][0])
        self.assertEqual(data.n_id.data_ptr(), batch.ids.__array_interface__["data"][0])
        kept = data.x.clone()
        del batch
        loader.close()
        self.assertTrue(torch.equal(data.x, kept))

    def test_a_with_statement_closes_the_loader(self):
        with pyg.NeighborLoader(self.out, [2], batch_size=64) as loader:
            self.assertEqual(next(iter(loader)).batch_size, 64)
        with self.assertRaises(sluice.UsageError):
            list(loader)

    def test_workers_go_and_transform_is_called(self):
        loader = pyg.NeighborLoader(
            self.out, [2], batch_size=64, num_workers=2, persistent_workers=True, prefetch_factor=4, is_sorted=True,
            transform=lambda data: data.n_id,
        )
        self.assertEqual(len(torch.cat(list(loader)).unique()), 300)
        self.assertIn("data_threads = 2", loader.loader.resolved_options())

    def test_what_has_no_counterpart_is_refused(self):
        load = pyg.NeighborLoader
        for options, words in (
            ({"disjoint": True}, ("disjoint", "batch_size=1")),
            ({"time_attr": "time"}, ("time_attr", "temporal")),
            ({"subgraph_type": "bidirectional"}, ("bidirectional", "induced")),
            ({"sampler": "ladies"}, ("'ladies'", "labor")),
            ({"generator": torch.Generator()}, ("generator", "seed=")),
            ({"input_nodes": "papers"}, ("'papers'", "train")),
            ({"input_nodes": torch.ones(4, dtype=torch.bool)}, ("4 values", "300")),
            ({"input_nodes": torch.ones(4)}, ("float32",)),
            ({"input_nodes": [3, 5, 3]}, ("node 3 more than once",)),
            ({"input_nodes": "train"}, ("split",)),
            ({"bach_size": 3}, ("did you mean 'batch_size'?",)),
        ):
            with self.subTest(options=list(options)), self.fails(sluice.UsageError, *words):
                next(iter(load(self.out, **{"num_neighbors": [2], **options})))
        with self.fails(sluice.UsageError, "cites"):
            load(self.out, {("node", "cites", "node"): [2]})


@needs_pyg
class Hetero(Case):
    def setUp(self):
        super().setUp()
        self.data = random_hetero()
        self.out = self.path("data")
        pyg.write(self.data, self.out, skip=["none"], progress=False)

    def test_mini_batches_are_parts_of_the_graph(self):
        fanouts = {
            ("author", "writes", "paper"): [3, 2], ("paper", "cites", "paper"): [4], ("paper", "rev_writes", "author"): [0, 5],
            ("topic", "of", "paper"): [-1, -1],
        }
        loader = pyg.NeighborLoader(self.out, fanouts, ("paper", "train"), batch_size=16, edge_ids=True)
        seen = []
        for batch in loader:
            self.assertIsInstance(batch, HeteroData)
            self.assertEqual(batch.metadata(), self.data.metadata())
            size = batch["paper"].batch_size
            self.assertTrue(torch.equal(batch["paper"].y, self.data["paper"].y[batch["paper"].n_id[:size]]))
            seen += batch["paper"].input_id.tolist()
            self.assertEqual(batch["author"].num_sampled_nodes[0], 0)
            for name in ("paper", "author"):
                self.assertTrue(torch.equal(batch[name].x, self.data[name].x[batch[name].n_id]))
            self.assertNotIn("x", batch["topic"])
            self.assertEqual(batch["topic"].num_nodes, len(batch["topic"].n_id))
            for ends, counts in fanouts.items():
                store = batch[ends]
                ids = torch.stack([batch[kind].n_id[rows] for kind, rows in zip((ends[0], ends[2]), store.edge_index)])
                self.assertTrue(torch.equal(ids, self.data[ends].edge_index[:, store.e_id]))
                self.assertEqual(sum(store.num_sampled_edges), store.num_edges)
                for hop, count in enumerate(store.num_sampled_edges):
                    if hop >= len(counts) or counts[hop] == 0:
                        self.assertEqual(count, 0)
            store = batch["paper", "cites", "paper"]
            self.assertTrue(torch.equal(store.edge_attr, self.data["paper", "cites", "paper"].edge_attr[store.e_id]))
        self.assertEqual(seen, self.data["paper"].train_mask.nonzero().view(-1).tolist())

    def test_forms_of_input_nodes(self):
        def asked(given):
            loader = pyg.NeighborLoader(self.out, [2], given, batch_size=500)
            return next(iter(loader))

        self.assertEqual(asked("author")["author"].batch_size, 150)
        self.assertEqual(asked(("author", None))["author"].batch_size, 150)
        self.assertEqual(asked(("author", torch.tensor([5, 2])))["author"].input_id.tolist(), [0, 1])
        self.assertEqual(asked("train")["paper"].batch_size, int(self.data["paper"].train_mask.sum()))
        self.assertNotIn("y", asked("author")["author"])
        self.assertEqual(asked(["paper", None])["paper"].batch_size, 200)
        batch = next(iter(pyg.NeighborLoader(self.out, {ends: [0] for ends in self.data.edge_types}, "paper", batch_size=9)))
        self.assertEqual((batch["author"].x.shape, batch["topic"].num_nodes), ((0, 6), 0))
        with self.fails(sluice.UsageError, "several node types"):
            asked(None)
        with self.fails(sluice.UsageError, "did you mean 'author'?"):
            asked(("authors", None))

    def test_the_whole_of_two_hops(self):
        batch = next(iter(pyg.NeighborLoader(self.out, [-1, -1], ("paper", [11]), batch_size=1)))
        edges = set()
        into = {("paper", 11)}
        for _ in range(2):
            new = set()
            for ends in self.data.edge_types:
                for source, target in pairs(self.data[ends].edge_index):
                    if (ends[2], target) in into:
                        edges.add((ends, source, target))
                        new.add((ends[0], source))
            into |= new
        found = set()
        for ends in batch.edge_types:
            rows = zip(*(batch[kind].n_id[row].tolist() for kind, row in zip((ends[0], ends[2]), batch[ends].edge_index)))
            found |= {(ends, source, target) for source, target in rows}
        self.assertEqual(found, edges)

    def test_metadata(self):
        self.assertEqual(pyg.metadata(self.out), self.data.metadata())


@needs_pyg
class Links(Case):
    def setUp(self):
        super().setUp()
        self.data = random_graph(edges=600)
        self.out = self.path("data")
        pyg.write(self.data, self.out, progress=False)
        generator = torch.Generator().manual_seed(SEED)
        self.asked = torch.randint(300, (2, 90), generator=generator)

    def test_listed_links_with_labels(self):
        label = torch.arange(90) % 4
        loader = pyg.LinkNeighborLoader(self.out, [3], self.asked, label, batch_size=32, shuffle=True)
        seen = []
        for batch in loader:
            self.assertTrue(torch.equal(batch.n_id[batch.edge_label_index], self.asked[:, batch.input_id]))
            self.assertTrue(torch.equal(batch.edge_label, label[batch.input_id]))
            self.assertTrue(torch.equal(batch.x, self.data.x[batch.n_id]))
            # Neither the links nor their reverse are seen.
            links = set(pairs(batch.n_id[batch.edge_label_index]))
            seen_edges = set(pairs(batch.n_id[batch.edge_index]))
            self.assertFalse(links & seen_edges)
            self.assertEqual(sum(batch.num_sampled_edges), batch.num_edges)
            seen += batch.input_id.tolist()
        self.assertEqual(sorted(seen), list(range(90)))
        plain = next(iter(pyg.LinkNeighborLoader(self.out, [3], self.asked, batch_size=32)))
        self.assertNotIn("edge_label", plain)  # as with PyG, whose stores drop what is None

    def test_binary_negatives(self):
        loader = pyg.LinkNeighborLoader(self.out, [3], self.asked, neg_sampling_ratio=2.0, batch_size=30)
        for batch in loader:
            self.assertEqual(batch.edge_label.tolist(), [1.0] * 30 + [0.0] * 60)
            sources = batch.n_id[batch.edge_label_index[0]]
            self.assertTrue(torch.equal(sources[30:], sources[:30].repeat_interleave(2)))
        label = torch.arange(90) % 4
        loader = pyg.LinkNeighborLoader(self.out, [3], self.asked, label, neg_sampling="binary", batch_size=90)
        self.assertEqual(next(iter(loader)).edge_label.tolist(), (label + 1).tolist() + [0] * 90)

    def test_triplets(self):
        for amount in (1, 3):
            loader = pyg.LinkNeighborLoader(self.out, [3], self.asked, neg_sampling={"mode": "triplet", "amount": amount}, batch_size=90)
            (batch,) = list(loader)
            self.assertEqual(batch.dst_neg_index.shape, (90,) if amount == 1 else (90, 3))
            self.assertTrue(torch.equal(batch.n_id[batch.src_index], self.asked[0]))
            self.assertTrue(torch.equal(batch.n_id[batch.dst_pos_index], self.asked[1]))
            self.assertNotIn("edge_label_index", batch)

    def test_parts_of_a_split(self):
        shares = {"edge_split": [0.8, 0.1, 0.1], "batch_size": 64}
        found = [
            edge
            for part in ("train", "valid", "test")
            for batch in pyg.LinkNeighborLoader(self.out, [2], part, **shares)
            for edge in pairs(batch.n_id[batch.edge_label_index])
        ]
        self.assertEqual(sorted(found), sorted(pairs(self.data.edge_index)))
        every = [e for b in pyg.LinkNeighborLoader(self.out, [2], None, batch_size=64) for e in pairs(b.n_id[b.edge_label_index])]
        self.assertEqual(sorted(every), sorted(found))
        with self.fails(sluice.UsageError, "drop_last"):
            pyg.LinkNeighborLoader(self.out, [2], "train", drop_last=True, **shares)

    def test_links_between_types(self):
        data, out = random_hetero(), self.path("hetero")
        pyg.write(data, out, progress=False)
        ends = ("author", "writes", "paper")
        asked = data[ends].edge_index[:, :50]
        loader = pyg.LinkNeighborLoader(out, [2, 2], (ends, asked), neg_sampling="binary", batch_size=50)
        (batch,) = list(loader)
        sources, targets = batch[ends].edge_label_index
        self.assertTrue(torch.equal(batch["author"].n_id[sources[:50]], asked[0]))
        self.assertTrue(torch.equal(batch["paper"].n_id[targets[:50]], asked[1]))
        self.assertEqual(batch[ends].input_id.tolist(), list(range(50)))
        (batch,) = list(pyg.LinkNeighborLoader(out, [2, 2], (ends, asked), neg_sampling="triplet", batch_size=50))
        self.assertTrue(torch.equal(batch["author"].n_id[batch["author"].src_index], asked[0]))
        self.assertEqual(batch["paper"].dst_neg_index.shape, (50,))

    def test_what_is_refused(self):
        for options, words in (
            ({"neg_sampling_ratio": 0.5}, ("0.5", "whole number")),
            ({"neg_sampling": "ternary"}, ("ternary", "binary")),
            ({"neg_sampling": {"mode": "binary", "src_weight": torch.ones(300)}}, ("src_weight", "degree")),
            ({"edge_label": torch.ones(3)}, ("3 values for 90",)),
            ({"edge_label": torch.ones(90), "neg_sampling": "triplet"}, ("triplets",)),
            ({"edge_label_index": self.asked.t()}, ("[90, 2]", "[2, links]")),
        ):
            with self.subTest(options=list(options)), self.fails(sluice.UsageError, *words):
                pyg.LinkNeighborLoader(self.out, [2], **{"edge_label_index": self.asked, "batch_size": 90, **options})


@needs_pyg
class Written(Case):
    def write(self, data, **options):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            pyg.write(data, self.path("data"), overwrite=True, progress=False, **options)
        return sluice.Dataset(self.path("data")), [str(each.message) for each in said]

    def test_kinds_of_features(self):
        for dtype, stored in ((torch.float32, "f32"), (torch.float16, "f16"), (torch.bfloat16, "bf16"), (torch.float64, "f32"), (torch.int64, "f32")):
            data = random_graph()
            data.x = (data.x * 8).round().to(dtype)
            dataset, said = self.write(data)
            self.assertEqual(dataset.node_type().features[0].dtype, stored)
            self.assertTrue(np.array_equal(dataset.features(), data.x.float().numpy()), dtype)
            self.assertEqual(any("float64" in line for line in said), dtype == torch.float64, said)
        data.x = torch.full((300, 1), 1 << 30)
        with self.fails(sluice.UsageError, "data.x", "float32"):
            self.write(data)

    def test_masks_labels_and_what_edges_have(self):
        generator = torch.Generator().manual_seed(SEED)
        data = random_graph(edge_attr=torch.randn(2400, generator=generator), edge_weight=torch.rand(2400, generator=generator))
        draw = torch.rand(300, 2, generator=generator)
        data.train_mask, data.val_mask, data.test_mask = draw < 0.3, (draw >= 0.3) & (draw < 0.5), draw >= 0.5
        data.time = torch.arange(300)
        dataset, said = self.write(data)
        self.assertTrue(any("edge_weight" in line for line in said), said)
        for i, name in enumerate(("default", "1")):
            for part, mask in zip(dataset.split(name), (data.train_mask, data.val_mask, data.test_mask)):
                self.assertEqual(part.tolist(), mask[:, i].nonzero().view(-1).tolist())
        self.assertEqual(dataset.times().tolist(), list(range(300)))
        self.assertEqual(sorted(dataset.edge_weights().tolist()), sorted(data.edge_weight.tolist()))
        self.assertTrue(np.array_equal(dataset.edge_features()[:, 0], data.edge_attr.numpy()))
        for batch in pyg.NeighborLoader(dataset, [3], "train", batch_size=40, edge_ids=True, split="1", weight_attr="edge_weight"):
            self.assertTrue(torch.equal(batch.edge_attr[:, 0], data.edge_attr[batch.e_id]))
            self.assertTrue(torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id]))

    def test_kinds_of_labels(self):
        data = random_graph()
        many = (torch.rand(300, 11, generator=torch.Generator().manual_seed(SEED)) < 0.3)
        for y, kind, guessed in ((many, "multi_label", False), (many.float(), "multi_label", True), (data.x[:, :2].clone(), "regression", False),
                                 (data.y[:, None], "class", False)):
            data.y = y
            dataset, said = self.write(data)
            self.assertEqual(dataset.node_type().labels.kind, kind)
            self.assertEqual(any("many labels" in line for line in said), guessed)
            batch = next(iter(pyg.NeighborLoader(dataset, [1], [5, 2, 9], batch_size=3)))
            wanted = y[[5, 2, 9]]
            self.assertTrue(torch.equal(batch.y, wanted.view(-1) if kind == "class" else wanted.float()))
        data.y = many.float()
        self.assertEqual(self.write(data, kind="regression")[0].node_type().labels.kind, "regression")

    def test_what_cannot_be_carried_is_said(self):
        data = random_graph(pos=torch.randn(300, 3), name="mine")
        with self.fails(sluice.UsageError, "data.pos", "data.name", "skip=['pos', 'name']"):
            self.write(data)
        dataset, _ = self.write(data, skip=["pos", "name"])
        self.assertEqual(dataset.num_edges, 2400)
        hetero = random_hetero()
        hetero["author"].pos = torch.randn(150, 2)
        hetero.year = 2020
        with self.fails(sluice.UsageError, "data.year", "data['author'].pos"):
            self.write(hetero)
        hetero = random_hetero()
        hetero["topic"].num_nodes = None
        with self.fails(sluice.UsageError, "data['topic']", "num_nodes"):
            self.write(hetero)
        with self.fails(sluice.UsageError, "list", "HeteroData"):
            self.write([data])
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])

    def test_errors_of_import_name_the_attribute(self):
        for key, value in (("x", torch.full((300, 2), float("nan"))), ("y", torch.full((300,), -7))):
            data = random_graph()
            data[key] = value
            with self.subTest(key=key), self.fails(sluice.Error, f"data.{key}") as raised:
                self.write(data)
            self.assertNotIn(".npy", str(raised.error))
        data = random_graph()
        data.edge_index[0, 0] = 300
        with self.fails(sluice.Error, "data.edge_index"):
            self.write(data)

    def test_isolated_nodes_stay(self):
        data = Data(x=torch.randn(50, 2), edge_index=torch.tensor([[1, 2], [2, 3]]))
        dataset, _ = self.write(data)
        self.assertEqual(dataset.num_nodes, 50)
        batch = next(iter(pyg.NeighborLoader(dataset, [2, 2], [49, 3], batch_size=2)))
        self.assertEqual((batch.num_nodes, batch.num_edges), (4, 2))


if __name__ == "__main__":
    unittest.main()
