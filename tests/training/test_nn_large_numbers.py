"""Layers of large numbers, whose squares and scores leave the range of an element type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import nn


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_attention_looks_at_nothing_that_is_masked_where_scores_are_large(dtype: Any) -> None:
    queries, keys = np.full((1, 2), 1e16, dtype), np.full((2, 2), -1e16, dtype)
    found = nn.attention(queries, keys, np.eye(2, dtype=dtype), np.array([[True, False]]))
    np.testing.assert_array_equal(found, [[1.0, 0.0]])


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e30), (np.float64, 1e200)])
def test_layer_norm_where_squares_overflow(dtype: Any, size: float) -> None:
    x = np.array([1.0, 2.0, 4.0])
    expected = nn.layer_norm(x, epsilon=0.0)
    slopes = wy.grad(lambda x: nn.layer_norm(x, epsilon=0.0)[0])(x)
    large = (x * size).astype(dtype)
    np.testing.assert_allclose(nn.layer_norm(large), expected, rtol=1e-6)
    found = wy.grad(lambda x: nn.layer_norm(x)[0])(large)
    np.testing.assert_allclose(found * dtype(size), slopes, rtol=1e-5)
    assert found.dtype == nn.layer_norm(large).dtype == dtype
