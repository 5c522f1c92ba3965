"""A sequence encoder of one's own: a loop over the items that a user had, in their order.

Training is `fit` of a function of one history. The vector of a user is the state after their last
item; what is trained becomes a model with ids and a file.
"""

import numpy as np

import wyrmling as wy
from wyrmling.data import Interactions
from wyrmling.recommend import Custom

rng, had = np.random.default_rng(0), np.arange(8)
starts = [int(start) for start in rng.integers(0, 30, 200)]
items = [f"page-{(start + k) % 30}" for start in starts for k in had]  # one page after the other
data = Interactions.from_ids(np.repeat([f"user-{n}" for n in range(200)], 8), items)


def encode(vectors, of_state, bias):
    """The state after each item of a history."""
    state = 0.0 * bias
    states = []
    for vector in vectors:
        state = np.tanh(vector + state @ of_state + bias)
        states.append(state)
    return np.stack(states)


def loss(items, of_state, bias, history):
    """The cross-entropy of the item that came next, among all, summed over the steps."""
    states = encode(items[history[:-1]], of_state, bias)
    return wy.cross_entropy(states @ items.T, history[1:]).sum()


histories = wy.Ragged.from_list([data.items[data.users == user] for user in range(data.n_users)])
shapes = {"items": (data.n_items, 16), "of_state": (16, 16), "bias": 16}
tables = {name: wy.Parameter(wy.nn.xavier(shape, rng)) for name, shape in shapes.items()}
wy.fit(loss, {"history": histories}, parameters=tables, optimizer=wy.Adam(lr=0.01), epochs=30)
items, of_state, bias = (table.value for table in tables.values())
users = np.stack([encode(items[history], of_state, bias)[-1] for history in histories])
model = Custom.from_factors(users, items, data)
model.save("sequence_encoder.safetensors")
print(data.item_ids.take(histories[0]), model.recommend("user-0", n=1))
