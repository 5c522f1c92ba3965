"""Programs: their arguments, the form of what they return, and what transforms make of them."""
