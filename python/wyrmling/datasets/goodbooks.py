"""goodbooks-10k, ratings of ten thousand books, which Zygmunt Zając published on GitHub."""

from __future__ import annotations

import os

from ..data import Interactions
from .published import Published

__all__ = ["PUBLISHED", "goodbooks"]

PUBLISHED = Published(
    name="goodbooks",
    url="https://github.com/zygmuntz/goodbooks-10k/releases/download/v1.0/goodbooks-10k.zip",
    member="ratings.csv",
    ratings=6_000_000,
    has_checksum=False,
    call="wyrmling.datasets.goodbooks(…)",
)


def goodbooks(
    *,
    cache: str | os.PathLike[str] | None = None,
    url: str | None = None,
    from_file: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Interactions:
    """goodbooks-10k: about six million ratings of ten thousand books, from 1 to 5, without times.

    It is downloaded from GitHub when it is asked for the first time, and kept. Nobody publishes a
    checksum of it: the first download is believed, if ratings can be read from it; its SHA-256 is
    the end of the name under which it is kept, and compared with it each time. Interactions are in
    the order of the file. Ids are integers.

    Args:
        cache: the directory where the archive is kept. None takes the environment's
            ``WYRMLING_DATA``, else ``wyrmling`` in ``XDG_CACHE_HOME``, else ``~/.cache/wyrmling``.
        url: where the archive, or the ratings.csv in it, is, if not on GitHub.
        from_file: the archive or its ``ratings.csv``, which you have already: nothing is
            downloaded, kept or compared with a checksum.
        progress: whether to show how the download goes; tqdm draws a bar if it is installed.

    Raises:
        ConnectionError: it cannot be downloaded.
        OSError: what is kept has another checksum, and is removed; the server refuses or sends too
            much; a file cannot be read or written.
        ValueError: a ``url`` that is not of https or http; an archive or a line of ratings that
            cannot be read: then nothing is kept.
    """
    # It needs urllib, which takes longer to import than all else here.
    from .loading import load

    return load(PUBLISHED, cache, url, from_file, progress)
