"""Files that are whole or absent, whoever is killed while writing them."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident

from pivotlab import paths


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write beside `path`, whose name it takes at the end.

    A reader or a crash sees the old file or the new one; what a kill leaves is hidden
    and has another ending, so that no search by ending finds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8; see `replacing`."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One writer at a time; the lock lies among the caches, not beside the data."""
    place = paths.cache() / "locks"
    place.mkdir(parents=True, exist_ok=True)
    own = hashlib.blake2s(str(path).encode(), digest_size=6).hexdigest()
    with open(place / f"{path.name}-{own}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
