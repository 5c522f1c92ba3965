"""What depends on the types and shapes of arrays alone, and numbers that are made NumPy's."""

import numpy as np

from .case import at

M = np.array([[0.3, 1.2, 0.7], [0.4, 2.1, 0.9], [0.5, 0.8, 0.6]])


@at(M)
def kinds_of_arrays(x):
    real = 1 if np.iscomplexobj(x) else 3
    wide = x.astype(np.result_type(x, np.float32, 1.0))
    return wide.sum() * real * np.isrealobj(x) * np.issubdtype(x.dtype, np.floating)


@at(M)
@at(M[:2, :2])
def parts_of_a_square(x):
    upper, lower = np.triu_indices_from(x, 1), np.tril_indices_from(x)
    return x[upper].sum() + 2 * x[lower].prod() + x[np.diag_indices_from(x)].sum()


@at(M)
def windows(x):
    n = len(x)
    return (x[0] * np.hanning(n + 1)[1:]).sum() + (x[1] * np.hamming(n) * np.kaiser(n, 2.0)).sum()


@at(M)
def places_as_one_number(x):
    return x.ravel()[np.ravel_multi_index((1, 2), x.shape)] * np.broadcast_shapes((3, 1), (1, 3))[1]


@at(M)
def integers_and_truths_of_numpy(x):
    n = np.int64(x[0, 1] * 4)
    k = np.floor(x[1, 1]).astype(int)
    return x[n % 3].sum() * np.bool_(x[0, 0] > 0.2) + x[k % 3, n % 2] * type(n)(2.7)


@at(M)
def an_array_made_double(x):
    one = np.asfortranarray(x[0, 0])
    return np.float64(x).sum() * np.asfortranarray(x)[2, 1] * one[0] * one.ndim


@at(M[1])
def counts_as_ends(x):
    n = np.count_nonzero(x > 0.5)
    return x[:n].sum() / n + x[n:].sum() * 3


@at(M)
def sizes_along_axes(x):
    repeated = np.repeat(x[:1], np.size(x, 1), axis=0)
    return repeated.sum() * np.size(x) + x[0, 1] * np.size(x, axis=-1)
