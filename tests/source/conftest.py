"""pytest puts this folder on the path: the folders in it import what lies here."""
