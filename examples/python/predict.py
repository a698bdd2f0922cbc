# A GraphSAGE that sluice-train trained, in PyTorch, from disk: its weights, the dataset, and predictions by your own ids.
#
#   predict.py runs/mine data/mine > predictions.csv
import sys
import sluice, torch

run, data = sys.argv[1:]
trained = sluice.weights(run)
w = {name: torch.from_dlpack(array) for name, array in trained.arrays.items()}
layers = len({name.split(".")[0] for name in w})
print("id,class" + (",class_name" if trained.classes else ""))
for batch in sluice.Loader(data, part="all", fanout=[-1] * layers, shuffle=False, labels=False):
    x = torch.from_dlpack(batch.x)
    for i in range(layers):
        source, target = torch.from_dlpack(batch.edge_index(i))
        x, sources = x[: batch.block(i).num_targets], x
        degree = torch.bincount(target, minlength=len(x)).clamp(min=1)[:, None]
        mean = torch.zeros_like(x).index_add_(0, target, sources[source]) / degree
        own, others = w[f"layer{i}.own.weight"], w[f"layer{i}.neighbours.weight"]
        x = x @ own.T + w[f"layer{i}.own.bias"] + mean @ others.T
        x = torch.relu(x) if i + 1 < layers else x
    for name, c in zip(batch.external_ids(rows=batch.queries.nodes).tolist(), x.argmax(1).tolist()):
        print(name, c, *trained.classes[c : c + 1], sep=",")
