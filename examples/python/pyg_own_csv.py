# Your own CSV files, from disk: products under text ids, imported, a PyG model trained, a department predicted for each of
# them. tests/python/shop.py makes such files.
#
#   pyg_own_csv.py FOLDER data/shop > predictions.csv
import csv
import os
import sys

import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv

import sluice
from sluice.pyg import NeighborLoader

WORDS = {"memory": "64MiB", "features": "disk"}


def import_shop(folder, data):
    """Once. sluice.prep.describe(folder) prints a graph.toml to begin with."""
    table = {"file": "products.csv"}
    sluice.prep.import_(
        root=folder,
        out=data,
        config={
            "nodes": [{
                "type": "product",
                "ids": "string",
                "id_list": {**table, "column": "sku"},
                "unknown_ids": "skip",  # pairs with a product that is not in the list; how many is said
                "features": {**table, "columns": ["price", "weight_kg", "reviews"], "missing": "mean", "scale": "standard"},
                "labels": {**table, "columns": ["department"], "kind": "name"},
            }],
            "edges": [{"relation": "bought_with", "file": "bought_together.csv", "undirected": True, "weight_column": "times"}],
            "splits": [{"ratio": [0.6, 0.2, 0.2]}],  # of the nodes with a label
        },
    )


class SAGE(torch.nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first, self.second = SAGEConv(features, hidden), SAGEConv(hidden, classes)

    def forward(self, x, edge_index):
        x = F.dropout(self.first(x, edge_index).relu(), 0.3, self.training)
        return self.second(x, edge_index)


def train(dataset, seed=0, epochs=6):
    torch.manual_seed(seed)
    node = dataset.node_type()
    model = SAGE(node.features[0].dim, 32, node.labels.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with NeighborLoader(dataset, [10, 10], "train", batch_size=128, shuffle=True, seed=seed, **WORDS) as loader:
        for _ in range(epochs):
            for batch in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(batch.x, batch.edge_index)[: batch.batch_size], batch.y).backward()
                optimizer.step()
    return model.eval()


@torch.no_grad()
def predict(model, dataset, part):
    """Yields (your id, the predicted class's name, the true one's or "") of the nodes of a part; None: of all."""
    names = [*dataset.node_type().labels.names, ""]  # the last: -1, no label
    with NeighborLoader(dataset, [-1, -1], part, batch_size=512, **WORDS) as loader:
        for batch in loader:
            classes = model(batch.x, batch.edge_index)[: batch.batch_size].argmax(1)
            ids = dataset.ids(rows=batch.n_id[: batch.batch_size])
            for id, predicted, true in zip(ids.tolist(), classes.tolist(), batch.y.tolist()):
                yield id, names[predicted], names[true]


def main(folder, data):
    if not os.path.exists(data):
        import_shop(folder, data)
    dataset = sluice.Dataset(data)
    model = train(dataset)
    right = [predicted == true for _, predicted, true in predict(model, dataset, "test")]
    print(f"test accuracy {sum(right) / len(right):.3f}", file=sys.stderr)
    out = csv.writer(sys.stdout)
    out.writerow(["id", "department", "said"])
    out.writerows(predict(model, dataset, None))


if __name__ == "__main__":
    main(*sys.argv[1:])
