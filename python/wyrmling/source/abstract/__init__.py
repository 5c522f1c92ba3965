"""What the abstract interpreter works on: values, the state of a path, and where paths meet."""
