# Link prediction on Cora, from disk: GraphSAGE and a dot product, 85/5/10 of the citations, one random other end each.
#
#   sluice-prep import --config configs/cora-graph.toml --root FOLDER --out data/cora
#   pyg_links_cora.py data/cora
import sys

import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv

import sluice
from sluice.pyg import LinkNeighborLoader


class Encoder(torch.nn.Module):
    def __init__(self, features, hidden, width):
        super().__init__()
        self.first, self.second = SAGEConv(features, hidden), SAGEConv(hidden, width)

    def forward(self, x, edge_index):
        x = F.dropout(self.first(F.dropout(x, 0.3, self.training), edge_index).relu(), 0.5, self.training)
        return self.second(x, edge_index)


def score(z, edge_label_index):
    return (z[edge_label_index[0]] * z[edge_label_index[1]]).sum(dim=1)


def auc(scores, labels):
    """Area under the ROC curve: of a link and another pair, how often the link is scored higher."""
    order = scores.argsort()
    ranks = torch.empty(len(scores))
    ranks[order] = torch.arange(1, len(scores) + 1, dtype=torch.float32)
    links = labels > 0
    count = int(links.sum())
    return float((ranks[links].sum() - count * (count + 1) / 2) / (count * (len(labels) - count)))


def train(data, seed=0, epochs=6):
    torch.manual_seed(seed)
    dataset = sluice.Dataset(data)
    words = {"edge_split": [0.85, 0.05, 0.1], "neg_sampling": "binary", "seed": seed, "memory": "256MiB"}
    train_loader = LinkNeighborLoader(dataset, [10, 10], "train", batch_size=1024, shuffle=True, **words)
    test_loader = LinkNeighborLoader(dataset, [-1, -1], "test", batch_size=512, **words)
    model = Encoder(dataset.node_type().features[0].dim, 64, 32)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        model.train()
        for batch in train_loader:
            optimizer.zero_grad()
            out = score(model(batch.x, batch.edge_index), batch.edge_label_index)
            F.binary_cross_entropy_with_logits(out, batch.edge_label).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        found = [(score(model(batch.x, batch.edge_index), batch.edge_label_index), batch.edge_label) for batch in test_loader]
    scores, labels = (torch.cat(each) for each in zip(*found))
    return auc(scores, labels)


if __name__ == "__main__":
    print(f"test AUC {train(sys.argv[1]):.3f}")
