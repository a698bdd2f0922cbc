# A GraphSAGE that sluice-train trained, in PyTorch: by its weights, and the graph as `sluice-prep export` wrote it.
#
#   predict.py runs/mine/weights.safetensors exported > predictions.csv
import csv, json, sys
import numpy, torch

weights, folder = sys.argv[1:]
raw = open(weights, "rb").read()  # or safetensors.torch.load_file(weights)
data = 8 + int.from_bytes(raw[:8], "little")
header = json.loads(raw[8:data])
classes = json.loads(header.pop("__metadata__").get("classes", "[]"))  # names, by number
w = {name: torch.from_numpy(numpy.frombuffer(raw[data:], "<f4")[slice(*(at // 4 for at in tensor["data_offsets"]))].copy()).reshape(tensor["shape"])
     for name, tensor in header.items()}

ids = [row["id"] for row in csv.DictReader(open(f"{folder}/node.csv"))]
row_of = {name: row for row, name in enumerate(ids)}
x = torch.from_numpy(numpy.loadtxt(f"{folder}/node.features.csv", numpy.float32, delimiter=",", skiprows=1))
ends = [(row_of[e["source"]], row_of[e["target"]]) for e in csv.DictReader(open(f"{folder}/node__edge__node.csv"))]
source, target = torch.tensor(ends).T
degree = torch.bincount(target, minlength=len(ids)).clamp(min=1)[:, None]
for layer in range(len({name.split(".")[0] for name in w})):
    x = torch.relu(x) if layer else x
    mean = torch.zeros_like(x).index_add_(0, target, x[source]) / degree
    own, others = w[f"layer{layer}.own.weight"], w[f"layer{layer}.neighbours.weight"]
    x = x @ own.T + w[f"layer{layer}.own.bias"] + mean @ others.T

print("id,class" + (",class_name" if classes else ""))
for name, c in zip(ids, x.argmax(1).tolist()):
    print(name, c, *classes[c:c + 1], sep=",")
