"""Ranking quality and speed on MovieLens 100K, which may not be shipped.

    python benches/movielens.py PATH

PATH is the data set as text: lines of user, item and rating, with a header or not
(`u.data` of https://grouplens.org/datasets/movielens/100k/ is one). For each seed, 20 %
of the interactions are held out at random, whatever their rating. Users and items get 32
factors, drawn from a normal distribution with standard deviation 0.1; a score is their
product, without bias. The loss -sigmoid(score of an item seen - score of an item drawn
uniformly from all) is summed over batches of 10, for 50 epochs of SGD, on one thread and
on two.

Printed are the metrics of `wyrmling.evaluation`, which defines them, beside those of
popularity, and samples a second in the fastest epoch. The mean reciprocal rank (of a user's
best item) is expected above 0.5 in every run; if one is not, the exit code is 1.
"""

import argparse
import sys

import numpy as np
import numpy.typing as npt

import wyrmling as wy
from wyrmling.data import Interactions
from wyrmling.datasets import read_interactions
from wyrmling.evaluation import Evaluation, evaluate, popularity
from wyrmling.recommend import Custom

FACTORS, BATCH, EPOCHS = 32, 10, 50
EXPECTED = 0.5
METRICS = ("mrr", "ndcg@10", "recall@10", "auc")


def train(
    data: Interactions, test: Interactions, lr: float, threads: int, seed: int
) -> tuple[Evaluation, float]:
    """Trains once; what the model is worth, and millions of samples a second."""
    rng = np.random.default_rng(seed)

    def vectors(count: int) -> npt.NDArray[np.float32]:
        return rng.normal(0, 0.1, (count, FACTORS)).astype(np.float32)

    users = wy.Parameter(vectors(data.n_users), name="users")
    items = wy.Parameter(vectors(data.n_items), name="items")
    u, i, j = wy.IndexInput([0]), wy.IndexInput([0]), wy.IndexInput([0])
    loss = -(wy.vecdot(users[u], items[i]) - wy.vecdot(users[u], items[j])).sigmoid().sum()
    history = wy.fit(
        loss,
        {u: data.users, i: data.items},
        sample={j: wy.sampling.Uniform(data.n_items)},
        optimizer=wy.SGD(lr=lr),
        epochs=EPOCHS,
        batch_size=BATCH,
        threads=threads,
        seed=seed,
    )
    model = Custom.from_factors(users.value, items.value, data)
    quality = evaluate(model, test, METRICS)
    return quality, history.samples / min(history.seconds) / 1e6


def main() -> int:
    """Runs every seed on one thread and on two."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("path", help="MovieLens 100K")
    parser.add_argument("--lr", type=float, default=0.1, help="step length [%(default)s]")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds [%(default)s]")
    options = parser.parse_args()

    everything = read_interactions(options.path)
    print(f"{everything}\n\nseed  threads       MRR   NDCG@10  recall@10       AUC  M samples/s")
    worst = 1.0
    for seed in range(options.seeds):
        data, test = everything.split(0.2, seed)
        rows = [("-", evaluate(popularity(data), test, METRICS), "")]
        for threads in (1, 2):
            quality, speed = train(data, test, options.lr, threads, seed)
            worst = min(worst, quality["mrr"])
            rows.append((str(threads), quality, f"{speed:11.1f}"))
        for threads, quality, speed in rows:
            mrr, ndcg, recall, auc = (quality[name] for name in METRICS)
            name = f"{threads:>7}" if speed else "popular"
            metrics = f"{mrr:8.4f}  {ndcg:8.4f}  {recall:9.4f}  {auc:8.4f}"
            print(f"{seed:4}  {name}  {metrics}  {speed}")
    print(f"\nworst mean reciprocal rank {worst:.4f}, expected above {EXPECTED}")
    return 0 if worst > EXPECTED else 1


if __name__ == "__main__":
    sys.exit(main())
