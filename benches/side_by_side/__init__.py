"""The parts of ``benches/compare.py``, by kind of work."""
