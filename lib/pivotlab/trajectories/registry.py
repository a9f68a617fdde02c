"""Real trajectory files by address at a fixed commit, hash, licence and citation.

`data/registry/` names them; the repository never holds them. A file comes from the
mirror folder if `PIVOTLAB_MIRROR` is set and has it, else from the cache, else from its
address, and is handed out only if its sha256 is the registered one. In the mirror and
in the cache a file lies at `<owner>__<repository>/<path in the repository>`.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pooch

from pivotlab import paths

FOLDER = paths.DATA / "registry"


@dataclass(frozen=True)
class Entry:
    """One registered file. `name` is its place in the mirror and in the cache."""

    name: str
    url: str
    bytes: int
    sha256: str
    repository: str
    commit: str
    licence: str
    citation: str


class MissingFile(FileNotFoundError):
    """A registered file is not here and could not be had; says what to do."""


@cache
def entries() -> dict[str, Entry]:
    """All registered files by name."""
    with (FOLDER / "sources.csv").open(encoding="utf-8") as handle:
        sources = {row["repository"]: row for row in csv.DictReader(handle)}
    found = {}
    with (FOLDER / "files.csv").open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            source = sources[row["repository"]]
            name = f"{row['repository'].replace('/', '__')}/{row['path']}"
            found[name] = Entry(
                name=name,
                url=_address(row["repository"], source["commit"], row["path"]),
                bytes=int(row["bytes"]),
                sha256=row["sha256"],
                **source,
            )
    return found


def entry(name: str) -> Entry:
    """The entry of a name, or of an ending that only one name has.

    Raises:
        KeyError: no registered file is called that, or several are.
    """
    if name in entries():
        return entries()[name]
    similar = sorted(n for n in entries() if n.endswith(name))
    if len(similar) == 1:
        return entries()[similar[0]]
    shown = ", ".join(similar[:3]) or "see data/registry/files.csv"
    raise KeyError(f"{len(similar)} registered files are called {name!r}: {shown}")


def fetch(name: str) -> Path:
    """Path of a registered file: from the mirror, the cache, or downloaded once.

    Raises:
        KeyError: no registered file is called that.
        MissingFile: it is nowhere here and its address cannot be reached, or what was
            found has another hash.
    """
    wanted = entry(name)
    mirrored = paths.mirror() / wanted.name if paths.mirror() else None
    if mirrored is not None and mirrored.is_file():
        _check(mirrored, wanted)
        return mirrored
    store = pooch.create(
        path=cached(),
        base_url="",
        registry={wanted.name: f"sha256:{wanted.sha256}"},
        urls={wanted.name: wanted.url},
    )
    pooch.get_logger().setLevel("WARNING")
    try:
        return Path(store.fetch(wanted.name, progressbar=False))
    except (OSError, ValueError) as error:
        raise MissingFile(_what_to_do(wanted, error)) from error


def cached() -> Path:
    """Folder of the downloaded files."""
    return paths.cache() / "trajectories"


def _address(repository: str, commit: str, path: str) -> str:
    host = "https://raw.githubusercontent.com"
    return f"{host}/{repository}/{commit}/{quote(path)}"


def _check(path: Path, wanted: Entry) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wanted.sha256:
        raise MissingFile(
            f"{path} has sha256 {found}, registered is {wanted.sha256}; "
            f"replace it by {wanted.url}"
        )


def _what_to_do(wanted: Entry, error: Exception) -> str:
    return (
        f"{wanted.name} ({wanted.bytes} bytes, {wanted.licence}) is not on this "
        f"machine and could not be downloaded ({type(error).__name__}). Fetch "
        f"{wanted.url} (sha256 {wanted.sha256}) elsewhere and put it at "
        f"{cached() / wanted.name}, or set PIVOTLAB_MIRROR to a folder that holds "
        f"{wanted.name}."
    )
