# A heterogeneous GraphSAGE on ACM, from disk: papers, authors and subjects, which have no features and learn some.
#
#   sluice-prep import --config configs/acm-graph.toml --root FOLDER --out data/acm
#   pyg_hetero_acm.py data/acm
import sys

import torch
import torch.nn.functional as F
from torch_geometric.nn import HeteroConv, Linear, SAGEConv

import sluice
from sluice.pyg import NeighborLoader, metadata


class HeteroSAGE(torch.nn.Module):
    def __init__(self, metadata, counts, hidden, classes):
        """counts: nodes of the types that have no features."""
        super().__init__()
        types, relations = metadata
        self.embeddings = torch.nn.ModuleDict({name: torch.nn.Embedding(count, hidden) for name, count in counts.items()})
        self.inputs = torch.nn.ModuleDict({name: Linear(-1, hidden) for name in types if name not in counts})
        self.layers = torch.nn.ModuleList(
            HeteroConv({ends: SAGEConv((-1, -1), hidden) for ends in relations}, aggr="mean") for _ in range(2)
        )
        self.output = Linear(hidden, classes)

    def forward(self, x_dict, n_id_dict, edge_index_dict):
        x = {name: F.dropout(layer(x_dict[name]).relu(), 0.5, self.training) for name, layer in self.inputs.items()}
        x.update({name: embedding(n_id_dict[name]) for name, embedding in self.embeddings.items()})
        for layer in self.layers:
            x = {**x, **{name: F.dropout(out.relu(), 0.5, self.training) for name, out in layer(x, edge_index_dict).items()}}
        return self.output(x["paper"])


def train(data, seed=0, epochs=40):
    torch.manual_seed(seed)
    dataset = sluice.Dataset(data)
    words = {"split": "60", "seed": seed, "memory": "512MiB"}
    train_loader = NeighborLoader(dataset, [10, 10], ("paper", "train"), batch_size=60, shuffle=True, **words)
    test_loader = NeighborLoader(dataset, [-1, -1], ("paper", "test"), batch_size=500, **words)
    counts = {node.name: node.count for node in dataset.schema.nodes if not node.features}
    model = HeteroSAGE(metadata(dataset), counts, 64, dataset.node_type("paper").labels.width)
    with torch.no_grad():  # PyG's lazy layers learn their widths
        batch = next(iter(train_loader))
        model(batch.x_dict, batch.n_id_dict, batch.edge_index_dict)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        model.train()
        for batch in train_loader:
            optimizer.zero_grad()
            size = batch["paper"].batch_size
            out = model(batch.x_dict, batch.n_id_dict, batch.edge_index_dict)[:size]
            F.cross_entropy(out, batch["paper"].y).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = total = 0
        for batch in test_loader:
            size = batch["paper"].batch_size
            out = model(batch.x_dict, batch.n_id_dict, batch.edge_index_dict)[:size]
            right += int((out.argmax(1) == batch["paper"].y).sum())
            total += size
    return right / total


if __name__ == "__main__":
    print(f"test accuracy {train(sys.argv[1]):.3f}")
