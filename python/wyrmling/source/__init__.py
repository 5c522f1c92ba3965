"""Functions that are read: their text becomes a program, which is differentiated and compiled.

The way of a call of ``wy.grad(f)(x)``, where no program fits yet:

1. ``choose`` decides whether the call is read or traced; ``policy`` has the rules, and the limits.
2. ``chained.program`` asks ``interpreter`` for the program of ``f`` and applies the transforms.
3. ``interpreter`` is the abstract interpreter. ``text`` finds the text of ``f`` as ``ast``, and
   says which constructs are supported; ``library`` has texts to read in place of functions that
   are written in C. ``flow`` executes statements and calls, ``functions`` has what functions do,
   ``types`` what values do, and ``abstract`` the values and states of paths that all work on.
4. ``program`` has the result, ir with the form of a Python object, and its derivatives.

``training`` reads a loss for ``fit`` in the same way. A folder imports from those alone that
stand before it: ``text``, ``library``, ``abstract``, ``program``, ``types``, ``functions``,
``flow``, and last what has no folder.
"""
