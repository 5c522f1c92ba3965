"""What a published data set is: its name, its address, its size."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Published"]

MOST_OF_RATING = 64
"""Bytes of the line of a rating, at most, on average: the published ones have 20 to 28."""
LEAST_BOUND = 1 << 24
"""Bytes that any file may have: the other files in an archive are not counted by ratings."""


@dataclass(frozen=True)
class Published:
    """A data set as its publisher has it.

    Args:
        name: what the cache and the command line call it.
        url: the address of its archive.
        member: the name of the file with ratings in it.
        ratings: how many there are, about; bounds of sizes come from this.
        has_checksum: whether the archive's MD5 is beside it, with ``.md5`` at the end.
        call: the Python that loads it.
    """

    name: str
    url: str
    member: str
    ratings: int
    has_checksum: bool
    call: str

    @property
    def most(self) -> int:
        """Bytes of the archive, and of the ratings in it, at most."""
        return max(LEAST_BOUND, MOST_OF_RATING * self.ratings)
