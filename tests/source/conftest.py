"""pytest puts this folder on the path: the folders in it import the oracles and helpers that lie here."""
