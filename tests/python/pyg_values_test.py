"""sluice.pyg.write: values of other types and shapes than usual are carried as they are, or refused. Skipped without PyG."""

import unittest

import numpy as np

from support import Case, sluice

try:
    import torch
    from torch_geometric.data import Data, HeteroData

    from sluice import pyg
except (ImportError, OSError) as problem:
    MISSING = str(problem)
else:
    MISSING = ""


@unittest.skipIf(MISSING, f"PyTorch or PyG is not installed here: {MISSING}")
class Values(Case):
    def written(self, data):
        pyg.write(data, self.path("data"), overwrite=True, progress=False)
        return sluice.Dataset(self.path("data"))

    def test_features_of_zeros_and_ones(self):
        x = torch.arange(20).reshape(10, 2) % 3 == 0
        dataset = self.written(Data(x=x, edge_index=torch.tensor([[0, 1], [1, 2]])))
        self.assertTrue(np.array_equal(dataset.features(), x.numpy().astype(np.float32)))

    def test_a_type_without_nodes(self):
        data = HeteroData()
        data["a"].x = torch.ones(3, 2)
        data["b"].x = torch.ones(0, 2)
        data["a", "to", "b"].edge_index = torch.zeros(2, 0, dtype=torch.long)
        self.assertEqual([node.count for node in self.written(data).schema.nodes], [3, 0])

    def test_edges_that_are_no_pairs_of_nodes(self):
        x = torch.ones(10, 2)
        for edges, words in (
            (torch.tensor([[0, 1, 2.5], [1, 2, 3]]), ("edge_index", "2.5 is no whole number")),
            (torch.tensor([[True, False], [False, True]]), ("edge_index", "a mask")),
            (torch.tensor([[0, 1], [1, 2], [2, 3]]), ("edge_index has the shape [3, 2]", "[2, edges]")),
            (torch.tensor([0, 1, 2]), ("edge_index has the shape [3]",)),
        ):
            with self.subTest(edges=edges), self.fails(sluice.UsageError, *words):
                self.written(Data(x=x, edge_index=edges))
        with self.fails(sluice.UsageError, "data.x has 0 dimensions"):
            self.written(Data(x=torch.tensor(3.0), edge_index=torch.tensor([[0], [1]]), num_nodes=2))


if __name__ == "__main__":
    unittest.main()
