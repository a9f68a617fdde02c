"""Many headless notebook runs: all notebooks in order, or one notebook over a grid.

A failing notebook is kept and named, the others still run, and the exit status is
non-zero when anything failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pivotlab import paths
from pivotlab.experiments import notebooks
from pivotlab.experiments.presets import get_preset

#: Notebooks that `run` leaves out: they train the shipped base or measure speed.
NOT_IN_THE_DEFAULT_RUN = ("pretraining", "90_benchmarks")


@dataclass(frozen=True)
class Outcome:
    """One notebook run: where it lies, how long it took, its error if it failed."""

    notebook: str
    output: Path
    seconds: float
    error: str = ""


def ordered_notebooks() -> list[Path]:
    """The numbered notebooks of the default run, in order."""
    return [
        path
        for path in sorted(paths.NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
        if path.stem not in NOT_IN_THE_DEFAULT_RUN
    ]


def run_one(notebook: Path, folder: Path, parameters: dict[str, object]) -> Outcome:
    """Execute one notebook into `folder`; an error is returned, not raised."""
    output = folder / notebook.name
    start = time.monotonic()
    error = ""
    try:
        notebooks.execute(notebook, output, parameters)
    except notebooks.NotebookError as failure:
        error = str(failure)
    return Outcome(notebook.stem, output, time.monotonic() - start, error)


def run_all(preset: str, only: Sequence[str] = ()) -> list[Outcome]:
    """Run the ordered notebooks at a preset; `only` keeps those whose name starts so.

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
    outcomes = []
    for position, notebook in enumerate(chosen, 1):
        print(f"[{position}/{len(chosen)}] {notebook.stem} ...", flush=True)
        outcomes.append(run_one(notebook, folder, {"preset": preset}))
        last = outcomes[-1]
        print(f"      {last.error or 'done'} ({last.seconds:.0f} s)", flush=True)
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> str:
    """The table printed at the end of a batch."""
    rows = [f"{'notebook':<28} {'seconds':>8}  result"]
    for outcome in outcomes:
        result = f"FAILED, see {outcome.output}" if outcome.error else "ok"
        rows.append(f"{outcome.notebook:<28} {outcome.seconds:8.0f}  {result}")
    failed = sum(bool(outcome.error) for outcome in outcomes)
    rows.append(f"{len(outcomes) - failed} passed, {failed} failed")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m pivotlab.experiments.batch")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the ordered notebooks headless")
    run.add_argument("--preset", default="quick")
    run.add_argument("--only", nargs="+", default=[], help="notebook name prefixes")
    options = parser.parse_args(arguments)
    try:
        preset = get_preset(options.preset)
        print(f"Preset {options.preset}: {preset.about}", flush=True)
        outcomes = run_all(options.preset, options.only)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(summary(outcomes))
    print(f"Executed notebooks, figures and tables: {paths.runs() / options.preset}")
    return int(any(outcome.error for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
