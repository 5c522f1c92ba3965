"""Approximate search: a model's vectors in an index of hnswlib or faiss, whichever is installed.

Among millions of items an index finds nearly the best ones without looking at all. It finds near
vectors, and knows neither products nor biases. An item's bias becomes one element more of its
vector, which meets a 1 in the vector of the user; another element gives all items one length, so
that the nearest has the largest product (Bachrach et al., "Speeding Up the Xbox Recommender System
Using a Euclidean Transformation for Inner-Product Spaces", RecSys 2014). For fewer items
``model.recommend`` is exact and fast.
"""

from importlib.util import find_spec

import numpy as np

from wyrmling.datasets import make_interactions
from wyrmling.recommend import BPR

data = make_interactions(n_users=500, n_items=2000, per_user=40, seed=0)
model = BPR(factors=16, epochs=10, num_threads=1).fit(data)

arrays = model.fitted.arrays
items = np.column_stack([arrays["items"], arrays["item_bias"]])
squares = (items**2).sum(axis=1)
items = np.column_stack([items, np.sqrt(squares.max() - squares)])
zeros = np.zeros(len(arrays["users"]), np.float32)
users = np.column_stack([arrays["users"], zeros + 1, zeros])
count = 100


def by_hnswlib() -> np.ndarray:
    """The items nearest to each user, of a graph (Malkov and Yashunin, 2018)."""
    import hnswlib

    index = hnswlib.Index(space="l2", dim=items.shape[1])
    index.init_index(len(items), ef_construction=200, M=16)
    index.add_items(items, np.arange(len(items)), num_threads=1)
    index.set_ef(2 * count)
    return index.knn_query(users, count)[0]


def by_faiss() -> np.ndarray:
    """The same, of a graph by faiss."""
    import faiss

    index = faiss.IndexHNSWFlat(items.shape[1], 16)
    index.hnsw.efConstruction = 200
    index.hnsw.efSearch = 2 * count
    index.add(items)
    return index.search(users, count)[1]


searches = {"hnswlib": by_hnswlib, "faiss": by_faiss}
exact = model.recommend(list(model.user_ids), count, exclude_seen=False)
for name, search in searches.items():
    if find_spec(name) is None:
        print(f"{name} is not installed")
        continue
    found = model.item_ids.take(search())
    shared = [
        len(set(row) & set(best))
        for row, best in zip(found.tolist(), exact.items.tolist(), strict=True)
    ]
    print(f"{name} finds {np.mean(shared):.1f} of the {count} best items")
    # What a user had is left out afterwards: more are asked for than are shown.
    seen = set(model.item_ids.take(model.seen.row(0)).tolist())
    print(f"{model.user_ids[0]}:", *[item for item in found[0] if item not in seen][:5])
