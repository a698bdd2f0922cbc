"""Makes a shop's tables, as a user has them: products under text ids, with quoted commas, dates, cells that are missing and a
department to be told; and what was bought together, of which a few rows name products that are not sold any more.

usage: shop.py FOLDER [SEED]      writes FOLDER/products.csv and FOLDER/bought_together.csv
"""

import csv
import datetime
import os
import random
import sys

NOUNS = {
    "Garden & Outdoor": ["spade", "hose", "planter", "rake"],
    "Kitchen": ["pan", "kettle", "knife", "bowl"],
    "Office": ["stapler", "lamp", "binder", "chair"],
    "Toys, Games": ["puzzle", "kite", "cards", "robot"],
    "Pets": ["leash", "basket", "brush", "feeder"],
}
DEPARTMENTS = list(NOUNS)
ADJECTIVES = ["small", "large", "red", "oak", 'round, 8"', "folding", "steel"]


def write_products(path, skus, of, draw):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["sku", "title", "price", "weight_kg", "reviews", "released", "in_stock", "department"])
        for sku, kind in zip(skus, of):
            title = f"{draw.choice(ADJECTIVES).capitalize()} {draw.choice(NOUNS[DEPARTMENTS[kind]])}{draw.choice(['', ', set of 2'])}"
            price = "" if draw.random() < 0.04 else f"{draw.lognormvariate(2.5 + 0.3 * kind, 0.6):.2f}"
            weight = "" if draw.random() < 0.1 else f"{draw.lognormvariate(0.4 * (kind * 3 % 5) - 1, 0.7):.3f}"
            released = datetime.date(2019, 1, 1) + datetime.timedelta(days=int(draw.betavariate(2 + kind, 3) * 2400))
            department = "" if draw.random() < 0.2 else DEPARTMENTS[kind]
            out.writerow([sku, title, price, weight, int(draw.expovariate(0.02)), released, draw.choice(["yes", "no"]), department])


def write_pairs(path, skus, of, pairs, draw):
    alike = [[i for i, kind in enumerate(of) if kind == each] for each in range(len(DEPARTMENTS))]
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["sku", "also_bought", "times", "last_bought"])
        for number in range(pairs):
            one = draw.randrange(len(skus))
            other = draw.choice(alike[of[one]]) if draw.random() < 0.7 else draw.randrange(len(skus))
            last = datetime.date(2024, 1, 1) + datetime.timedelta(days=draw.randrange(700))
            gone = number % 2000 == 1999  # a product that is in no list
            out.writerow([skus[one], f"ZZ-{number:05d}" if gone else skus[other], 1 + int(draw.expovariate(0.5)), last])


def write_shop(folder, seed=1, products=3000, pairs=15000):
    draw = random.Random(seed)
    of = [draw.randrange(len(DEPARTMENTS)) for _ in range(products)]
    skus = [f"{draw.choice('GKOTP')}{draw.choice('AX')}-{i:05d}" for i in range(products)]
    draw.shuffle(skus)
    write_products(os.path.join(folder, "products.csv"), skus, of, draw)
    write_pairs(os.path.join(folder, "bought_together.csv"), skus, of, pairs, draw)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    write_shop(sys.argv[1], *map(int, sys.argv[2:]))
