# PyG's GraphSAGE on Cora, from disk: a PyG script but for its loader and where the data comes from.
#
#   sluice-prep import --config configs/cora-graph.toml --root FOLDER --out data/cora
#   pyg_sage_cora.py data/cora
import sys

import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv

import sluice
from sluice.pyg import NeighborLoader  # the line that changes: from torch_geometric.loader import NeighborLoader


class SAGE(torch.nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first, self.second = SAGEConv(features, hidden), SAGEConv(hidden, classes)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.5, self.training)
        x = F.dropout(self.first(x, edge_index).relu(), 0.5, self.training)
        return self.second(x, edge_index)


def train(data, seed=0, epochs=40):
    torch.manual_seed(seed)
    dataset = sluice.Dataset(data)
    words = {"normalize_rows": True, "seed": seed, "memory": "256MiB"}
    train_loader = NeighborLoader(dataset, [10, 10], "train", batch_size=70, shuffle=True, **words)
    test_loader = NeighborLoader(dataset, [-1, -1], "test", batch_size=500, **words)
    model = SAGE(dataset.node_type().features[0].dim, 64, dataset.node_type().labels.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        model.train()
        for batch in train_loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            F.cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = total = 0
        for batch in test_loader:
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            right += int((out.argmax(1) == batch.y).sum())
            total += batch.batch_size
    return right / total


if __name__ == "__main__":
    print(f"test accuracy {train(sys.argv[1]):.3f}")
