"""What values of Python's and NumPy's types do in the abstract interpreter."""
