"""MovieLens, ratings of films that GroupLens collects and publishes with their checksums.

Harper and Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), 2015. GroupLens
asks for this citation, and does not allow everybody to pass the data on, so that it is downloaded
from there and no part of wyrmling.
"""

from __future__ import annotations

import os
from typing import Literal, get_args

from ..data import Interactions
from .published import Published

__all__ = ["SIZES", "Size", "movielens", "published"]

Size = Literal["100k", "1m", "20m", "25m", "32m"]
SIZES: tuple[Size, ...] = get_args(Size)
ADDRESS = "https://files.grouplens.org/datasets/movielens/ml-{}.zip"
MEMBERS = {"100k": "u.data", "1m": "ratings.dat"}


def movielens(
    size: Size,
    *,
    cache: str | os.PathLike[str] | None = None,
    url: str | None = None,
    from_file: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Interactions:
    """MovieLens of about so many ratings: films' ratings are values, and seconds since 1970 times.

    It is downloaded from GroupLens when it is asked for the first time, compared with the MD5 that
    GroupLens publishes beside it, and kept; a file that is kept is compared again each time. An
    MD5 is no protection from somebody who can write to the publisher's server; https is one from
    those on the way. Interactions are in the order of the file. Ids are integers.

    Args:
        size: ``"100k"``, ``"1m"``, ``"20m"``, ``"25m"`` or ``"32m"``.
        cache: the directory where the archive is kept. None takes the environment's
            ``WYRMLING_DATA``, else ``wyrmling`` in ``XDG_CACHE_HOME``, else ``~/.cache/wyrmling``.
        url: where the archive is, if not at GroupLens: a mirror. Its MD5 is read from the same
            address with ``.md5`` at the end.
        from_file: the archive, or its ``u.data``, ``ratings.dat`` or ``ratings.csv``, which you
            have already: nothing is downloaded, kept or compared with a checksum.
        progress: whether to show how the download goes; tqdm draws a bar if it is installed.

    Raises:
        ConnectionError: it cannot be downloaded.
        OSError: a checksum is wrong, and nothing is kept; the server refuses or sends too much; a
            file cannot be read or written.
        ValueError: another size; a ``url`` that is not of https or http; an archive or a line of
            ratings that cannot be read.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> lines = ["196,242,3,881250949", "186,302,3,891717742", "196,377,1,878887116"]
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory) / "u.data"
    ...     size = file.write_text("\\n".join(lines).replace(",", "\\t"))
    ...     movielens("100k", from_file=file)
    Interactions(3 of 2 users, 3 items)
    """
    # It needs urllib, which takes longer to import than all else here.
    from .loading import load

    return load(published(size), cache, url, from_file, progress)


def published(size: str) -> Published:
    """Where MovieLens of a size is, and what is in it."""
    if size not in SIZES:
        sizes = ", ".join(map(repr, SIZES))
        raise ValueError(f"size is {size!r}, expected one of {sizes}")
    return Published(
        name=f"movielens-{size}",
        url=ADDRESS.format(size),
        member=MEMBERS.get(size, "ratings.csv"),
        ratings=int(size[:-1]) * {"k": 1000, "m": 1_000_000}[size[-1]],
        has_checksum=True,
        call=f"wyrmling.datasets.movielens({size!r}, …)",
    )
