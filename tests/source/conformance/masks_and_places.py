"""Rows and elements that masks and arrays of integers name, which are written to themselves."""

import numpy as np

from .case import at

V = np.array([0.35, 1.2, 0.7, 0.4, 2.1, 0.9])


@at(V)
def rows_in_place_by_a_column(x):
    B = x.reshape(2, 3).copy()
    B[B[:, 0] > 0.3] *= 2
    return (B * np.arange(6.0).reshape(2, 3)).sum()


@at(V)
def elements_in_place_by_a_slice(x):
    y = x.copy()
    y[y > 0.5] += 1
    y[y[::2].argmax()] = 0
    return (y**2).sum()


@at(V)
def row_in_place(x):
    B = x.reshape(2, 3).copy()
    B[B[0].argmax()] *= 2
    return B.sum()


@at(V)
def ranks(x):
    order = np.argsort(x)
    rank = np.empty(len(x), dtype=int)
    rank[order] = np.arange(len(x))
    return (x * rank).sum()


@at(V)
def labels(x):
    lab = np.zeros(6, int)
    lab[x > 0.5] = 1
    lab[x > 1] = 2
    out = 0.0
    for k in range(3):
        if (lab == k).any():
            out = out + x[lab == k].mean() * (k + 1)
    return out


@at(V)
def counts_in_a_grid(x):
    grid = np.zeros((3, 3), dtype=int)
    for v in x:
        i = int(v * 2) % 3
        j = int(v * 5) % 3
        grid[i, j] += 1
    return (x[:3] @ grid).sum() * grid.max()


@at(V)
def array_of_a_list(x):
    idx = list(range(6))
    idx[2] = 5
    arr = np.array(idx)
    arr[0] = 3
    return x[arr].sum() + x[idx].prod()


@at(V)
def cumulated(x):
    c = np.zeros(6, dtype=np.int64)
    c[1:] = np.cumsum(np.ones(5, dtype=int))
    c = c + 1
    c[0] = 5
    return (x * c).sum()


@at(V)
def identity_changed(x):
    a = np.eye(3, dtype=int)
    a[0, 2] = 4
    return (a @ x[:3]).sum() + np.trace(a) * x[0] + a.sum(axis=0)[2] * x[1]


@at(V)
def all_but_the_diagonal(x):
    m = np.ones((3, 3), dtype=bool)
    m[np.diag_indices(3)] = False
    d = np.abs(x[:3, None] - x[None, :3])
    return d[m].mean()


@at(V)
def triangle_changed(x):
    m = np.triu(np.ones((3, 3), dtype=bool), 1)
    m[0, 2] = False
    d = np.abs(x[:3, None] - x[None, :3])
    return d[m].sum()


@at(V)
def flags(x):
    ok = True
    flags = np.array([True] * 6)
    for i in range(6):
        flags[i] = flags[i] and x[i] > 0.5
        ok = ok and bool(flags[i])
    return x[flags].sum() * (2 if ok else 1)


@at(V)
def counted_by_a_closure(x):
    n = np.zeros(1, int)

    def visit(i):
        n[0] += 1
        return x[i] + (visit(i + 1) if i < 4 else 0)

    return visit(0) * n[0]


M = np.array([[0.35, -1.2, 0.7, 0.4], [2.1, 0.9, -0.3, 1.3], [-0.6, 0.2, 1.7, -2.2]])


@at(M)
@at(-M)
@at(np.abs(M))
@at(-np.abs(M))
def elements_by_argwhere(x):
    total = 0.0
    for i, j in np.argwhere(x > 0.0):
        total += x[i, j] ** 2 * (i + 2 * j)
    return total + len(np.argwhere(x[0] > 0.5)) * x[0, 0]


@at(M)
@at(-M)
def columns_in_place(x):
    y, mask = x.copy(), x[0] > 0.0
    y[:, mask] -= 1
    y[:, mask] = 0.5 * y[:, mask] + x[..., mask]
    y[:, np.argsort(x[0])] *= x
    return (y * y).sum()


@at(M)
@at(-M)
def columns_after_an_ellipsis(x):
    y, mask = np.stack([x, 2 * x]), x[0] > 0.0
    y[..., mask] = 0.5 * y[..., mask]
    y[..., ~mask] = 3.0
    return (y * y).sum() + x[..., mask].sum()


@at(V)
@at(V - 0.3)
def rows_that_are_unpacked(x):
    first, second = x[x > 0.8][:2]
    total = first - 2 * second
    for a, b in x.reshape(3, 2)[x[::2] > 0.5]:
        total += a * b
    return total
