"""The text that belongs to a function: found, believed, and looked through for its names."""
