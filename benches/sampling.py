"""What a draw of each sampler costs, and what negatives are worth to BPR.

    python benches/sampling.py [PATH]

A draw is timed within `fit` of a loss that ignores what is drawn: the CPU time of 21 draws a sample
less that of one, over 20, for 100,000 samples of made-up data of the size and skew of MovieLens
100K and 1M. It is printed without a user's positives and with them, the median of three runs.

With PATH, MovieLens 100K as text, BPR is trained for each `sampling`, and its ranking of a random
fifth of the interactions is printed, the mean of three seeds.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wyrmling as wy
from wyrmling.datasets import read_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import BPR

MORE, SAMPLES, FACTORS = 20, 100_000, 32
Make = Callable[[dict[str, wy.Parameter], dict[str, Any]], Any]


def pairs(n_users: int, n_items: int, count: int) -> tuple[Any, Any]:
    """Distinct pairs of users and items, both by power laws."""
    rng = np.random.default_rng(0)
    by_user = (np.arange(n_users) + 20.0) ** -0.6
    by_item = (np.arange(n_items) + 10.0) ** -0.8
    users = rng.choice(n_users, 2 * count, p=by_user / by_user.sum())
    items = rng.choice(n_items, 2 * count, p=by_item / by_item.sum())
    both = rng.permutation(np.unique(users * n_items + items))[:count]
    return both // n_items, both % n_items


def loss(w: Any, v: Any, user: int, item: int, negatives: Any) -> Any:
    """Looks at one of the negatives alone."""
    return w[item] + v[user] + 0.0 * w[negatives[0]]


def seconds(make: Make, tables: dict[str, wy.Parameter], columns: dict[str, Any], n: int) -> float:
    """CPU seconds of an epoch with `n` draws a sample."""
    sampler = make(tables, {"shape": n})
    given = {"w": tables["w"], "v": tables["v"]}

    def run(epochs: int) -> float:
        start = time.process_time()
        wy.fit(
            loss,
            columns,
            sample={"negatives": sampler},
            parameters=given,
            optimizer=wy.SGD(lr=1e-9),
            epochs=epochs,
        )
        return time.process_time() - start

    once = run(1)
    return (run(3) - once) / 2


def costs(n_users: int, n_items: int, count: int) -> None:
    """Prints nanoseconds a draw."""
    users, items = pairs(n_users, n_items, count)
    counts = np.bincount(items, minlength=n_items)
    rng = np.random.default_rng(1)
    tables = {
        "users": wy.Parameter(rng.normal(0, 0.1, (n_users, FACTORS)).astype(np.float32)),
        "items": wy.Parameter(rng.normal(0, 0.1, (n_items, FACTORS)).astype(np.float32)),
        "w": wy.Parameter(np.zeros(n_items, np.float32)),
        "v": wy.Parameter(np.zeros(n_users, np.float32)),
    }
    chosen = rng.permutation(len(users))[:SAMPLES]
    columns = {"user": users[chosen], "item": items[chosen]}
    by_model = {"given": "user"}
    makes: dict[str, Make] = {
        "Uniform": lambda t, rest: wy.sampling.Uniform(n_items, **rest),
        "Popularity": lambda t, rest: wy.sampling.Popularity(counts, **rest),
        "InBatch": lambda t, rest: wy.sampling.InBatch("item", n_items, **rest),
        "Adaptive": lambda t, rest: wy.sampling.Adaptive(t["users"], t["items"], **rest | by_model),
        "Dynamic, of=5": lambda t, rest: wy.sampling.Dynamic(
            t["users"], t["items"], **rest | by_model
        ),
    }
    known = {"positives": (users, items), "given": "user"}
    for name, make in makes.items():

        def rejecting(t: dict[str, wy.Parameter], rest: dict[str, Any], make: Make = make) -> Any:
            return make(t, rest | known)

        found: dict[str, list[float]] = {"": [], "rejecting": []}
        for _ in range(3):
            for kind, one in (("", make), ("rejecting", rejecting)):
                more = seconds(one, tables, columns, 1 + MORE) - seconds(one, tables, columns, 1)
                found[kind].append(more / SAMPLES / MORE * 1e9)
        plain, without = (np.median(times) for times in found.values())
        print(f"  {name:14} {plain:6.1f} ns, rejecting {without:6.1f} ns")


def quality(path: str) -> None:
    """Prints what BPR ranks by negatives of each kind."""
    data = read_interactions(path)
    for sampling in ("uniform", "popularity", "in_batch", "adaptive"):
        found, spent = [], 0.0
        for seed in range(3):
            is_test = np.random.default_rng(seed).random(len(data)) < 0.2
            start = time.process_time()
            model = BPR(sampling=sampling, num_threads=1, random_state=seed)  # type: ignore[arg-type]
            model.fit(data.take(~is_test))
            spent += time.process_time() - start
            test = data.take(is_test)
            found.append(evaluate(model, test, ["ndcg@10"], resamples=1)["ndcg@10"])
        print(f"  {sampling:14} NDCG@10 {np.mean(found):.4f}, {spent / 3:.2f} s")


def main() -> None:
    """Prints all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("path", nargs="?")
    path = parser.parse_args().path
    sizes = {"100K": (943, 1682, 100_000), "1M": (6040, 3706, 1_000_000)}
    for name, size in sizes.items():
        print(f"of the size of MovieLens {name}")
        costs(*size)
    if path is not None:
        print("BPR")
        quality(path)


if __name__ == "__main__":
    main()
