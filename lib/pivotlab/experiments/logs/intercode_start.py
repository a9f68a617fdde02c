"""Folders in which InterCode's bash commands can be run again.

Two starts for each of InterCode's file systems:
- `official`: made by InterCode's own set-up scripts (`docker/bash_scripts` of its
  repository, MIT), run inside the sandbox. They are not part of the recorded results.
- `synthetic`: made from the gold commands alone, for those who have no scripts: every
  absolute path that a gold command names, and in every folder two files of each name
  ending that the golds mention. Contents are fixed lines. Two commands that agree here
  agree on this tree; whether they agree on InterCode's is not known.

Departures from InterCode: the commands run as an unprivileged user on this host's
programs, and files that the scripts leave undated get the age `made` (InterCode's are
as old as its image was, which the records do not say).
"""

from __future__ import annotations

import io
import os
import re
import tarfile
import time
from collections.abc import Iterable
from pathlib import Path

from pivotlab.verifiers.sandbox import Limits, Sandbox

#: Entries of the root directory that InterCode's scripts make.
ROOTS = ("testbed", "system", "workspace", "backup", "index.html")
_PATH = re.compile(r"(?<![\w.$}])/(?:testbed|system|workspace|backup)(?:/[\w.-]+)*")
_ENDING = re.compile(r"\.(\w{1,4})\b")
_LINES = "Hello world\nfoo bar\n\nThe first line\nthe second line 2\nGene 10\nbanana\n"


def official(script: Path, folder: Path, made: float) -> Path:
    """Fill `folder` with what a set-up script makes; returns it.

    Args:
        made: age of files that the script leaves undated, in seconds since 1970.

    Raises:
        FileNotFoundError: there is no such script.
        RuntimeError: the script made nothing, or took too much time or space.
        SandboxUnavailable: this host cannot run it.
    """
    if not script.is_file():
        raise FileNotFoundError(
            f"{script}: no such script; it is part of InterCode's repository "
            "(docker/bash_scripts)"
        )
    text = script.read_text()
    pack = f"cd / && tar -cf - {' '.join(ROOTS)} 2>/dev/null"
    wide = Limits(seconds=30.0, file_size=32 * 2**20)
    began = time.time()
    outcome = Sandbox(limits=wide).run([text, pack])
    if outcome.limit is not None:
        raise RuntimeError(f"{script}: stopped at a limit ({outcome.limit})")
    with tarfile.open(fileobj=io.BytesIO(outcome.stdout)) as archive:
        archive.extractall(folder, filter="data")
        modes = {m.name: m.mode for m in archive.getmembers() if not m.issym()}
    if not modes:
        raise RuntimeError(f"{script}: made nothing ({outcome.stderr[:200]!r})")
    for name, mode in sorted(modes.items(), reverse=True):
        (folder / name).chmod(mode | 0o400)
    _settle(folder, began, made)
    return folder


def synthetic(golds: Iterable[str], folder: Path, made: float) -> Path:
    """Fill `folder` with a tree made from gold commands, of age `made`; returns it."""
    golds = sorted(set(golds))
    paths = sorted({found for gold in golds for found in _PATH.findall(gold)})
    endings = sorted({e for gold in golds for e in _ENDING.findall(gold)})
    for name in paths:
        path = folder / name.lstrip("/").rstrip(".")
        if path.exists():
            continue
        if "." in path.name:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_LINES + name + "\n")
        else:
            path.mkdir(parents=True, exist_ok=True)
    for place in sorted(p for p in folder.rglob("*") if p.is_dir()):
        for i, ending in enumerate(endings):
            for copy in ("one", "two"):
                text = _LINES * (i % 3 + 1) + ("" if copy == "one" else place.name)
                (place / f"{copy}.{ending}").write_text(text)
    _settle(folder, 0.0, made)
    return folder


def _settle(folder: Path, began: float, made: float) -> None:
    """Give every file written since `began` the age `made`."""
    for path in sorted(folder.rglob("*")):
        if path.lstat().st_mtime >= began - 1:
            os.utime(path, (made, made), follow_symlinks=False)
