"""Any trajectory file to canonical trajectories, every assistant turn accounted for.

    report = load("runs.jsonl.gz")
    report.trajectories, report.turns, report.candidates, report.skips, report.errors

For every file `candidates + sum(skips) == turns`. Lines of a JSONL file are decoded
one at a time; one bad row becomes an error with its line, field and remedy, never the
loss of the file. `python -m pivotlab.trajectories.loading PATH... [--out loaders.csv]`
prints and records the counts.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import itertools
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pivotlab.records import Trajectory
from pivotlab.trajectories import detect, fields, terminal
from pivotlab.trajectories.assembly import Origin
from pivotlab.whole_files import replacing

#: Lines looked at to tell JSONL from JSON, and to see whether lines form one record.
_PEEK = 20
#: Errors described per file; all are counted.
_ERRORS_KEPT = 100
#: Endings of the files that a folder is searched for.
_ENDINGS = (".json", ".jsonl", ".ndjson", ".traj", ".gz")
COLUMNS = (
    "file",
    "format",
    "trajectories",
    "assistant_turns",
    "candidates",
    "skips",
    "reasons",
)


@dataclass(frozen=True)
class RowError:
    """One row that could not be read: where, what, and what to do."""

    file: str
    line: int | None
    place: str
    field: str
    problem: str
    fix: str

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        return f"{self.file}{line}{self.place} {self.field}: {self.problem}; {self.fix}"


@dataclass
class LoadReport:
    """What a file held.

    `trajectories` stays empty when the file was streamed or only counted. `failed`
    counts the rows that could not be read; `errors` describes the first of them.
    """

    file: str
    trajectories: list[Trajectory] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)
    loaded: int = 0
    turns: int = 0
    skips: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    errors: list[RowError] = field(default_factory=list)
    failed: int = 0
    uids: set[str] = field(default_factory=set, repr=False)

    @property
    def candidates(self) -> int:
        """Assistant turns that are decisions."""
        return self.turns - sum(self.skips.values())

    @property
    def format(self) -> str:
        """Names of the formats found, the most frequent first."""
        return "+".join(name for name, _ in self.formats.most_common()) or "unknown"

    @property
    def warnings(self) -> list[str]:
        """What a user should know before trusting verdicts on this file."""
        found = []
        bare = self.notes["no_tool_schemas"]
        if bare:
            found.append(
                f"{self.file}: {bare} of {self.loaded} trajectories call tools without "
                "schemas, so schema checks are off; pass the schemas as `tools`"
            )
        return found

    def count(self, trajectory: Trajectory) -> None:
        """Add one trajectory to the counts."""
        turns = trajectory.assistant_turns()
        self.loaded += 1
        self.turns += len(turns)
        self.skips.update(trajectory.skips[i] for i in turns if i in trajectory.skips)
        self.notes.update(trajectory.meta.get("notes", {}))

    def row(self) -> dict[str, Any]:
        """The record of `data/results/loaders.csv` for this file."""
        reasons = [f"{k}={v}" for k, v in sorted(self.skips.items())]
        problems = Counter(f"{e.field} {e.problem}" for e in self.errors)
        reasons += [f"failed={self.failed}: {p}" for p, _ in problems.most_common(1)]
        return {
            "file": self.file,
            "format": self.format,
            "trajectories": self.loaded,
            "assistant_turns": self.turns,
            "candidates": self.candidates,
            "skips": sum(self.skips.values()),
            "reasons": "; ".join(reasons),
        }


def load(
    path: str | Path, *, tools: Iterable[dict[str, Any]] = (), keep: bool = True
) -> LoadReport:
    """Read a file (or a Terminal-Bench trial folder) of any known format.

    Args:
        path: plain or gzip-compressed JSON, JSONL or flat text.
        tools: schemas in canonical shape for logs that hold none.
        keep: keep the trajectories; False only counts, in constant memory for JSONL.

    Raises:
        FileNotFoundError: there is nothing at `path`.
    """
    report = LoadReport(str(path))
    for trajectory in stream(path, report, tools=tools):
        if keep:
            report.trajectories.append(trajectory)
    return report


def stream(
    path: str | Path, report: LoadReport, *, tools: Iterable[dict[str, Any]] = ()
) -> Iterator[Trajectory]:
    """Trajectories one by one; `report` fills up on the way.

    Raises:
        FileNotFoundError: there is nothing at `path`.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file; give a trajectory file")
    origin = Origin(str(path), tools=tuple(tools))
    if path.is_dir():
        yield from _read_folder(path, origin, report)
        return
    try:
        for line, record in _records(path):
            here = replace(origin, line=line)
            if isinstance(record, fields.FormatError):
                _fail(report, here, "", record)
            else:
                yield from read_record(record, here, report)
    except (OSError, EOFError, zlib.error) as error:
        cut = fields.FormatError(
            "file", f"cannot be read on ({error})", "copy it again"
        )
        _fail(report, origin, "", cut)


def read_record(
    record: Any, origin: Origin, report: LoadReport
) -> Iterator[Trajectory]:
    """All trajectories of one decoded record; errors go to the report."""
    for key, row in detect.rows(record):
        place = "" if key is None else f"[{key!r}]"
        found = detect.detect(row)
        if found is None:
            _fail(report, origin, place, detect.unknown(row))
            continue
        report.formats[found.name] += 1
        here = replace(origin, key=key if isinstance(key, str) else None)
        try:
            for made in found.read(row, here):
                if isinstance(made, fields.FormatError):
                    _fail(report, origin, place, made)
                else:
                    yield _counted(made, report)
        except fields.FormatError as error:
            _fail(report, origin, place, error)
        except RecursionError:
            error = fields.FormatError("row", "is nested too deeply", "flatten the row")
            _fail(report, origin, place, error)


def record_table(reports: Iterable[LoadReport], out: Path) -> None:
    """Write the counts of several files as one CSV, atomically."""
    with (
        replacing(out) as part,
        part.open("w", newline="", encoding="utf-8") as handle,
    ):
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(report.row() for report in reports)


def _counted(trajectory: Trajectory, report: LoadReport) -> Trajectory:
    """The trajectory under a uid no other of this file has, added to the counts."""
    uid, copies = trajectory.uid, 1
    while uid in report.uids:
        copies += 1
        uid = f"{trajectory.uid}#{copies}"
    report.uids.add(uid)
    if uid != trajectory.uid:
        trajectory = replace(trajectory, uid=uid)
    report.count(trajectory)
    return trajectory


def _fail(
    report: LoadReport, origin: Origin, place: str, error: fields.FormatError
) -> None:
    report.failed += 1
    if len(report.errors) < _ERRORS_KEPT:
        what = (error.field, error.problem, error.fix)
        report.errors.append(RowError(report.file, origin.line, place, *what))


def _read_folder(
    folder: Path, origin: Origin, report: LoadReport
) -> Iterator[Trajectory]:
    if not terminal.is_trial(folder):
        error = fields.FormatError(
            "folder", "is no Terminal-Bench trial", "give the files inside one by one"
        )
        _fail(report, origin, "", error)
        return
    report.formats["terminal_bench"] += 1
    try:
        for trajectory in terminal.read_trial(folder, origin):
            yield _counted(trajectory, report)
    except fields.FormatError as error:
        _fail(report, origin, "", error)


def _records(path: Path) -> Iterator[tuple[int | None, Any]]:
    """Decoded records, or errors, with line numbers (None for a whole file)."""
    with _open(path) as handle:
        lines = enumerate(handle, start=1)
        head = list(itertools.islice(lines, _PEEK))
        decoded = [(number, _decode(text)) for number, text in head if text.strip()]
        if _is_jsonl(head, decoded):
            rest = ((number, _decode(text)) for number, text in lines if text.strip())
            yield from _json_lines(decoded, rest)
            return
        text = "".join(line for _, line in head) + handle.read()
    record = _decode(text, "file")
    if isinstance(record, fields.FormatError) and detect.detect(text) is not None:
        record = text
    yield None, record


def _open(path: Path) -> io.TextIOWrapper:
    """The file as text, decompressed if its content says gzip."""
    with path.open("rb") as handle:
        packed = handle.read(2) == b"\x1f\x8b"
    opener = gzip.open if packed else open
    return opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="\n")


def _decode(text: str, what: str = "line") -> Any:
    """The decoded text, or the error as a value."""
    try:
        return fields.loads(text, what)
    except fields.FormatError as error:
        return error


def _is_jsonl(head: list[tuple[int, str]], decoded: list[tuple[int, Any]]) -> bool:
    """Does a line hold a record on its own? A lone bracket opens a whole document."""
    first = next((text.strip() for _, text in head if text.strip()), "[")
    records = (record for _, record in decoded)
    return first not in ("[", "{") and any(
        isinstance(record, dict | list) and record for record in records
    )


def _json_lines(
    head: list[tuple[int, Any]], rest: Iterator[tuple[int, Any]]
) -> Iterator[tuple[int | None, Any]]:
    """Rows of a JSONL file, or one record where the lines belong together."""
    first = [r for _, r in head if not isinstance(r, fields.FormatError)]
    together = detect.detect(first)
    alone = any(detect.detect(record) is not None for record in first)
    if together is None or not together.whole_file or alone:
        yield from itertools.chain(head, rest)
        return
    whole = []
    for number, record in itertools.chain(head, rest):
        if isinstance(record, fields.FormatError):
            yield number, record
        else:
            whole.append(record)
    yield None, whole


def _files(names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        if path.is_dir() and not terminal.is_trial(path):
            found = (p for p in path.rglob("*") if p.is_file())
            yield from sorted(p for p in found if p.name.endswith(_ENDINGS))
        else:
            yield path


def main(arguments: list[str] | None = None) -> int:
    """Count the turns of files and folders; 1 if a path does not exist."""
    parser = argparse.ArgumentParser(prog="python -m pivotlab.trajectories.loading")
    parser.add_argument("paths", nargs="+", help="files, or folders of files")
    parser.add_argument("--root", type=Path, help="name files relative to this folder")
    parser.add_argument("--out", type=Path, help="CSV to write, e.g. loaders.csv")
    given = parser.parse_args(arguments)
    reports = []
    for path in tqdm(list(_files(given.paths)), desc="files", disable=None):
        try:
            report = load(path, keep=False)
        except FileNotFoundError as error:
            print(error, file=sys.stderr)
            return 1
        if given.root:
            report.file = str(path.resolve().relative_to(given.root.resolve()))
        reports.append(report)
        print(*report.row().values(), sep="\t")
        for line in [*report.warnings, *map(str, report.errors[:3])]:
            print(f"  {line}", file=sys.stderr)
    if given.out:
        record_table(reports, given.out)
        print(f"written: {given.out.resolve()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
