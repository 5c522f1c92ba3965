"""A line through noisy points: its gradient, steps by hand, and a fit."""

import numpy as np

import wyrmling as wy

# One point. The graph is built, and evaluated, as the expression is written.
slope, intercept = wy.Parameter(1.0, name="slope"), wy.Parameter(0.0, name="intercept")
x, y = wy.Input(3.0), wy.Input(7.0)
loss = (y - (slope * x + intercept)).square()
loss.backward()
print(f"loss {loss.item()}, gradient {slope.grad} {intercept.grad}")

# An assigned value is seen by everything computed from it.
x.value = 0.0
print(f"loss at x = 0: {loss.item()}")

# Many points on the line 2 x + 1, with noise. An input's first axis may change its length.
rng = np.random.default_rng(0)
xs = rng.uniform(-1.0, 1.0, 1000)
ys = 2.0 * xs + 1.0 + rng.normal(0.0, 0.1, 1000)
x, y = wy.Input([0.0], name="x"), wy.Input([0.0], name="y")
loss = (y - (slope * x + intercept)).square().sum()

# Steps written in Python: all points at once.
x.value, y.value = xs, ys
optimizer = wy.SGD(lr=0.0005)
for _ in range(20):
    loss.zero_grad()
    loss.backward()
    optimizer.step(loss.parameters())
print(f"after 20 steps: {slope.item():.2f} x + {intercept.item():.2f}")

# The same loss in batches of 10, without Python in the loop.
slope.value, intercept.value = 0.0, 0.0
history = wy.fit(loss, {x: xs, y: ys}, optimizer=wy.SGD(lr=0.01), epochs=5, batch_size=10)
print(f"after 5 epochs: {slope.item():.2f} x + {intercept.item():.2f}")
print(f"mean loss {history.loss[-1] / len(xs):.4f}; the noise alone is 0.01")
