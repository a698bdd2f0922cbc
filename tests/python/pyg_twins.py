"""The examples of sluice.pyg in plain PyG: the same models over the whole graph in memory, from the same files, as many steps.

Over the whole graph, since PyG's own loaders need pyg-lib or torch-sparse, which are not on PyPI as wheels for every PyTorch.
"""

import os

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data, HeteroData

import pyg_hetero_acm
import pyg_links_cora
import pyg_sage_cora


def _array(folder, name):
    return torch.from_numpy(np.load(os.path.join(folder, name)))


def _pairs(folder, name):
    return torch.from_numpy(np.loadtxt(os.path.join(folder, name), delimiter=",", skiprows=1, dtype=np.int64)).t()


def cora(folder, scaled=True):
    x, ends = _array(folder, "features.npy"), _pairs(folder, "edges.csv")
    if scaled:
        x = x / x.abs().sum(1, keepdim=True).clamp(min=1e-12)
    data = Data(x=x, y=_array(folder, "labels.npy"), edge_index=torch.cat([ends, ends.flip(0)], 1))
    data.train, data.test = _array(folder, "train_idx.npy"), _array(folder, "test_idx.npy")
    return data


def acm(folder):
    data = HeteroData()
    data["paper"].x, data["author"].x = _array(folder, "paper_features.npy"), _array(folder, "author_features.npy")
    data["paper"].y, data["subject"].num_nodes = _array(folder, "labels.npy"), 60
    for name, there, back in (("author", "written-by", "writes"), ("subject", "about", "of")):
        ends = _pairs(folder, f"paper__{name}.csv")
        data["paper", there, name].edge_index, data[name, back, "paper"].edge_index = ends, ends.flip(0)
    data.train, data.test = _array(folder, "train_60.npy").long(), _array(folder, "test_60.npy").long()
    return data


def sage_cora(folder, seed, steps):
    torch.manual_seed(seed)
    data = cora(folder)
    model = pyg_sage_cora.SAGE(data.num_features, 64, int(data.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(data.x, data.edge_index)[data.train], data.y[data.train]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(data.x, data.edge_index)[data.test].argmax(1)
    return float((out == data.y[data.test]).float().mean())


def hetero_acm(folder, seed, steps):
    torch.manual_seed(seed)
    data = acm(folder)
    model = pyg_hetero_acm.HeteroSAGE(data.metadata(), {"subject": 60}, 64, 3)
    rows = {"subject": torch.arange(60)}
    with torch.no_grad():
        model(data.x_dict, rows, data.edge_index_dict)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    y = data["paper"].y.long()
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(data.x_dict, rows, data.edge_index_dict)[data.train], y[data.train]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(data.x_dict, rows, data.edge_index_dict)[data.test].argmax(1)
    return float((out == y[data.test]).float().mean())


def links_cora(folder, seed, steps):
    torch.manual_seed(seed)
    data, ends = cora(folder, scaled=False), _pairs(folder, "edges.csv")
    order = torch.randperm(ends.size(1))
    parts = order.split([int(0.85 * len(order)), int(0.05 * len(order)), len(order) - int(0.85 * len(order)) - int(0.05 * len(order))])
    train, _, test = (torch.cat([ends[:, part], ends[:, part].flip(0)], 1) for part in parts)

    def with_others(links):
        others = torch.stack([links[0], torch.randint(data.num_nodes, (links.size(1),))])
        return torch.cat([links, others], 1), torch.cat([torch.ones(links.size(1)), torch.zeros(links.size(1))])

    model = pyg_links_cora.Encoder(data.num_features, 64, 32)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        # A tenth of the links is asked about and taken out of the graph: a model that sees them learns to look them up.
        asked = torch.rand(ends.size(1))[order[: train.size(1) // 2]] < 0.1
        asked = torch.cat([asked, asked])
        pairs, labels = with_others(train[:, asked])
        F.binary_cross_entropy_with_logits(pyg_links_cora.score(model(data.x, train[:, ~asked]), pairs), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pairs, labels = with_others(test)
        return pyg_links_cora.auc(pyg_links_cora.score(model(data.x, train), pairs), labels)
