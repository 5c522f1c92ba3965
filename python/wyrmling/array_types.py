"""Names for types of NumPy's arrays, by what they hold."""

import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.uint32]
"""Numbers of users, of items or of rows."""
