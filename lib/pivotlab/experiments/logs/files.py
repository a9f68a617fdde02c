"""Which files a name of agent logs stands for, and whether they can be read at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pivotlab import paths
from pivotlab.trajectories import registry
from pivotlab.trajectories.loading import LoadReport, stream

#: Hand-written examples of several formats, and the name that stands for them.
EXAMPLES = paths.DATA / "examples" / "logs"
EMBEDDED = "embedded"
#: Short names of registered real logs, as patterns of their names.
REGISTERED: Mapping[str, str] = {
    "airline": "sierra-research__tau-bench/historical_trajectories/*",
    "intercode": "princeton-nlp__intercode/data/results/bash/*",
    "intercode gpt-4": "princeton-nlp__intercode/data/results/bash/gpt-4/*",
    "search": "*/WebDancer/datasets/sample_traj.jsonl",
}


def find(logs: str) -> list[Path]:
    """Files that `logs` names: one path, or several names separated by commas.

    A name is a path, "embedded", one of `REGISTERED`, or the ending of a registered
    file's name.

    Raises:
        FileNotFoundError: there is nothing of that name.
        MissingFile: a registered file is not here and could not be had.
    """
    if Path(logs).expanduser().exists():
        return [Path(logs).expanduser()]
    found: list[Path] = []
    for name in filter(None, (part.strip() for part in logs.split(","))):
        if Path(name).expanduser().exists():
            found.append(Path(name).expanduser())
        elif name == EMBEDDED:
            found += sorted(EXAMPLES.glob("*.json*"))
        else:
            found += [registry.fetch(entry) for entry in registered(name)]
    return found


def registered(name: str) -> list[str]:
    """Registered files that a name stands for.

    Raises:
        FileNotFoundError: none.
    """
    pattern = REGISTERED.get(name, f"*{name}")
    found = [n for n in sorted(registry.entries()) if fnmatchcase(n, pattern)]
    if not found:
        known = ", ".join((EMBEDDED, *REGISTERED))
        raise FileNotFoundError(
            f"{name}: no such file here; give a path, one of {known}, or the end of a "
            "name in data/registry/files.csv"
        )
    return found


def check_readable(files: Sequence[Path]) -> None:
    """Refuse files that hold no trajectory at all; reads up to the first one.

    Raises:
        ValueError: the first thing that cannot be read, with its place and remedy.
    """
    reports = [LoadReport(str(path)) for path in files]
    for path, report in zip(files, reports, strict=True):
        if next(stream(path, report), None) is not None:
            return
    errors = [error for report in reports for error in report.errors]
    rest = sum(report.failed for report in reports) - 1
    raise ValueError(
        str(errors[0] if errors else f"no trajectory in {', '.join(map(str, files))}")
        + (f" ({rest:,} more rows cannot be read either)" if rest > 0 else "")
    )
