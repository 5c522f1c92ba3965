"""A model as a wheel: a package that pip installs and whose ``recommend()`` works at once.

There are two kinds. One needs wyrmling and holds the model's file: all of the model is there, as
``model()``. The other needs NumPy alone: it holds the vectors by which the model scores, and the
module :mod:`.numpy_recommender`, which reads them. It is for models whose score is a product of
vectors, and knows the users that the model was trained on.

A wheel is a zip file (PEP 427) of the package, its metadata and the SHA-256 of each file; it is
written with the standard library. Equal models make equal wheels.
"""

from __future__ import annotations

import base64
import hashlib
import keyword
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import __version__, _core
from ..arguments import check_choice, check_flag, check_path
from ..recommend import Recommender
from ..recommend.files import id_arrays
from ..recommend.scoring import FactorScores
from ..recommend.similarity import SimilarityModel
from ..tensor_files import Contents, write
from . import numpy_recommender

__all__ = ["build_wheel"]

FORMAT = "wyrmling.scores/1"
# The oldest time that a zip file can tell.
NO_TIME = (1980, 1, 1, 0, 0, 0)
LONGEST_NAME = 100

# PEP 508, and the canonical form of PEP 440: N is a number, and L a part of a local version.
NAME = re.compile(r"[A-Z0-9]([A-Z0-9._-]*[A-Z0-9])?", re.IGNORECASE | re.ASCII)
VERSION = re.compile(
    r"([1-9][0-9]*!)?N(\.N)*((a|b|rc)N)?(\.postN)?(\.devN)?(\+L(\.L)*)?".replace(
        "L", "(N|[0-9]*[a-z][a-z0-9]*)"
    ).replace("N", "(0|[1-9][0-9]*)"),
    re.ASCII,
)

MODULE = '''"""Recommendations of a model that was trained with wyrmling."""

from functools import cache
from pathlib import Path

from wyrmling.recommend import Recommender

__all__ = ["item_ids", "model", "recommend", "similar_items", "user_ids"]


@cache
def model():
    """The model, which is read when it is first asked for: see wyrmling.recommend."""
    return Recommender.load(Path(__file__).with_name("model.safetensors"))


def recommend(users, n=10, **options):
    """The best items for a user, or for several: see Recommender.recommend."""
    return model().recommend(users, n, **options)


def similar_items(items, n=10):
    """The items most similar to an item, or to each of several: see Recommender.similar_items."""
    return model().similar_items(items, n)


def user_ids():
    """The ids of all users, by number."""
    return list(model().user_ids)


def item_ids():
    """The ids of all items, by number."""
    return list(model().item_ids)
'''


def build_wheel(
    model: Recommender | str | os.PathLike[str],
    name: str,
    *,
    version: str = "1.0",
    directory: str | os.PathLike[str] = ".",
    needs: Literal["wyrmling", "numpy"] = "wyrmling",
    histories: bool = True,
) -> Path:
    """Writes a wheel of a model, which replaces an existing one at once.

    What goes into it is first put together in a folder for temporary files, such as ``/tmp``
    (``TMPDIR`` names another), which takes the space of the model and of the wheel.

    Args:
        model: a fitted model, or its file.
        name: what pip calls it; it is imported by this name in lower case, with ``_`` for ``-`` and
            ``.``.
        version: its version, in the form of PEP 440, such as ``1.2`` or ``2.0rc1``.
        directory: where to write it; it is made if there is none.
        needs: what must be there to use it. ``"numpy"`` takes models whose score is a product of
            vectors.
        histories: whether to include what users had in training. Without, the wheel can only
            recommend with ``exclude_seen=False``, and tells less of its users. A model that scores
            by histories (:class:`.EASE`, :class:`.ItemKNN`) then recommends to new users alone,
            whom ``model().fold_in`` makes, and a UserWarning says so.

    Returns:
        The wheel's path.

    Raises:
        OSError: the model's file cannot be read, or the wheel not written.
        TypeError: a name or version that is no text, or a directory that is no path; with
            ``needs="numpy"`` a model without vectors; with ``"wyrmling"`` one of a class of yours,
            which the wheel could not import.
        ValueError: a name or version that is none, or a file that is no model.
        RuntimeError: the model was not fitted, or has no histories that it scores by.

    >>> import tempfile
    >>> from wyrmling.datasets import make_interactions
    >>> from wyrmling.recommend import BPR
    >>> model = BPR(factors=8, epochs=2).fit(make_interactions(50, 30))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     build_wheel(model, "My.Recs", version="2.0", directory=directory, needs="numpy").name
    'my_recs-2.0-py3-none-any.whl'
    """
    for word, text in (("name", name), ("version", version)):
        if not isinstance(text, str):
            raise TypeError(f"{word} is {text!r}, expected text")
    check_choice("needs", needs, ("wyrmling", "numpy"))
    histories = check_flag("histories", histories)
    package = _package(name)
    if len(version) > LONGEST_NAME or not VERSION.fullmatch(version):
        raise ValueError(
            f"version is {version!r}, expected one of PEP 440 in its normal form, such as '1.2' or "
            "'2.0rc1', without zeros before a number"
        )
    if not isinstance(model, Recommender):
        if not isinstance(model, (str, os.PathLike)):
            raise TypeError(f"model is {model!r}, expected a fitted model or its file")
        model = Recommender.load(model)
    target = Path(check_path("directory", directory))
    target.mkdir(parents=True, exist_ok=True)
    stem = f"{package}-{version}"
    with tempfile.TemporaryDirectory(prefix="wyrmling-wheel-") as scratch:
        tree = Path(scratch, "tree")
        (tree / package).mkdir(parents=True)
        if needs == "numpy":
            _write_scores(model, tree / package / "scores.safetensors", histories)
            source = Path(numpy_recommender.__file__).read_text("utf-8")
        else:
            if type(model).__module__.partition(".")[0] != __name__.partition(".")[0]:
                raise TypeError(
                    f"{type(model).__name__} is a class of {type(model).__module__}, which the "
                    "wheel would not find: needs='numpy' needs no class"
                )
            has_histories = histories and model.fitted.seen is not None
            if isinstance(model, SimilarityModel) and not has_histories:
                warnings.warn(
                    f"{type(model).__name__} scores by histories: without them the wheel "
                    "recommends to new users alone, of model().fold_in(items)",
                    stacklevel=2,
                )
            model.save(tree / package / "model.safetensors", histories=histories)
            source = MODULE
        (tree / package / "__init__.py").write_text(source, "utf-8", newline="\n")
        about = tree / f"{stem}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            _metadata(name, version, needs, model), "utf-8", newline="\n"
        )
        (about / "WHEEL").write_text(
            f"Wheel-Version: 1.0\nGenerator: wyrmling {__version__}\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n",
            "utf-8",
            newline="\n",
        )
        wheel = target / f"{stem}-py3-none-any.whl"
        made = Path(scratch, wheel.name)
        _zip(tree, f"{stem}.dist-info/RECORD", made)
        _core.replace_file(wheel, made)
    return wheel


def _package(name: str) -> str:
    """The name by which a package is imported, of that by which it is installed (PEP 503)."""
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise ValueError(
            f"name is {name!r}, expected letters, digits and . _ - between them, "
            f"{LONGEST_NAME} at most"
        )
    package = re.sub("[-_.]+", "_", name).lower()
    # Python's tests are a package that comes before those installed; pip would replace itself.
    taken = {*sys.stdlib_module_names, "test", "pip", "numpy", "wyrmling"}
    if not package.isidentifier() or keyword.iskeyword(package) or package in taken:
        raise ValueError(
            f"name is {name!r}: a package {package!r} cannot be imported, or is another's"
        )
    return package


def _write_scores(model: Recommender, path: Path, histories: bool) -> None:
    """Writes what a model scores by, for :mod:`.numpy_recommender`."""
    everybody = np.arange(len(model.user_ids), dtype=np.uint32)
    # A model that scores by histories does not score by vectors, and cannot be asked without them.
    scores = None if isinstance(model, SimilarityModel) else model._scores(everybody)
    offsets = model._offsets(everybody)
    if not isinstance(scores, FactorScores):
        raise TypeError(
            f"{type(model).__name__} does not score by vectors, which needs='numpy' needs; "
            "needs='wyrmling' takes all models"
        )
    arrays: dict[str, npt.NDArray[Any]] = {"users": scores.queries, "items": scores.items}
    if offsets is not None:
        arrays["offsets"] = offsets
    if scores.bias is not None:
        arrays["bias"] = scores.bias
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise FloatingPointError(f"{name} of the scores are not all finite")
    arrays |= id_arrays("user_id", model.user_ids) | id_arrays("item_id", model.item_ids)
    seen = model.fitted.seen
    if histories and seen is not None:
        arrays |= {"seen_indptr": seen.indptr, "seen_items": seen.indices}
    write(path, Contents(FORMAT, {"wyrmling": __version__}, arrays))


def _metadata(name: str, version: str, needs: str, model: Recommender) -> str:
    least = "1.26" if needs == "numpy" else __version__
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: Recommendations of a {type(model).__name__} model of "
        f"{len(model.user_ids)} users and {len(model.item_ids)} items\n"
        f"Requires-Python: >=3.11\nRequires-Dist: {needs}>={least}\n"
    )


def _zip(tree: Path, record: str, target: Path) -> None:
    """Writes the files of a folder and the list of their hashes to a zip file."""
    lines = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            place = path.relative_to(tree).as_posix()
            with (
                open(path, "rb") as source,
                archive.open(_entry(place), "w", force_zip64=True) as to,
            ):
                shutil.copyfileobj(source, to, 1 << 20)
                source.seek(0)
                digest = hashlib.file_digest(source, "sha256").digest()
            encoded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            lines.append(f"{place},sha256={encoded},{path.stat().st_size}\n")
        archive.writestr(_entry(record), "".join([*lines, f"{record},,\n"]))


def _entry(place: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(place, NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o100644 << 16
    return entry
