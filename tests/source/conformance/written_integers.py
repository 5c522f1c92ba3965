"""Arrays of integers and masks that are written to, and what is looked up by them."""

import numpy as np

from .case import at

V = np.array([0.35, 1.25, 0.75, 0.45, 2.15, 0.95])
M = np.array(
    [
        [0.11, 1.23, 0.72, 2.48],
        [1.36, 0.21, 0.64, 0.83],
        [0.57, 0.94, 0.3, 1.79],
        [2.2, 1.1, 0.4, 0.15],
    ]
)


def marks(m, i):
    m[i] = True


@at(V)
def rows_exchanged_by_pivoting(x):
    n = x.shape[0]
    p = np.arange(n)
    s = 0.0
    for k in range(n - 1):
        m = k + np.argmax(np.abs(x[k:]))
        p[k], p[m] = (p[m], p[k])
        s = s + x[p[k]] * k
    return s


@at(V)
def places_seen(x):
    n = x.shape[0]
    seen = np.zeros(n, dtype=bool)
    s = 0.0
    j = 0
    while not seen[j]:
        seen[j] = True
        s = s + x[j] * (j + 1)
        j = (j * 3 + 1) % n
    return s


@at(V, 4)
def counted_in_bins(x, bins):
    c = np.zeros(bins, int)
    s = np.zeros(bins)
    for i in range(len(x)):
        b = int(x[i] * bins / 3.1)
        c[b] += 1
        s[b] += x[i]
    return (s[c > 0] / c[c > 0]).sum()


@at(V)
def mask_changed(x):
    m = x > 0.5
    m[0] = False
    m[-1] = True
    return np.sum(x[m] ** 2)


@at(V)
def masks_united_in_place(x):
    m = x > 0.5
    m |= x < 0.3
    return np.sum(np.where(m, x, x**2))


@at(np.linspace(0.1, 1.0, 20))
def sieve(x):
    n = len(x)
    is_p = np.ones(n, dtype=bool)
    is_p[:2] = False
    for i in range(2, n):
        if is_p[i]:
            for j in range(i * i, n, i):
                is_p[j] = False
    return np.sum(x[is_p]) + is_p.sum() * x[0]


@at(M)
def spanning_tree(x):
    n = x.shape[0]
    inn = np.zeros(n, dtype=bool)
    dist = np.full(n, np.inf)
    parent = np.full(n, -1)
    dist[0] = 0.0
    total = 0.0
    for _ in range(n):
        u = -1
        best = np.inf
        for v in range(n):
            if not inn[v] and dist[v] < best:
                best = dist[v]
                u = v
        inn[u] = True
        total += best
        for v in range(n):
            if not inn[v] and x[u, v] < dist[v]:
                dist[v] = x[u, v]
                parent[v] = u
    return total + 0.1 * parent[1]


@at(M, M.T * 1.3)
def best_path(E, T):
    n, k = E.shape
    V = np.zeros((n, k))
    B = np.zeros((n, k), dtype=int)
    V[0] = E[0]
    for t in range(1, n):
        for j in range(k):
            sc = V[t - 1] + T[:, j]
            B[t, j] = np.argmax(sc)
            V[t, j] = np.max(sc) + E[t, j]
    path = np.zeros(n, dtype=int)
    path[-1] = np.argmax(V[-1])
    for t in range(n - 2, -1, -1):
        path[t] = B[t + 1, path[t + 1]]
    s = 0.0
    for t in range(n):
        s += E[t, path[t]]
    return s


@at(V)
def operators_in_place(x):
    idx = np.arange(len(x))
    idx += 1
    idx %= len(x)
    idx[idx == 2] = 0
    return np.sum(x[idx] * np.arange(len(x)))


@at(V)
def filled_and_copied(x):
    c = np.empty(3, dtype=np.int64)
    c.fill(2)
    c[0] = 1
    d = c.copy()
    d[1] = 0
    return x[c[0]] + x[d].sum() * 3 + c.sum() * x[1] + d[1]


@at(V)
def two_names(x):
    c = np.zeros(4, dtype=int)
    d = c
    d[2] = 3
    return x[c[2]] + x[c].sum()


@at(V)
def slices_assigned(x):
    c = np.arange(5)
    c[1:4] = c[0:3]
    c[4:] = [2]
    return np.sum(x[c] * np.array([1.0, 2.0, 3.0, 4.0, 5.0]))


@at(V)
def cells_that_live(x):
    g = x > 0.4
    h = g.copy()
    for i in range(1, len(x) - 1):
        h[i] = g[i - 1] ^ g[i + 1]
    return np.sum(x[h]) + 2 * np.sum(x[g])


@at(V)
def table_of_products(x):
    n = x.shape[0]
    t = np.zeros((n, n), dtype=int)
    for i in range(n):
        for j in range(n):
            t[i, j] = i * j % n
    return np.sum(x[t[1]]) + np.sum(x[t[:, 2]]) * t.max() + len(t) * t.shape[1] * x[0]


@at(V)
def truths_as_numbers(x):
    m = np.zeros(len(x), bool)
    for i in range(len(x)):
        m[i] = x[i] > 0.5
    return np.sum(m * x) + m.mean() * x[0]


@at(V)
def united_sets(x):
    n = len(x)
    p = np.arange(n)
    for i in range(n - 1):
        a = i
        b = int(x[i] * 10) % n
        while p[a] != a:
            a = p[a]
        while p[b] != b:
            b = p[b]
        if a != b:
            p[a] = b
    roots = 0
    s = 0.0
    for i in range(n):
        if p[i] == i:
            roots += 1
            s += x[i]
    return s * roots


@at(V, 1.0)
@at(V, -1.0)
def written_on_one_path(x, flag):
    idx = np.zeros(3, int)
    if flag > 0:
        idx[1] = 2
    else:
        idx = np.array([1, 2, 3])
    return x[idx].sum()


@at(V)
def slice_that_is_a_view(x):
    c = np.arange(5)
    d = c[1:]
    c[2] = 4
    return x[d].sum()


@at(V)
def element_of_a_row(x):
    t = np.zeros((3, 3), dtype=int)
    for i in range(3):
        t[i][1] = i
    return x[t[2]].sum()


@at(V)
def row_with_a_name(x):
    t = np.zeros((3, 3), dtype=int)
    for i in range(3):
        r = t[i]
        r[0] = i
    return x[t[2]].sum()


@at(V)
def beyond_53_bits(x):
    c = np.zeros(2, int)
    k = 3
    for i in range(60):
        k = k * 2
        c[0] = k
    return x.sum() * (c[0] % 7)


@at(V)
def numbers_as_truths(x):
    m = np.zeros(6, bool)
    m[2] = 5
    m[3] = x[0]
    m[4] = 0.0
    return x[m].sum()


@at(V)
def arithmetic_on_elements(x):
    c = np.zeros(6, int)
    c[0] += 5
    c[1] -= 3
    c[0] //= 2
    c[2] = c[0] * c[1]
    return x[c[0]] * c[2] / c[1]


@at(V)
def divided(x):
    c = np.zeros(3, int)
    c[1] = 4
    return np.sum(x[:3] / (c + 1)) + (c / 2).sum() * x[0] + c.mean()


@at(V)
def mask_operators(x):
    m = x > 1
    m[0] = True
    n = m.copy()
    n[1] = not n[0]
    return x[m & n].sum() + x[m ^ n].sum() * 2 + x[~m].sum() * 3


@at(V)
def added_at(x):
    c = np.zeros(3, int)
    np.add.at(c, [0, 1, 1], 1)
    return (c * x[:3]).sum()


@at(V)
def list_of_masks(x):
    ms = [np.zeros(6, bool) for _ in range(3)]
    for i in range(3):
        ms[i][i] = True
    return sum((x[m].sum() * (k + 1) for k, m in enumerate(ms)))


@at(V)
def written_by_another_function(x):
    m = np.zeros(len(x), bool)
    for i in range(0, len(x), 2):
        marks(m, i)
    return x[m].sum()


@at(V)
def names_exchanged(x):
    a = np.zeros(6, int)
    b = np.ones(6, int)
    for i in range(6):
        a[i] = b[i] + i
        a, b = (b, a)
    return (x * a).sum() + (x * b).sum() * 3


@at(V)
def counted_while(x):
    c = np.zeros(6, int)
    i = 0
    x = x[0]
    while x < 50:
        c[i % 6] += 1
        x = x * 1.3 + x[i % 6]
        i += 1
    return x * c.max() + c.sum()


@at(V)
def compared(x):
    c = np.arange(6)
    c[0] = 9
    return x[c < 4].sum() + (c == 9).sum() * x[0] + float(np.any(c > 8)) + x[np.argmax(c)]


@at(V)
def several_places(x):
    c = np.zeros(6, int)
    c[[0, 2]] = [4, 5]
    c[np.array([1, 3])] = 3
    return (x * c).sum()


@at(V)
def reshaped(x):
    c = np.zeros((2, 3), int)
    c[1, 2] = 5
    d = c.ravel()
    e = c.T
    return (x * d).sum() + e[2, 1] * x[0]


@at(V)
def sorted_by_exchanges(x):
    x = x.copy()
    idx = np.arange(len(x))
    n = len(x)
    for i in range(1, n):
        j = i
        while j > 0 and x[idx[j]] < x[idx[j - 1]]:
            idx[j], idx[j - 1] = (idx[j - 1], idx[j])
            j -= 1
    return sum((x[idx[k]] * (k + 1) for k in range(n)))


@at(V)
def mask_like_another(x):
    g = x.reshape(2, 3) > 0.5
    new = np.zeros_like(g)
    for i in range(2):
        for j in range(3):
            new[i, j] = not g[i, j]
    return x.reshape(2, 3)[new].sum()


@at(V)
def places_of_a_mask(x):
    i = np.flatnonzero(x > 0.5)
    return x[i].sum() * len(i)


@at(V)
def where_of_one_argument(x):
    return x[np.where(x > 0.5)].sum()


@at(V)
def places_gone_through(x):
    s = 0.0
    for i in np.where(x > 0.5)[0]:
        s += x[i] * i
    return s


@at(V)
def mask_and_column(x):
    B = x.reshape(2, 3)
    m = np.array([True, False])
    return B[B[:, 0] > 0.3, 1].sum()


@at(V)
def mask_and_column_assigned(x):
    B = x.reshape(2, 3).copy()
    B[B[:, 0] > 0.3, 1] = 5.0
    return B.sum()


@at(V)
def row_and_mask_in_place(x):
    B = x.reshape(2, 3).copy()
    B[0, B[1] > 0.5] *= 2
    return (B**2).sum()


@at(V)
def row_and_mask(x):
    B = x.reshape(2, 3)
    return B[1, B[0] > 0.5].sum() + B[:, B[0] > 0.5].sum()


@at(V)
def row_and_mask_assigned(x):
    B = x.reshape(2, 3).copy()
    c = B[0] > 0.5
    B[1, c] = B[0][c]
    return (B * np.arange(6.0).reshape(2, 3)).sum()


@at(V)
def made_by_ndarray(x):
    y = np.ndarray(3)
    y[:] = x[:3]
    z = np.ndarray((2, 2), dtype=np.float64)
    z[:] = x[0]
    z[0, 1] = x[1]
    return y.sum() * z.sum()


@at(V)
def filled_from_empty(x):
    c = np.empty(len(x), dtype=int)
    for i in range(len(x)):
        c[i] = len(x) - 1 - i
    return (x[c] * np.arange(len(x))).sum()


@at(np.array([0, 2, 3, 5]), np.array([0, 1, 2, 0, 2]), V[:5], V[:3])
def rows_of_a_sparse_matrix(x_row, x_col, x_val, x):
    y = np.empty(x_row.size - 1, x_val.dtype)
    for i in range(x_row.size - 1):
        cols = x_col[A_row[i] : A_row[i + 1]]
        vals = x_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


@at(M)
def shortest_paths(path0):
    path = path0.copy()
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            tmp = path[i, k] + path[k, :]
            cond = path[i, :] >= tmp
            path[i, cond] = tmp[cond]
    return path


@at(V[:5])
def knapsack(x):
    sizes, kept, best = np.array([1, 2, 3]), np.zeros((4, 7), bool), np.zeros((4, 7))
    for i in range(1, 4):
        for room in range(7):
            best[i, room] = best[i - 1, room]
            with_it = best[i - 1, room - sizes[i - 1]] + abs(x[i])
            if sizes[i - 1] <= room and with_it > best[i, room]:
                best[i, room], kept[i, room] = with_it, True
    room, total = 5, 0.0
    for i in range(3, 0, -1):
        if kept[i, room]:
            total += x[i] * best[i, room]
            room -= sizes[i - 1]
    return total + best[3, room:].sum()
