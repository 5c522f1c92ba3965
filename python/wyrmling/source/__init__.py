"""Functions that are read: their text becomes a program, which is differentiated and compiled.

``text`` finds the text that belongs to a function and says which constructs of Python are
supported; ``library`` has texts that are read in place of functions written in C. ``compilation``
is the abstract interpreter that follows the text: ``flow`` has what executes statements and calls,
``functions`` and ``types`` what functions and values of types do, ``abstract`` the values and
states that it works on. What comes of it is a ``program``, and so is what transforms make of that
(``chained``). ``choose`` says whether a call is read or traced.

A folder imports from those alone that stand before it: ``text``, ``library``, ``abstract``,
``program``, ``types``, ``functions``, ``flow``, and last what has no folder.
"""
