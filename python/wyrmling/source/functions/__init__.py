"""Functions that the abstract interpreter knows: Python's, NumPy's, ``math`` and transforms."""
