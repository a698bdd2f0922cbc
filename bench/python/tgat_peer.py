"""TGAT in plain PyTorch, in the loop that TGL trains it by (Zhou et al., VLDB 2022): a peer for temporal_from_disk.py.

usage: tgat_peer.py DATASET [--train 100000] [--valid 10000] [--batch 600] [--epochs 1] [--width 100] [--neighbours 10]
         [--lr 0.001] [--time fixed|learned] [--seed 1] [--threads N]

DATASET is a generated one of `sluice-prep generate temporal` with features of events; its files are read as storage/format/FORMAT.md
says. All of it is held in memory: in-edges of each node in the order of time (a T-CSR), features by event. Trained is on the
`train` events before the last `valid`, in the order of time, in mini-batches with one random other destination an event; after
each epoch AP of the last `valid` events is taken in the same way. Two layers, each over the `neighbours` latest events of before
the row's own time; nodes have no features, so the first layer's rows are what edges say.

`learned` frequencies are as TGL has them. `fixed` ones are not moved by the optimizer: at this learning rate that is better.
Prints a JSON object: seconds of each epoch, of these those that went into sampling and gathering, and the AP after each.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F

PAGE = 4096
HEADS, DROPOUT, DECADES = 2, 0.1, 9


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=pathlib.Path)
    for name, default in (("train", 100_000), ("valid", 10_000), ("batch", 600), ("epochs", 1), ("width", 100), ("neighbours", 10),
                          ("seed", 1), ("threads", os.cpu_count())):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--time", choices=("fixed", "learned"), default="fixed")
    return parser.parse_args()


class Events:
    """The only relation of a dataset: by target for sampling, by number in the order of time for asking."""

    def __init__(self, dataset):
        graph = json.loads((dataset / "manifest.json").read_text())["graph"]
        relation = graph["edges"][0]
        self.count, nodes = relation["count"], graph["nodes"][0]["count"]
        folder = dataset / "edges" / "__".join((relation["source"], relation["relation"], relation["target"]))
        narrow = "<u4" if max(nodes, relation["edge_id_bound"]) <= 1 << 32 else "<u8"

        def column(name, dtype, count):
            return np.fromfile(folder / name, dtype, count).astype(np.int64)

        self.offsets = column("offsets.bin", "<u8", nodes + 1)
        self.neighbours = column("neighbours.bin", narrow, self.count)
        self.ids = column("edge_ids.bin", narrow, self.count)
        self.times = column("times.bin", "<i8", self.count)
        self.features = self.read_features(folder, relation["features"][0])
        targets = np.repeat(np.arange(nodes), np.diff(self.offsets))
        # Sorted: within a node's list events stand in the order of time, and so do their numbers.
        self.keys = targets * self.count + self.ids
        self.source, self.target, self.time = (np.empty(self.count, np.int64) for _ in range(3))
        self.source[self.ids], self.target[self.ids], self.time[self.ids] = self.neighbours, targets, self.times
        if np.any(np.diff(self.keys) <= 0) or np.any(np.diff(self.time) < 0):
            raise SystemExit(f"error: the events of {dataset} are not numbered in the order of time")
        self.destinations = np.unique(targets)

    @staticmethod
    def read_features(folder, table):
        """f32 [events, columns]"""
        if table["dtype"] != "f32":
            raise SystemExit(f"error: features of events are {table['dtype']}: generate them as f32")
        dim, rows, a_page = table["dim"], table["rows"], table["rows_per_page"]
        path = folder / (table["name"] + ".bin")
        if a_page == 0:  # end to end
            return torch.from_numpy(np.fromfile(path, "<f4", rows * dim).reshape(rows, dim))
        pages = np.fromfile(path, "<f4").reshape(-1, PAGE // 4)
        return torch.from_numpy(np.ascontiguousarray(pages[:, :a_page * dim].reshape(-1, dim)[:rows]))

    def latest(self, nodes, times, most):
        """The latest events into each node before its time: their sources, numbers and whether there are any, [n, most]."""
        before = np.searchsorted(self.time, times, "left")
        end = np.searchsorted(self.keys, nodes * self.count + before, "left")
        places = end[:, None] - most + np.arange(most)
        there = places >= self.offsets[nodes][:, None]
        places = np.where(there, places, 0)
        return self.neighbours[places], self.ids[places], there


class TimeCode(torch.nn.Module):
    def __init__(self, width, learned):
        super().__init__()
        self.turns = torch.nn.Parameter(10.0 ** -torch.linspace(0, DECADES, width), requires_grad=learned)
        self.phases = torch.nn.Parameter(torch.zeros(width), requires_grad=learned)

    def forward(self, since):
        return torch.cos(since.unsqueeze(-1) * self.turns + self.phases)


class AttentionLayer(torch.nn.Module):
    """Attention over a row's events, with what it found and the own row through a linear map, as TGL's layer does."""

    def __init__(self, own, edge, time_width, width):
        super().__init__()
        self.width = width
        self.asks = torch.nn.Linear(own + time_width, width)
        self.offers = torch.nn.Linear(own + edge + time_width, 2 * width)  # keys and values by one product
        self.out = torch.nn.Linear(own + width, width)
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, own, around, edges, now, since, there):
        """`own` [n, c] and `around` [n, k, c], or None: no rows. `there` [n, k]."""
        rows, events = there.shape
        asks = self.asks(now if own is None else torch.cat([own, now], -1)).view(rows, 1, HEADS, -1)
        parts = [edges, since] if around is None else [around, edges, since]
        keys, values = self.offers(torch.cat(parts, -1)).view(rows, events, 2, HEADS, -1).unbind(2)
        scores = F.leaky_relu((asks * keys).sum(-1), 0.2).masked_fill(~there.unsqueeze(-1), -1e10)
        shares = F.dropout(torch.softmax(scores, 1) * there.unsqueeze(-1), DROPOUT, self.training)
        found = (shares.unsqueeze(-1) * values).sum(1).reshape(rows, self.width)
        joined = found if own is None else torch.cat([found, own], -1)
        return self.norm(F.dropout(torch.relu(self.out(joined)), DROPOUT, self.training))


class Tgat(torch.nn.Module):
    def __init__(self, edge, width, learned):
        super().__init__()
        self.code = TimeCode(width, learned)
        self.first, self.second = AttentionLayer(0, edge, width, width), AttentionLayer(width, edge, width, width)
        self.of_source, self.of_target = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        self.score = torch.nn.Linear(width, 1)

    def rows(self, hops):
        """Of the roots. The outer hop is that of the roots and, behind them, of all that they met."""
        (since, there, edges), (outer_since, outer_there, outer_edges) = hops
        roots, events = there.shape
        inner = self.first(None, None, outer_edges, self.now(len(outer_there)), self.code(outer_since), outer_there)
        own, around = inner[:roots], inner[roots:].view(roots, events, -1)
        return self.second(own, around, edges, self.now(roots), self.code(since), there)

    def now(self, count):
        return self.code(torch.zeros(1)).expand(count, -1)

    def forward(self, hops):
        """[2, events]: scores of the events and of the others."""
        source, target, other = self.rows(hops).chunk(3)
        own = self.of_source(source)
        return torch.stack([self.score(torch.relu(own + self.of_target(to))).squeeze(-1) for to in (target, other)])


class Loop:
    """Mini-batches one after the other: sampled, gathered, computed."""

    def __init__(self, events, given):
        self.events, self.given = events, given
        self.draws = np.random.default_rng(given.seed)
        self.model = Tgat(events.features.shape[1], given.width, given.time == "learned")
        self.optimizer = torch.optim.Adam([each for each in self.model.parameters() if each.requires_grad], lr=given.lr)
        self.sampling = self.gathering = 0.0

    def hop(self, nodes, times):
        """What a hop's rows see; who they are, as roots of the next hop."""
        begin = time.perf_counter()
        met, numbers, there = self.events.latest(nodes, times, self.given.neighbours)
        met_at = np.where(there, self.events.time[numbers], np.iinfo(np.int64).min)
        since = np.where(there, times[:, None] - np.where(there, met_at, 0), 0)
        sampled = time.perf_counter()
        edges = self.events.features[torch.from_numpy(numbers.ravel())].view(*numbers.shape, -1)
        self.sampling += sampled - begin
        self.gathering += time.perf_counter() - sampled
        return (torch.from_numpy(since).float(), torch.from_numpy(there), edges), met.ravel(), met_at.ravel()

    def scores(self, first, last):
        events = self.events
        source, target, when = events.source[first:last], events.target[first:last], events.time[first:last]
        others = events.destinations[self.draws.integers(len(events.destinations), size=last - first)]
        nodes, times = np.concatenate([source, target, others]), np.tile(when, 3)
        inner, met, met_at = self.hop(nodes, times)
        outer, _, _ = self.hop(np.concatenate([nodes, met]), np.concatenate([times, met_at]))
        return self.model((inner, outer))

    def batches(self, first, last):
        for begin in range(first, last, self.given.batch):
            yield begin, min(begin + self.given.batch, last)

    def train(self, first, last):
        self.model.train()
        total, truth = 0.0, None
        for begin, end in self.batches(first, last):
            scores = self.scores(begin, end)
            if truth is None or truth.shape != scores.shape:
                truth = torch.stack([torch.ones(end - begin), torch.zeros(end - begin)])
            loss = 2 * F.binary_cross_entropy_with_logits(scores, truth)  # the mean of either kind, added
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * (end - begin)
        return total / (last - first)

    def evaluate(self, first, last):
        self.model.eval()
        with torch.no_grad():
            scores = torch.cat([self.scores(begin, end) for begin, end in self.batches(first, last)], 1)
        return average_precision(scores.numpy())


def average_precision(scores):
    """Of events (row 0) among events and others (row 1); equal scores come at once."""
    every = scores.ravel()
    truth = np.concatenate([np.ones(scores.shape[1]), np.zeros(scores.shape[1])])
    order = np.argsort(-every, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(every[order])), len(every) - 1)
    right = np.cumsum(truth[order])[ends]
    return float(np.sum(np.diff(right, prepend=0) / right[-1] * right / (ends + 1)))


def main():
    given = arguments()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    events = Events(given.dataset)
    if given.train + given.valid > events.count:
        raise SystemExit(f"error: {given.dataset} has {events.count} events, fewer than --train and --valid together")
    loop = Loop(events, given)
    valid = events.count - given.valid
    seconds, sampling, gathering, losses, precisions = [], [], [], [], []
    for _ in range(given.epochs):
        loop.sampling = loop.gathering = 0.0
        begin = time.perf_counter()
        losses.append(loop.train(valid - given.train, valid))
        seconds.append(time.perf_counter() - begin)
        sampling.append(loop.sampling)
        gathering.append(loop.gathering)
        precisions.append(loop.evaluate(valid, events.count))
    middle = statistics.median_low(seconds[1:] or seconds)
    at = seconds.index(middle)
    print(json.dumps({"peer": f"TGAT in a PyTorch loop, {given.time} frequencies", "work": given.train, "seconds": middle,
                      "rate": given.train / middle, "epochs": seconds, "sampling_share": sampling[at] / middle,
                      "gathering_share": gathering[at] / middle, "losses": losses, "ap": precisions,
                      "threads": given.threads, "torch": torch.__version__,
                      "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}), flush=True)


if __name__ == "__main__":
    main()
