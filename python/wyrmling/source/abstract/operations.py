"""What the parts of the abstract interpreter have in common. ``operations.pyi`` declares what each
does for others, for those who check types of this package: wheels leave it out.
"""


class Operations:
    """What one part does for others."""
