# Learned rows that sluice-train trained with DistMult, in PyTorch: embeddings and ids, and predictions of links by your own ids.
#
#   predict_links.py runs/mine data/mine > predictions.csv
import csv, sys
import sluice, torch

run, data = sys.argv[1:]
trained = sluice.weights(run)
w = {name: torch.from_dlpack(array) for name, array in trained.arrays.items()}
rows, relations = w["rows.entity"], w["head.relations"]
graph = sluice.Dataset(data)
ids = graph.ids("entity")  # rows[n] is the embedding of ids[n]
links = torch.from_numpy(graph.edge_split().test)  # relation of the dataset, type, source, target, whether it is a link
out = csv.writer(sys.stdout, lineterminator="\n")  # ids may hold commas and quotes
out.writerow(["source", "target", "probability"])
for _, types, sources, targets, _ in (each.T for each in links.split(1024)):
    scores = (rows[sources] * relations[types] * rows[targets]).sum(1)
    for source, target, p in zip(sources.tolist(), targets.tolist(), torch.sigmoid(scores).tolist()):
        out.writerow([ids[source], ids[target], p])
