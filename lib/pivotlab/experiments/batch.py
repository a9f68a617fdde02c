"""Many headless notebook runs: all notebooks in order, or the cells of a grid file.

A failing notebook is kept and named, the others still run, and the exit status is
non-zero when anything failed. A cell of a grid is not repeated once it has finished
with the same parameters and the same code in its notebook; delete its folder to run it
again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pivotlab import paths
from pivotlab.experiments.command_line import Parser
from pivotlab.experiments.grid import Grid, GridCell, read_grid
from pivotlab.experiments.notebooks import code_cells
from pivotlab.experiments.presets import get_preset
from pivotlab.experiments.record_tables import rows_to_csv
from pivotlab.experiments.runs import commit
from pivotlab.whole_files import write_text

#: Notebooks that `run` leaves out: they train the shipped base or measure speed.
NOT_IN_THE_DEFAULT_RUN = ("pretraining", "90_benchmarks")


@dataclass(frozen=True)
class Outcome:
    """One notebook run: how long it took, its error if it failed, whether it was
    finished before."""

    cell: GridCell
    seconds: float
    error: str = ""
    kept: bool = False

    @property
    def result(self) -> str:
        """One word, or the error, which names the kept notebook."""
        return self.error or ("finished before" if self.kept else "done")


def ordered_notebooks() -> list[Path]:
    """The numbered notebooks of the default run, in order."""
    return [
        path
        for path in sorted(paths.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
        if path.stem not in NOT_IN_THE_DEFAULT_RUN
    ]


def ordered_cells(preset: str, only: Sequence[str] = ()) -> list[GridCell]:
    """The ordered notebooks at a preset; `only` keeps those whose name starts so.

    Raises:
        ValueError: unknown preset, or `only` matches no notebook.
    """
    get_preset(preset)
    chosen = [n for n in ordered_notebooks() if n.name.startswith(tuple(only) or "")]
    if not chosen:
        names = ", ".join(n.stem for n in ordered_notebooks())
        raise ValueError(
            f"--only {' '.join(only)} matches no notebook; there are {names}"
        )
    folder = paths.runs() / preset
    return [GridCell(n, folder / n.name, {"preset": preset}) for n in chosen]


def run_one(cell: GridCell, threads: int | None = None) -> Outcome:
    """Execute one cell in a process of its own; an error is returned, not raised.

    Args:
        threads: of the kernel, unless the user has set `OMP_NUM_THREADS`; None leaves
            the choice to the libraries.
    """
    runner = [sys.executable, "-m", "pivotlab.experiments.notebooks"]
    command = [*runner, str(cell.notebook), str(cell.output)]
    for name, value in cell.params.items():
        command += ["-p", name, repr(value)]
    environment = dict(os.environ)
    if cell.folder is not None:
        environment["PIVOTLAB_RUN"] = str(cell.folder)
    if threads is not None:
        environment.setdefault("OMP_NUM_THREADS", str(threads))
    start = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    error = ""
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended by {done.returncode}"]
        error = lines[-1].removeprefix("error: ")
    return Outcome(cell, time.monotonic() - start, error)


def run_cells(cells: Sequence[GridCell], workers: int = 1) -> Iterator[Outcome]:
    """Run cells, `workers` at a time, and yield each as it ends.

    Several workers share the machine's cores evenly.
    """
    threads = max(1, (os.cpu_count() or 1) // workers) if workers > 1 else None
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(run_one, cell, threads) for cell in cells]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def run_all(preset: str, only: Sequence[str] = ()) -> list[Outcome]:
    """Run the ordered notebooks one after the other; arguments of `ordered_cells`."""
    return _reported(ordered_cells(preset, only), workers=1)


def run_grid(grid: Grid) -> list[Outcome]:
    """Run the cells of a grid that have not finished yet; outcomes in grid order."""
    before = {cell.label: _finished(cell) for cell in grid.cells}
    open_cells = [cell for cell in grid.cells if before[cell.label] is None]
    done = len(grid.cells) - len(open_cells)
    print(f"{len(grid.cells)} cells, {done} finished before", flush=True)
    ran = {o.cell.label: o for o in _reported(open_cells, grid.cores)}
    outcomes = []
    for cell in grid.cells:
        seconds = before[cell.label]
        kept = seconds is not None
        outcomes.append(Outcome(cell, seconds, kept=True) if kept else ran[cell.label])
    return outcomes


def _reported(cells: Sequence[GridCell], workers: int) -> list[Outcome]:
    """Run cells with one printed line each; what finished is marked at once."""
    outcomes = []
    # Taken before: what counts is the code that ran, not what it was edited into.
    facts = {cell.label: _facts(cell) | {"commit": commit()} for cell in cells}
    for position, outcome in enumerate(run_cells(cells, workers), 1):
        cell = outcome.cell
        if cell.folder is not None and not outcome.error:
            note = facts[cell.label] | {"seconds": outcome.seconds}
            write_text(cell.folder / "cell.json", json.dumps(note, indent=2) + "\n")
        place = f"[{position}/{len(cells)}]"
        took = f"({outcome.seconds:.0f} s)"
        print(f"{place} {cell.label}: {outcome.result} {took}", flush=True)
        outcomes.append(outcome)
    return outcomes


def _facts(cell: GridCell) -> dict[str, Any]:
    """What makes a finished cell the same cell."""
    code = "\0".join(source for source, _ in code_cells(cell.notebook))
    digest = hashlib.sha256(code.encode()).hexdigest()
    return {"notebook": cell.notebook.stem, "params": dict(cell.params), "code": digest}


def _finished(cell: GridCell) -> float | None:
    """Seconds the cell took if it has finished as it is now, else None."""
    note = cell.folder / "cell.json"
    if not (note.exists() and cell.output.exists()):
        return None
    facts = json.loads(note.read_text("utf-8"))
    same = _facts(cell).items() <= facts.items()
    return facts["seconds"] if same else None


def summary(outcomes: Sequence[Outcome]) -> str:
    """The table printed at the end of a batch."""
    width = max((len(o.cell.label) for o in outcomes), default=0)
    rows = [f"{'notebook':<{width}} {'seconds':>8}  result"]
    for outcome in outcomes:
        rows.append(
            f"{outcome.cell.label:<{width}} {outcome.seconds:8.0f}  "
            f"{'FAILED: ' if outcome.error else ''}{outcome.result}"
        )
    failed = sum(bool(outcome.error) for outcome in outcomes)
    rows.append(f"{len(outcomes) - failed} passed, {failed} failed")
    return "\n".join(rows)


def summary_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One row a cell: notebook, parameters, result, seconds, path, and what its run
    left in `results.json` (as `result.NAME`)."""
    rows = []
    for outcome in outcomes:
        cell = outcome.cell
        row = {"notebook": cell.notebook.stem, **cell.params}
        row |= {"status": "failed" if outcome.error else "passed"}
        row |= {"seconds": f"{outcome.seconds:.1f}", "error": outcome.error}
        row |= {"output": os.path.relpath(cell.output, paths.home())}
        left = cell.folder / "results.json"
        if left.exists() and not outcome.error:
            results = json.loads(left.read_text("utf-8"))
            row |= {f"result.{name}": value for name, value in results.items()}
        rows.append(row)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = Parser(prog="python -m pivotlab.experiments.batch")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the ordered notebooks headless")
    run.add_argument("--preset", default="quick")
    run.add_argument("--only", nargs="+", default=[], help="notebook name prefixes")
    batch = commands.add_parser("batch", help="run the cells of a grid file")
    batch.add_argument("grid", type=Path, help="TOML file; see data/examples/grid.toml")
    options = parser.parse_args(arguments)
    try:
        paths.check_home()
        outcomes = _batch(options.grid) if options.command == "batch" else _run(options)
    except (ValueError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return int(any(outcome.error for outcome in outcomes))


def _run(options: argparse.Namespace) -> list[Outcome]:
    preset = get_preset(options.preset)
    print(f"Preset {options.preset}: {preset.about}", flush=True)
    outcomes = run_all(options.preset, options.only)
    print(summary(outcomes))
    print(f"Executed notebooks, figures and tables: {paths.runs() / options.preset}")
    return outcomes


def _batch(path: Path) -> list[Outcome]:
    grid = read_grid(path)
    outcomes = run_grid(grid)
    table = grid.folder / "summary.csv"
    write_text(table, rows_to_csv(summary_rows(outcomes)))
    print(summary(outcomes))
    print(f"Table: {table}")
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
