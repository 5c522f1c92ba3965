"""Features of items: the vector of an item is its own, and those of its genres.

Training is `fit` of a function; what is trained becomes a model with ids and a file. An item that
nobody has had is recommended by its genres. (`recommend.FactorizationMachine` does this, too.)
"""

from dataclasses import replace

import numpy as np

import wyrmling as wy
from wyrmling.datasets import make_interactions
from wyrmling.recommend import Custom

data = make_interactions(n_users=300, n_items=160, seed=1)
data = replace(data, item_ids=data.item_ids.extended(["jazz-new"]))
names = sorted({item.split("-")[0] for item in data.item_ids})
genres = np.array([[item.split("-")[0] == name for name in names] for item in data.item_ids], "f4")


def loss(users, items, of_genre, user, item, negative):
    """An item that the user had is to score more than another."""
    better = items[item] + genres[item] @ of_genre
    worse = items[negative] + genres[negative] @ of_genre
    return -wy.logsigmoid(users[user] @ (better - worse))


rng = np.random.default_rng(0)
counts = {"users": data.n_users, "items": data.n_items, "of_genre": len(names)}
tables = {name: wy.Parameter(wy.nn.normal((n, 16), 0.1, rng)) for name, n in counts.items()}
others = wy.sampling.Uniform(data.n_items - 1, positives=(data.users, data.items), given="user")
columns, sample = {"user": data.users, "item": data.items}, {"negative": others}
wy.fit(loss, columns, sample=sample, parameters=tables, optimizer=wy.Adagrad(lr=0.05), epochs=20)
users, items, of_genre = (table.value for table in tables.values())
model = Custom.from_factors(users, items + genres @ of_genre, data)
model.save("item_features.safetensors")
print(model.recommend("user-1", n=3), model.similar_items("jazz-new", n=3))
