"""The tangents that `jvp` and `hvp` are given: of which types they may be."""

import numpy as np
import pytest

import wyrmling as wy


@pytest.mark.parametrize("mode", ["trace", "source", "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tangents_take_the_type_of_their_argument(dtype, mode):
    """Integers, and floats that fit; what does not is refused by name, in every mode alike."""
    x, moved = np.array([1.0, 2.0], dtype), np.array([0.0, 8.0])
    for other in (dtype, np.float32, np.int64, np.int8, np.bool_, np.dtype(dtype).newbyteorder()):
        t = np.array([0, 1]).astype(other)
        for _ in range(2):
            found = wy.jvp(lambda x: x * x * 2.0, (x,), (t,), mode=mode)[1]
            np.testing.assert_array_equal(found, moved.astype(dtype), strict=True)
            second = wy.hvp(lambda x: (x**3).sum(), mode=mode)(x, t)
            np.testing.assert_array_equal(second, np.array([0.0, 12.0], dtype), strict=True)
    for number in (2.0, np.float64(2.0), np.float32(2.0)):
        for t in (1, True, np.float32(1.0), np.int64(1)):
            assert wy.jvp(lambda x: x * x, (number,), (t,), mode=mode)[1] == 4.0
    for other in [np.float16, np.longdouble, object] + [np.float64] * (dtype is np.float32):
        for f in (
            lambda t: wy.jvp(lambda x: x * 2.0, (x,), (t,), mode=mode),
            lambda t: wy.hvp(lambda x: (x**2).sum(), mode=mode)(x, t),
        ):
            with pytest.raises(TypeError, match=r"tangents\[0\]: expected float\d\d, as the arg"):
                f(np.array([0.0, 1.0]).astype(other))
    with pytest.raises(TypeError, match=r"tangents\[0\]: expected numbers, got str"):
        wy.hvp(lambda x: x * x, mode=mode)(2.0, "1")
