"""Embeddings of knowledge graphs by sluice-train, beside PyKEEN and beside a plain PyTorch loop with sparse gradients.

usage: kge.py speed FOLDER --tools BUILD --peers PYTHON [--decoders complex,distmult] [--rounds 5] [--epochs 3] [--threads 2]
                    [--pykeen-batches 10]
       kge.py accuracy umls|kinship FOLDER --tools BUILD --peers PYTHON [--epochs 100]

FOLDER holds train.txt, valid.txt and test.txt: of WN18RR for speed, of that graph for accuracy. BUILD is where sluice-prep and
sluice-train are. PYTHON is one with PyTorch and PyKEEN:
  python3 -m venv kge && kge/bin/pip install torch pykeen==1.11.1
  kge.py speed FOLDER --tools build/release --peers kge/bin/python
bench/python/kge_peers.py says what a peer does. --only sluice,torch,pykeen leaves sides out, --work names a folder for what is
made on the way.

speed: links a second of training, evaluation left out: the sides run in turn, each in a process of its own. A round counts by the
middle of its epochs after the first, a side by the middle of its rounds. A line a decoder: `peer` is the faster of the peers.
accuracy: our config (configs/NAME-complex.toml: width, loss, mini-batches) and PyKEEN's ComplEx of its width, loss, epochs and
mini-batches, twice: as it comes, and as `small` says. Filtered, whole test, ties by mean. A line a side.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import tomllib

from tools import last_line, lines_of, run, say

HERE = pathlib.Path(__file__).resolve().parent
CONFIGS = HERE.parents[1] / "configs"
PEERS = {"torch": "torch", "pykeen": "pykeen"}

SPEED = """
seed = 1
dataset.path = "{data}"
memory.host = "1GiB"
storage = {{ features = "memory", topology = "memory", embeddings = "memory" }}
model.type = "embedding"
embedding = {{ dim = 100, optimizer = "adagrad", lr = 0.1, init = 0.001 }}
run.dir = "{run}"
[task]
type = "link_prediction"
width = 100
decoder = "{decoder}"
ends = "both"
loss = "softmax"
negatives = 1000
share = true
ranking = "sampled"             # evaluation is not what is measured: as little as can be
eval_negatives = 1
[train]
device = "cpu"
epochs = {epochs}
batch_size = 1000
checkpoint_every = 0
compute_threads = {threads}
data_threads = {threads}
optimizer = {{ type = "adagrad", lr = 0.1 }}
[eval]
every = {epochs}
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="what", required=True)
    for name in ("speed", "accuracy"):
        action = actions.add_parser(name)
        if name == "accuracy":
            action.add_argument("graph", choices=("umls", "kinship"))
        action.add_argument("folder", type=pathlib.Path)
        action.add_argument("--tools", type=pathlib.Path, help="the folder that sluice-prep and sluice-train are in")
        action.add_argument("--peers", help="a Python with PyTorch and PyKEEN")
        action.add_argument("--only", default="sluice,torch,pykeen", help="sides, by comma")
        action.add_argument("--decoders", default="complex,distmult")
        action.add_argument("--rounds", type=int, default=5)
        action.add_argument("--epochs", type=int, default=3 if name == "speed" else 100)
        action.add_argument("--threads", type=int, default=os.cpu_count())
        action.add_argument("--work", type=pathlib.Path)
        action.add_argument("--pykeen-batches", type=int, default=10, help="of an epoch, for its speed; 0: all")
    given = parser.parse_args()
    given.only = given.only.split(",")
    for side in given.only:
        if side not in ("sluice", *PEERS):
            parser.error(f"no side '{side}': sluice, torch or pykeen")
    if "sluice" in given.only and not given.tools:
        parser.error("--tools names the folder of sluice-prep and sluice-train (or leave our side out by --only)")
    if set(given.only) & set(PEERS) and not given.peers:
        parser.error("--peers names a Python with PyTorch and PyKEEN (or --only sluice)")
    return given


def prepared(given, work, config):
    out = work / "data"
    run(given.tools / "sluice-prep", "import", "--config", CONFIGS / config, "--root", given.folder, "--out", out)
    return out


def trained(given, config, *sets):
    """The report of a run, and the lines of its metrics."""
    words = [given.tools / "sluice-train", "run", config, "--json", "--overwrite"]
    for assignment in sets:
        words += ["--set", assignment]
    report = json.loads(run(*words))
    folder = pathlib.Path(tomllib.loads(config.read_text())["run"]["dir"])
    return report, lines_of((folder / "metrics.jsonl").read_text())


def our_seconds(given, work, data, decoder):
    config = work / "speed.toml"
    config.write_text(SPEED.format(data=data, run=work / "run", decoder=decoder, epochs=given.epochs, threads=given.threads))
    report, lines = trained(given, config)
    return {"seconds": statistics.median_low([line["seconds"] for line in lines[1:] or lines]),
            "losses": [line["metrics"]["train.loss"] for line in lines], "peak_rss": report["memory"]["peak_rss"]}


def speed(given, work):
    links = sum(1 for line in open(given.folder / "train.txt") if line.strip())
    data = prepared(given, work, "wn18rr-typed-graph.toml") if "sluice" in given.only else None
    for decoder in given.decoders.split(","):
        rounds = {side: [] for side in given.only}
        for _ in range(given.rounds):
            for side in given.only:
                if side == "sluice":
                    rounds[side].append(our_seconds(given, work, data, decoder))
                else:
                    rounds[side].append(last_line(run(
                        given.peers, HERE / "kge_peers.py", "speed", PEERS[side], decoder, given.folder, given.threads,
                        given.epochs, given.pykeen_batches if side == "pykeen" else 0, threads=given.threads)))
                print(f"{decoder}, {side}: {rounds[side][-1]['seconds']:.2f} s an epoch", file=sys.stderr, flush=True)
        say(speed_line(given, decoder, links, rounds))


def speed_line(given, decoder, links, rounds):
    sides = {side: {**lines[-1], "seconds": statistics.median_low([line["seconds"] for line in lines]),
                    "rounds": [line["seconds"] for line in lines]} for side, lines in rounds.items()}
    line = {"case": "kge_links", "mode": decoder, "work": links, "unit": "links", "threads": given.threads}
    if "sluice" in sides:
        ours = sides.pop("sluice")
        line.update(seconds=ours["seconds"], rate=links / ours["seconds"], rounds=ours["rounds"], losses=ours["losses"],
                    peak_rss=ours["peak_rss"])
    if sides:
        best = min(sides.values(), key=lambda side: side["seconds"])
        line.update(peer=best["peer"], peer_rate=links / best["seconds"])
        if "rate" in line:
            line["of_peer"] = line["rate"] / line["peer_rate"]
    line["peers"] = sides
    return line


def accuracy(given, work):
    config = CONFIGS / f"{given.graph}-complex.toml"
    options = tomllib.loads(config.read_text())
    if "sluice" in given.only:
        data = prepared(given, work, f"{given.graph}-graph.toml")
        ours = work / "accuracy.toml"
        ours.write_text(config.read_text().replace(f'"data/{given.graph}"', json.dumps(str(data)))
                        .replace(options["run"]["dir"], str(work / "run")))
        report, lines = trained(given, ours, f"train.epochs={given.epochs}", f"train.compute_threads={given.threads}")
        say({"case": "kge_accuracy", "mode": given.graph, "side": "sluice", "mrr": report["metrics"]["test.mrr"],
             "hits@10": report["metrics"]["test.hits@10"], "seconds": sum(line["seconds"] for line in lines),
             "epochs": given.epochs})
    if "pykeen" in given.only:
        for start in ("defaults", "small"):
            line = last_line(run(
                given.peers, HERE / "kge_peers.py", "accuracy", start, given.folder, given.threads, given.epochs,
                options["embedding"]["dim"] // 2, options["train"]["batch_size"], threads=given.threads))
            say({"case": "kge_accuracy", "mode": given.graph, "side": f"pykeen {start}", **line,
                 "epochs": given.epochs})


def main():
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="kge-", dir=given.work) as made:
        {"speed": speed, "accuracy": accuracy}[given.what](given, pathlib.Path(made))


main()
