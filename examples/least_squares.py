"""Linear regression by gradient descent, against the solution in closed form.

The mean square is written with NumPy's own functions: on variables they record what they compute.
"""

import numpy as np

import wyrmling as wy

SAMPLES, FEATURES = 500, 10

rng = np.random.default_rng(0)
x = rng.normal(size=(SAMPLES, FEATURES))
truth = rng.normal(size=FEATURES)
y = x @ truth + 0.5 + rng.normal(0.0, 0.1, SAMPLES)

weights, offset = wy.Parameter(np.zeros(FEATURES)), wy.Parameter(0.0)
loss = np.mean(np.square(np.dot(x, weights) + offset - y))

# The gradient of a mean of squares is known: 2 / n times the residuals against each column.
loss.backward()
by_hand = -2.0 / SAMPLES * (y @ x)
print(f"gradient differs by {np.abs(weights.grad - by_hand).max():.1e} from the formula")

optimizer = wy.SGD(lr=0.2)
for step in range(1, 101):
    optimizer.step([weights, offset])
    loss.zero_grad()
    loss.backward()
    if step % 20 == 0:
        print(f"step {step:3}: mean square {loss.item():.6f}")

columns = np.column_stack([x, np.ones(SAMPLES)])
solution, *_ = np.linalg.lstsq(columns, y)
found = np.append(weights.value, offset.value)
print(f"weights differ by {np.abs(found - solution).max():.1e} from the solution")
