"""A run is a folder with all that its numbers depend on.

It holds `params.json`, `metrics.csv`, `results.json` and `env.txt` (and, when
a notebook made it, the executed notebook). While the run lasts its files end in
`.part`, so a file without that ending always belongs to a run that finished.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import time
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pivotlab import paths
from pivotlab.experiments.record_tables import merge_records, rows_to_csv
from pivotlab.whole_files import write_text

#: Packages whose version can change a number.
PACKAGES = (
    "torch",
    "transformers",
    "trl",
    "accelerate",
    "peft",
    "datasets",
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
)
#: `metrics.csv.part` is at most this many seconds behind.
FLUSH_SECONDS = 1.0


def commit() -> str:
    """Commit of the checkout, `+` if tracked files differ; `unknown` without git."""
    try:
        head, status = (
            subprocess.run(
                ["git", "-C", str(paths.ROOT), *command],
                capture_output=True,
                text=True,
                check=True,
                timeout=20,
            ).stdout.strip()
            for command in (
                ["rev-parse", "--short=12", "HEAD"],
                ["status", "--porcelain", "--untracked-files=no"],
            )
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return head + ("+" if status else "")


def hardware() -> dict[str, str]:
    """Processor, cores this process may use, memory, and accelerator if any."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found = {"cpu": model, "cores": _cores(), "memory": f"{memory:.1f} GiB"}
    return found | {"gpu": _gpu()}


def provenance(seeds: Sequence[int] = ()) -> dict[str, str]:
    """What a number depends on beside its parameters, as text.

    Returns:
        commit, UTC time, seeds, python, platform, hardware, thread setting, and one
        `version: PACKAGE` entry per package of `PACKAGES`.
    """
    facts = {
        "commit": commit(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seeds": " ".join(map(str, seeds)),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **hardware(),
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
    }
    for package in PACKAGES:
        try:
            facts[f"version: {package}"] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            facts[f"version: {package}"] = "not installed"
    return facts


def stamp(seeds: Sequence[int] = ()) -> str:
    """Last line of a notebook: commit, seeds, and the versions behind its numbers."""
    facts = provenance(seeds)
    shown = [f"commit {facts['commit']}", f"seeds {facts['seeds'] or 'none'}"]
    shown.append(f"python {facts['python']}")
    shown += [f"{p} {facts[f'version: {p}']}" for p in PACKAGES]
    return ", ".join(shown)


class Run:
    """One run and its folder; use as a context manager, or call `finish` yourself.

    Example:
        with Run("quick/05_pivotrl", params={"steps": 60}, seeds=[0]) as run:
            run.log(step=1, reward=0.25)
            run.results["success"] = 0.4
    """

    def __init__(
        self,
        name: str,
        params: Mapping[str, Any],
        seeds: Sequence[int] = (),
        folder: Path | None = None,
    ):
        """
        Args:
            name: folder below `folder`; slashes make subfolders.
            params: JSON-able settings that define the run.
            folder: where run folders lie; default `paths.run_folder`.

        Raises:
            TypeError: `params` is not JSON-able.
        """
        self.name = name
        self.folder = folder / name if folder else paths.run_folder(name)
        self.results: dict[str, Any] = {}
        self._params = json.dumps(dict(params), indent=2, sort_keys=True) + "\n"
        self._seeds = tuple(seeds)
        self._rows: list[dict[str, Any]] = []
        self._start = self._flushed = time.monotonic()
        for leftover in ("metrics.csv.part", "error.txt"):
            (self.folder / leftover).unlink(missing_ok=True)
        write_text(self.folder / "params.json.part", self._params)

    def log(self, **values: Any) -> None:
        """Append one row of metrics; columns may differ from row to row."""
        self._rows.append(values)
        if time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self._flush()

    def seconds(self) -> float:
        """Wall seconds since the run began."""
        return time.monotonic() - self._start

    @property
    def figures(self) -> Path:
        """Where this run's figures go.

        Only reference runs (preset `cpu` and above) may replace the figures and records
        the repository shows; a run at `smoke` or `quick` keeps its own.
        """
        return paths.figures() if self._is_reference else self.folder / "figures"

    @property
    def records(self) -> Path:
        """Where this run's record tables go; see `figures`."""
        return paths.results() if self._is_reference else self.folder / "records"

    @property
    def _is_reference(self) -> bool:
        return self.name.partition("/")[0] not in ("smoke", "quick")

    def finish(self, **results: Any) -> Path:
        """Write everything for good; returns the folder.

        `results.json` comes last: where it exists, the run is complete.
        """
        self.results.update(results)
        facts = provenance(self._seeds) | {"seconds": f"{self.seconds():.1f}"}
        text = "".join(f"{key}: {value}\n" for key, value in facts.items())
        write_text(self.folder / "env.txt", text)
        metrics = rows_to_csv(self._rows)
        for name, whole in (("params.json", self._params), ("metrics.csv", metrics)):
            write_text(self.folder / name, whole)
            # Another run of the same name may have finished here already.
            (self.folder / f"{name}.part").unlink(missing_ok=True)
        results_text = json.dumps(self.results, indent=2, sort_keys=True, default=float)
        write_text(self.folder / "results.json", results_text + "\n")
        return self.folder

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind, error, trace) -> None:
        if error is None:
            self.finish()
            return
        self._flush()
        lines = traceback.format_exception(kind, error, trace)
        write_text(self.folder / "error.txt", "".join(lines))

    def _flush(self) -> None:
        write_text(self.folder / "metrics.csv.part", rows_to_csv(self._rows))
        self._flushed = time.monotonic()


def save_checks(
    run: Run,
    measured: Mapping[str, tuple[float, int]],
) -> Path:
    """Record what a run verified in `checks.csv` among the run's records.

    `measured` maps a check to (value, number of cases). The values join `run.results`;
    the rows are keyed by run and check.
    """
    run.results.update({name: value for name, (value, _) in measured.items()})
    fixed = {"commit": commit(), "seconds": f"{run.seconds():.0f}"}
    rows = [
        {"run": run.name, "check": name, "n": n, "value": f"{value:.3g}", **fixed}
        for name, (value, n) in measured.items()
    ]
    return merge_records("checks", rows, ["run", "check"], run.records)


def _cores() -> str:
    usable = getattr(os, "sched_getaffinity", None)
    return str(len(usable(0)) if usable else os.cpu_count())


def _gpu() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "none"
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, timeout=20)
    return "; ".join(answer.stdout.split("\n")).strip("; ") or "none"
