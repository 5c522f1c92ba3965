"""A small network in NumPy's notation: its graph and gradient, then trained on two spirals."""

import numpy as np

import wyrmling as wy

# One layer on numbers that one can follow.
x = wy.Variable(np.arange(-4.0, 4.0).reshape(2, 4))
w = wy.Variable(np.arange(-2.0, 2.0).reshape(4, 1))
total = np.sum(np.maximum(np.dot(x, w), 0.0))
total.backward()
print(f"gradient of x {x.grad.tolist()}")
print(f"gradient of w {w.grad.tolist()}")
print(wy.draw(total))

# Two spirals, one in the other. Points of the first have the label 1, of the second -1.
POINTS, HIDDEN = 100, 24
rng = np.random.default_rng(0)
angle = np.linspace(0.5, 3.0, POINTS) * np.pi
spiral = np.stack([angle * np.cos(angle), angle * np.sin(angle)], axis=1) / 4.0
points = np.concatenate([spiral, -spiral]) + rng.normal(0.0, 0.05, (2 * POINTS, 2))
labels = np.repeat([1.0, -1.0], POINTS)


def layer(inputs: int, outputs: int) -> tuple[wy.Parameter, wy.Parameter]:
    """Weights, drawn at random, and offsets."""
    weights = rng.normal(0.0, 1.0 / np.sqrt(inputs), (inputs, outputs))
    return wy.Parameter(weights), wy.Parameter(np.zeros(outputs))


layers = [layer(2, HIDDEN), layer(HIDDEN, HIDDEN), layer(HIDDEN, 1)]


def network(values: wy.Variable | np.ndarray) -> wy.Variable:
    """The score of each point, positive for the first spiral."""
    *hidden, last = layers
    for weights, offsets in hidden:
        values = np.tanh(values @ weights + offsets)
    weights, offsets = last
    return (values @ weights + offsets)[:, 0]


score = network(points)
# The logistic loss, ln(1 + exp(-label * score)).
loss = -np.mean(wy.logsigmoid(labels * score))
optimizer = wy.Adam(lr=0.02)
for step in range(301):
    loss.zero_grad()
    loss.backward()
    if step % 100 == 0:
        print(f"step {step:3}: loss {loss.item():.4f}")
    optimizer.step(loss.parameters())
right = np.mean(np.sign(score.value) == labels)
print(f"{right:.1%} of the points are on the right side")
