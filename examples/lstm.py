"""The next item of a sequence, by an LSTM over sequences of different lengths.

The loss is a function of one sequence in plain Python: a loop that carries the state on, with no
padding and no mask. It is read once, and training runs no Python.
"""

from itertools import pairwise

import numpy as np

import wyrmling as wy

ITEMS, HIDDEN, SEQUENCES = 30, 16, 1500
rng = np.random.default_rng(0)

# Whoever is at item i goes on to i + step, by a step that is the sequence's own. So what comes next
# depends on the last two items.
steps = rng.choice([1, 4, 11], SEQUENCES)
lengths = rng.integers(2, 15, SEQUENCES)
starts = rng.integers(0, ITEMS, SEQUENCES)
sequences = wy.Ragged.from_list(
    (start + step * np.arange(length)) % ITEMS
    for start, step, length in zip(starts, steps, lengths, strict=True)
)
train, test = sequences[:-200], sequences[-200:]


def sigmoid(z):
    """From 0 to 1."""
    return 1.0 / (1.0 + np.exp(-z))


def lstm(W, U, b, x, h, c):
    """The next state (Hochreiter and Schmidhuber, 1997; with a forget gate, Gers et al., 2000)."""
    z = W @ x + U @ h + b
    keep, add, show = sigmoid(z[:HIDDEN]), sigmoid(z[HIDDEN : 2 * HIDDEN]), sigmoid(z[-HIDDEN:])
    c = keep * c + add * np.tanh(z[2 * HIDDEN : 3 * HIDDEN])
    return show * np.tanh(c), c


def loss(E, W, U, b, items, negatives):
    """The hinge loss: an item is to score one more than a negative, given those before."""
    h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
    total = 0.0
    for t in range(len(items) - 1):
        h, c = lstm(W, U, b, E[items[t]], h, c)
        margin = h @ E[items[t + 1]] - h @ E[negatives[t]]
        if margin < 1.0:
            total += 1.0 - margin
    return total


E = wy.Parameter(rng.normal(0.0, 0.3, (ITEMS, HIDDEN)))
W = wy.Parameter(rng.normal(0.0, 0.25, (4 * HIDDEN, HIDDEN)))
U = wy.Parameter(rng.normal(0.0, 0.25, (4 * HIDDEN, HIDDEN)))
b = wy.Parameter(np.repeat([1.0, 0.0], [HIDDEN, 3 * HIDDEN]))
history = wy.fit(
    loss,
    {"items": train},
    parameters={"E": E, "W": W, "U": U, "b": b},
    sample={"negatives": wy.sampling.Uniform(ITEMS, shape="items")},
    optimizer=wy.Adam(lr=0.01),
    epochs=15,
    batch_size=8,
)
print(f"loss {history.loss[0] / len(train):.2f} to {history.loss[-1] / len(train):.2f} a sequence")


def hits(items):
    """Whether each item from the third on has the highest score of all."""
    h = c = np.zeros(HIDDEN)
    found = []
    for item, after in pairwise(items):
        h, c = lstm(W.value, U.value, b.value, E.value[item], h, c)
        found.append(np.argmax(E.value @ h) == after)
    return found[1:]


right = np.mean([hit for items in test for hit in hits(items)])
print(f"{right:.0%} of the next items are found; by chance it is {1 / ITEMS:.0%}")
