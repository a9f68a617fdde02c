"""From agent logs of any known format to a profile, its pivots and training files.

    python -m pivotlab.experiments.logs.profiling runs.jsonl --model ./my-model --k 8 \\
        --limit 200 --out pivots

leaves in `pivots/`: `summary.csv` (one row a domain), `turns.csv` (one row a turn),
`files.csv` and `skips.csv` (why turns are no candidates), `pivots.trl.parquet` and
`pivots.gym.jsonl` (the pivots for TRL and NeMo Gym), `explorer.html` (every turn with
its samples) and `samples/` (what was generated; the same command goes on from there,
after Ctrl-C too).

Turns of `turns.csv` whose kind is `all_fail` are hard, or their demonstration is wrong:
look at them in `explorer.html`, and leave out by `--exclude` what is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from pivotlab.engines.endpoint_client import EndpointError
from pivotlab.experiments.command_line import Parser
from pivotlab.experiments.logs.files import (
    EMBEDDED,
    REGISTERED,
    check_readable,
    find,
)


def at_least(low: int) -> Callable[[str], int]:
    """A type for argparse: a whole number not below `low`."""

    def whole(text: str) -> int:
        if not text.lstrip("-").isdigit() or int(text) < low:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number of {low} or more"
            )
        return int(text)

    return whole


def parser() -> Parser:
    """Options of the command line."""
    made = Parser(
        prog="python -m pivotlab.experiments.logs.profiling",
        description="Profile agent logs and export their pivots.",
    )
    add = made.add_argument
    names = ", ".join((EMBEDDED, *REGISTERED))
    add("logs", nargs="+", help=f"files of any known format, or {names}")
    add("--model", default="tiny", help="name, folder, hub id or served name (tiny)")
    add("--endpoint", help="OpenAI-compatible address, e.g. http://localhost:8000/v1")
    add("--tokenizer", help="of the served model, if not its name")
    add("--device", default="cpu", help="cpu or cuda")
    add(
        "--verifier",
        default="by domain",
        help="see experiments/logs/verifier_choice.py",
    )
    add("--k", type=at_least(2), default=8, help="samples per turn, 2 or more")
    add("--limit", type=at_least(1), help="most turns a file")
    add("--min-reward", type=float, help="only episodes that earned at least this")
    add("--action-checks", action="store_true", help="whose checks of actions passed")
    add("--exclude", nargs="+", default=[], help="uids of trajectories or turns")
    add("--clean", action="store_true", help="take control codes out of observations")
    add("--system", help="rules put before conversations that have none")
    add("--max-prompt-tokens", type=int, default=4096, help="longer turns are skipped")
    add("--max-new-tokens", type=int, default=256, help="longer samples are cut off")
    add("--temperature", type=float, default=1.0, help="keep that of training")
    add("--lambda-diff", type=float, help="pivots have a lower mu (0.6)")
    add("--seed", type=int, default=0)
    add("--out", type=Path, default=Path("pivots"), help="folder to write")
    return made


def run(given: argparse.Namespace) -> None:
    """Check what can be checked at once, then profile.

    Raises:
        ValueError, OSError, RuntimeError: a bad request, told in one line.
    """
    # Imported last: torch takes seconds, and a mistyped name shall not.
    from pivotlab.experiments.logs import verifier_choice

    verifier = verifier_choice.choose(given.verifier)
    files = [path for name in given.logs for path in find(name)]
    check_readable(files)

    from pivotlab.experiments.logs import profiles

    profiles.run(given, files, verifier)


def interrupted(folder: Path) -> str:
    """What an interrupted command leaves in its output folder, and how to go on."""
    import pyarrow.parquet as pq

    parts = folder.glob("samples/**/part-*.parquet")
    kept = sum(pq.read_metadata(part).num_rows for part in parts)
    if not kept:
        return "interrupted before samples were stored; the same command starts anew"
    return (
        f"interrupted: {kept:,} samples are kept in {folder / 'samples'}, the batch in "
        "progress is not; the same command goes on from there"
    )


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0 on success, 2 on a bad request, 130 when interrupted."""
    given = parser().parse_args(arguments)
    try:
        run(given)
    except KeyboardInterrupt:
        print(interrupted(given.out), file=sys.stderr)
        return 130
    except (ValueError, OSError, EndpointError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
