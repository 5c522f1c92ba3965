"""Functions that are read: their text becomes a program, which is differentiated and compiled.

``read`` finds the text that belongs to a function, ``scope`` where its names come from, ``refuse``
says which constructs of Python are supported, and what to write instead of others.
"""
