"""Small functions, one concept of Python a file, that reading functions is held against.

Each is written as anybody would write it, and says at which arguments it is called: ``@at(1.5)``.
What is right is not said: it is what plain Python gives, and what independent oracles make of it
(``held.py``). ``test_conformance.py`` runs them.
"""
