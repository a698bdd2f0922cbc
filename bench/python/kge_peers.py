"""One side of kge.py: knowledge-graph embeddings by PyKEEN, or by a plain PyTorch loop. Prints a JSON object.

usage: kge_peers.py speed torch|pykeen complex|distmult FOLDER THREADS EPOCHS BATCHES
       kge_peers.py accuracy defaults|small FOLDER THREADS EPOCHS COMPLEX_WIDTH BATCH

FOLDER holds train.txt, valid.txt and test.txt: head, relation, tail, with tabs between them. kge.py starts it.

speed: 100 numbers a row, mini-batches of 1,000 links, 1,000 negatives that all of them share, both ends, a softmax over the
link and its negatives, Adagrad. PyKEEN's own training loops have no negatives that are shared, and a thousand for each link
are a thousand times as many rows: so its model, loss and optimizer run in a loop of ours, which it is the faster for. It
multiplies every pair of a link and a negative column by column and takes minutes for an epoch of WN18RR: BATCHES are the
mini-batches of an epoch that are run, 0 for all, and `seconds` is for as many as an epoch has.

accuracy: PyKEEN's pipeline, its ComplEx, LCWA with cross entropy over all entities, inverse relations, Adagrad; the best
epoch by valid MRR of each fifth. `defaults`: rows begin, and are kept small, as it does unless told; `small`: rows begin
within .01 and nothing keeps them small.
"""

import json
import os
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F

WIDTH, BATCH, NEGATIVES, RATE = 100, 1000, 1000, 0.1


def read_links(folder):
    """i64 [links, 3]: head, relation, tail; and how many entities and relations all three files name."""
    entities, relations, parts = {}, {}, {}
    for part in ("train", "valid", "test"):
        rows = []
        with open(os.path.join(folder, part + ".txt")) as file:
            for line in file:
                head, relation, tail = line.split()
                rows.append((entities.setdefault(head, len(entities)), relations.setdefault(relation, len(relations)),
                             entities.setdefault(tail, len(entities))))
        parts[part] = torch.tensor(rows)
    return parts["train"], len(entities), len(relations)


class PlainLoop:
    """Sparse gradients: a step costs what it touches. One lookup a mini-batch."""

    name = "PyTorch loop, sparse gradients"

    def __init__(self, decoder, entities, relations):
        self.rows = torch.nn.Embedding(entities, WIDTH, sparse=True)
        self.kinds = torch.nn.Embedding(relations, WIDTH, sparse=True)
        for table in (self.rows, self.kinds):
            torch.nn.init.uniform_(table.weight, -0.001, 0.001)
        self.queries = {"complex": self.complex_queries, "distmult": self.distmult_queries}[decoder]
        self.optimizer = torch.optim.Adagrad([self.rows.weight, self.kinds.weight], lr=RATE)

    @staticmethod
    def distmult_queries(heads, kinds, tails):
        return heads * kinds, tails * kinds

    @staticmethod
    def complex_queries(heads, kinds, tails):
        """A row is the real parts and then the imaginary ones; scores are products with the other end's row."""
        (a, b), (c, d), (x, y) = (rows.chunk(2, dim=1) for rows in (heads, kinds, tails))
        return torch.cat([a * c - b * d, a * d + b * c], 1), torch.cat([x * c + y * d, y * c - x * d], 1)

    def loss(self, links, others):
        count = len(links)
        rows = self.rows(torch.cat([links[:, 0], links[:, 2], others]))
        heads, tails, negatives = rows[:count], rows[count:2 * count], rows[2 * count:]
        of_tails, of_heads = self.queries(heads, self.kinds(links[:, 1]), tails)
        right = torch.zeros(count, dtype=torch.long)

        def end(queries, own):
            scores = torch.cat([(queries * own).sum(1, keepdim=True), queries @ negatives.T], 1)
            return F.cross_entropy(scores, right)

        return (end(of_tails, tails) + end(of_heads, heads)) / 2


class PyKeen:
    def __init__(self, decoder, folder):
        import pykeen
        from pykeen.models import ERModel
        from pykeen.triples import TriplesFactory

        self.name = "PyKEEN " + pykeen.get_version()
        factory = TriplesFactory.from_path(os.path.join(folder, "train.txt"))
        self.links = factory.mapped_triples
        self.entities = factory.num_entities
        of_complex = dict(shape=WIDTH // 2, dtype=torch.cfloat)
        rows = of_complex if decoder == "complex" else dict(shape=WIDTH)
        self.model = ERModel(triples_factory=factory, interaction=decoder, entity_representations_kwargs=dict(rows),
                             relation_representations_kwargs=dict(rows), loss="CrossEntropyLoss", random_seed=1)
        self.optimizer = torch.optim.Adagrad(self.model.get_grad_params(), lr=RATE)

    def loss(self, links, others):
        own = self.model.score_hrt(links)
        tails = self.model.score_t(links[:, :2], tails=others)
        heads = self.model.score_h(links[:, 1:], heads=others)
        loss = self.model.loss
        return (loss.process_slcwa_scores(own, tails) + loss.process_slcwa_scores(own, heads)) / 2


def speed(side, decoder, folder, threads, epochs, batches):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    if side == "torch":
        links, entities, relations = read_links(folder)
        peer = PlainLoop(decoder, entities, relations)
    else:
        peer = PyKeen(decoder, folder)
        links, entities = peer.links, peer.entities
    seconds, losses = [], []
    trained = min(len(links), batches * BATCH) if batches else len(links)
    for _ in range(epochs):
        begin, total = time.perf_counter(), 0.0
        order = torch.randperm(len(links))
        for first in range(0, trained, BATCH):
            peer.optimizer.zero_grad()
            loss = peer.loss(links[order[first:min(first + BATCH, trained)]], torch.randint(entities, (NEGATIVES,)))
            loss.backward()
            peer.optimizer.step()
            total += loss.item()
        seconds.append((time.perf_counter() - begin) * len(links) / trained)
        losses.append(total / -(-trained // BATCH))
    return {"peer": peer.name, "links": trained, "seconds": statistics.median_low(seconds[1:] or seconds),
            "epochs": seconds, "losses": losses}


def accuracy(start, folder, threads, epochs, width, batch):
    import pykeen
    from pykeen.pipeline import pipeline
    from pykeen.triples import TriplesFactory

    torch.set_num_threads(threads)
    train = TriplesFactory.from_path(os.path.join(folder, "train.txt"), create_inverse_triples=True)
    # Entities that stand in one of these alone would be dropped: said by how many links are left.
    valid, test = (TriplesFactory.from_path(os.path.join(folder, part + ".txt"), entity_to_id=train.entity_to_id,
                                            relation_to_id=train.relation_to_id) for part in ("valid", "test"))
    model = dict(embedding_dim=width)
    if start == "small":
        within = dict(a=-0.01, b=0.01)
        model.update(regularizer=None, entity_initializer=lambda x: torch.nn.init.uniform_(x, **within),
                     relation_initializer=lambda x: torch.nn.init.uniform_(x, **within))
    begin = time.perf_counter()
    mrr = "both.realistic.inverse_harmonic_mean_rank"
    done = pipeline(training=train, validation=valid, testing=test, model="ComplEx", model_kwargs=model, random_seed=1,
                    training_loop="LCWA", loss="CrossEntropyLoss", optimizer="Adagrad", optimizer_kwargs=dict(lr=RATE),
                    training_kwargs=dict(num_epochs=epochs, batch_size=batch, use_tqdm=False),
                    stopper="early", stopper_kwargs=dict(frequency=5, patience=epochs, relative_delta=0, metric=mrr,
                                                         larger_is_better=True),
                    evaluation_kwargs=dict(use_tqdm=False), device="cpu")
    figures = done.metric_results
    return {"peer": f"PyKEEN {pykeen.get_version()}, {start}", "seconds": time.perf_counter() - begin,
            "mrr": figures.get_metric(mrr), "hits@10": figures.get_metric("both.realistic.hits_at_10"),
            "tested": test.num_triples}


def main():
    what, how = sys.argv[1:3]
    if what == "speed":
        line = speed(how, sys.argv[3], sys.argv[4], *map(int, sys.argv[5:8]))
    else:
        line = accuracy(how, sys.argv[3], *map(int, sys.argv[4:8]))
    line["peak_rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    line["torch"] = torch.__version__
    print(json.dumps(line), flush=True)


main()
