"""How a published data set is had: from a file that is there, from the cache, or by download."""

from __future__ import annotations

import io
import os

from ..arguments import check_path
from ..data import Interactions
from .archives import blocks_of_file, blocks_of_member, is_archive
from .cache import Source, directory, obtain
from .published import Published
from .ratings import interactions_of

__all__ = ["load"]


def load(
    published: Published,
    cache: str | os.PathLike[str] | None,
    url: str | None,
    from_file: str | os.PathLike[str] | None,
    progress: bool,
) -> Interactions:
    """The ratings of a data set; arguments and errors are those of the functions of data sets."""

    def read(file: io.BufferedReader, what: str) -> Interactions:
        """The ratings of the archive, or of the file that is in it."""
        if is_archive(file):
            blocks = blocks_of_member(file, what, published.member, published.most)
        else:
            blocks = blocks_of_file(file, what, published.most)
        return interactions_of(blocks, what)

    if from_file is None:
        folder = directory(None if cache is None else check_path("cache", cache))
        return obtain(_source(published, url), folder, read, progress)
    if cache is not None or url is not None:
        raise ValueError("from_file: expected neither cache nor url with it")
    path = check_path("from_file", from_file)
    with open(path, "rb") as file:
        return read(file, path)


def _source(published: Published, url: str | None) -> Source:
    """Where the archive comes from: the publisher, or a mirror of it."""
    url = published.url if url is None else url
    if not isinstance(url, str):
        raise TypeError(f"url: expected text, got {url!r}")
    return Source(
        name=published.name,
        url=url,
        most=published.most,
        checksum_url=f"{url}.md5" if published.has_checksum else None,
        advice=(
            f"Where there is no network: {published.call} takes from_file=PATH (--from-file), the "
            f"archive or the {published.member} in it, which you have already, and url=ADDRESS "
            "(--url), a mirror; "
            "wyrmling.datasets.read_interactions(PATH) reads other files of ratings"
        ),
    )
