"""How far shell verdicts agree with rewards by execution, on InterCode's records.

    python -m pivotlab.experiments.logs.shell --data FOLDER [--scripts FOLDER]

Unit: a distinct (gold command, commands before, action, recorded reward) whose reward
was measured. The recorded reward is 1 when InterCode found the same output words and
the same changed files after the episode's commands as after the gold command from the
untouched start. Verdicts:
- exact, normalised: the two commands, by text and by `ShellVerifier`;
- executed: both are run from one start, the action after the commands before it, the
  gold alone, as InterCode did; what execution cannot decide falls back to `normalised`;
- executed_as_recorded: the same after InterCode's own quoting, which wraps a command in
  double quotes without escaping, so that quotes inside it get lost.

Writes `shell_verifier.csv` (lo and hi belong to precision) and rows of `miss_rate.csv`;
intervals are 95% bootstraps over tasks. Outcomes are kept, so a run can be resumed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pivotlab import intervals, paths
from pivotlab.experiments import record_tables
from pivotlab.experiments.logs import intercode_start
from pivotlab.records import Candidate, Message, Trajectory
from pivotlab.trajectories import intercode
from pivotlab.trajectories.loading import load
from pivotlab.verifiers import sandbox
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.sandbox import Sandbox
from pivotlab.verifiers.shell import ShellVerifier
from pivotlab.whole_files import write_text

SOURCE = "princeton-nlp__intercode"
#: Recorded rewards are sums of rounded thirds; this is full marks.
FULL = 0.995


@dataclass(frozen=True)
class Row:
    """One distinct action with its gold command and recorded reward."""

    system: str
    gold: str
    history: tuple[str, ...]
    action: str
    reward: float

    @property
    def task(self) -> str:
        return f"{self.system}: {self.gold}"


def read(data: Path) -> list[Row]:
    """Distinct rows of all recorded episodes whose gold command is known."""
    folder = data / SOURCE / "data"
    golds = {
        path.stem: intercode.gold_commands(path)
        for path in sorted((folder / "nl2bash").glob("nl2bash_fs_*.json"))
    }
    found: dict[Row, None] = {}
    for path in sorted((folder / "results" / "bash").rglob("*.json")):
        for trajectory in load(path).trajectories:
            system = str(trajectory.meta["dataset"])
            gold = golds.get(system, {}).get(str(trajectory.meta["query"]))
            if gold is not None:
                found |= dict.fromkeys(_episode(trajectory, system, gold))
    return list(found)


def _episode(trajectory: Trajectory, system: str, gold: str) -> Iterator[Row]:
    """The measured commands of one episode.

    InterCode's formula gives at least 0.01, so a recorded 0 was not measured. ReAct
    episodes are measured once, at `submit`, which rewards the command before it.
    """
    history: tuple[str, ...] = ()
    for index in trajectory.assistant_turns():
        turn = trajectory.contexts[index]
        action, reward = bare(turn["command"]), float(turn["reward"])
        if action != "submit":
            history = (*history, action)
        if reward > 0 and history:
            yield Row(system, gold, history[:-1], history[-1], reward)


def bare(action: str) -> str:
    """The command inside `execute[...]`, which ReAct episodes write."""
    text = action.strip()
    if text.startswith("execute[") and text.endswith("]"):
        return text[len("execute[") : -1]
    return text


def as_recorded(command: str) -> str:
    """The command that InterCode's harness really ran."""
    try:
        words = shlex.split(f'/bin/bash -c "{command.strip()}"')
    except ValueError:
        return "exit 126"
    return shlex.join(words)


class Outcomes:
    """Runs command lists from one start and keeps digests of what they did."""

    def __init__(self, place: Sandbox, kept: Path):
        self.place, self.kept = place, kept
        lines = kept.read_text().splitlines() if kept.exists() else []
        self.known: dict[str, list[Any]] = dict(json.loads(line) for line in lines)

    def of(self, commands: Sequence[str]) -> list[Any]:
        """[exit code, output, folder, tree, limit], output and tree as digests."""
        key = _digest(json.dumps(list(commands)))
        if key not in self.known:
            out = self.place.run(commands)
            tree = json.dumps([(p, repr(e)) for p, e in sorted(out.tree.items())])
            said = _digest(out.stdout) if out.stdout else ""
            self.known[key] = [out.code, said, out.cwd, _digest(tree), out.limit]
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            with self.kept.open("a") as handle:
                handle.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]

    def doubt(self, gold: str) -> str | None:
        """Why running the gold command cannot decide, None if it can."""
        first, before = self.of([gold]), self.of(["true"])
        if first[4] is not None:
            return "gold_hits_limit"
        if first[0] == 127:
            return "missing_program"
        if not first[1] and first[2:4] == before[2:4]:
            return "no_trace"
        # The same command again, under another key.
        return None if self.of([gold + "\n"]) == first else "unstable"


def verdicts(row: Row, outcomes: Outcomes | None, recorded: bool) -> tuple[bool, str]:
    """(accepted, how it was decided) of one row by execution."""
    quote = as_recorded if recorded else str
    doubt = outcomes.doubt(quote(row.gold)) if outcomes else "unexecuted"
    if outcomes is None or doubt is not None:
        return by_rule(row), str(doubt)
    found = outcomes.of([*map(quote, row.history), quote(row.action)])
    return found == outcomes.of([quote(row.gold)]), "executed"


def by_rule(row: Row) -> bool:
    """Are action and gold command the same up to spelling?"""
    return ShellVerifier().compare(row.gold, row.action).reward == 1.0


def by_text(row: Row) -> bool:
    """Are they the same text?"""
    gold = Candidate("", "", 0, (), Message("assistant", row.gold), domain="terminal")
    said = Message("assistant", row.action)
    return ExactVerifier().verify(gold, said).reward == 1.0


def record(
    mode: str, start: str, turns: str, rows: Sequence[Row], accepted: Sequence[bool]
) -> dict[str, Any]:
    """Precision and recall of one mode against the recorded reward."""
    truth = [row.reward >= FULL for row in rows]
    yes = [(t, r.task) for t, a, r in zip(truth, accepted, rows, strict=True) if a]
    full = [(a, r.task) for t, a, r in zip(truth, accepted, rows, strict=True) if t]
    precision, recall = share(yes), share(full)
    return {
        "mode": mode,
        "start": start,
        "turns": turns,
        "n": len(rows),
        "tasks": len({row.task for row in rows}),
        "rewarded": len(full),
        "accepted": len(yes),
        "precision": precision.value,
        "recall": recall.value,
        "lo": precision.lo,
        "hi": precision.hi,
        "recall_lo": recall.lo,
        "recall_hi": recall.hi,
    }


def share(rows: Iterable[tuple[bool, str]]) -> intervals.Interval:
    """Share of true values with a bootstrap over tasks; NaN for none."""
    rows = list(rows)
    if not rows:
        return intervals.Interval(float("nan"), float("nan"), float("nan"))
    values, tasks = zip(*rows, strict=True)
    return intervals.bootstrap_mean([float(v) for v in values], tasks)


def miss(source: str, verifier: str, rows: Sequence[tuple[bool, str]]) -> dict:
    """Pr[strict = 0 | functional = 1]; `rows` are (strict, task) of accepted ones."""
    found = share((not strict, task) for strict, task in rows)
    figures = {"miss_rate": found.value, "lo": found.lo, "hi": found.hi}
    return {"source": source, "verifier": verifier, "n": len(rows), **figures}


def _digest(value: str | bytes) -> str:
    data = value if isinstance(value, bytes) else value.encode("utf-8", "replace")
    return hashlib.sha256(data).hexdigest()[:16]


def age(kept: Path) -> float:
    """Age of undated start files: an hour before the study first ran, then fixed."""
    note = kept / "made.txt"
    if not note.exists():
        write_text(note, f"{time.time() - 3600:.0f}\n")
    return float(note.read_text())


def run_mode(
    rows: Sequence[Row], start: str, recorded: bool, scripts: Path | None
) -> tuple[list[bool], list[str]]:
    """Verdicts by execution of all rows from one kind of start."""
    kept = paths.cache() / "intercode"
    made = age(kept)
    accepted: dict[Row, bool] = {}
    how: dict[Row, str] = {}
    for system in sorted({row.system for row in rows}):
        inside = [row for row in rows if row.system == system]
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            if start == "official":
                script = (scripts or Path()) / f"setup_nl2b_fs_{system[-1]}.sh"
                intercode_start.official(script, place, made)
            else:
                intercode_start.synthetic((r.gold for r in inside), place, made)
            name = f"{start}-{'recorded' if recorded else 'written'}-{system}.jsonl"
            outcomes = Outcomes(Sandbox(place), kept / name)
            for row in tqdm(inside, desc=name, disable=None):
                accepted[row], how[row] = verdicts(row, outcomes, recorded)
    return [accepted[row] for row in rows], [how[row] for row in rows]


def study(
    data: Path, scripts: Path | None, first_only: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of `shell_verifier.csv` and of `miss_rate.csv`."""
    everything = read(data)
    first = [row for row in everything if not row.history]
    scopes = {"first": first} if first_only else {"first": first, "all": everything}
    table, misses = [], []
    for turns, rows in scopes.items():
        strict = [by_text(row) for row in rows]
        table.append(record("exact", "none", turns, rows, strict))
        ruled = [by_rule(row) for row in rows]
        table.append(record("normalised", "none", turns, rows, ruled))
        tasks = [row.task for row in rows]
        kinds = {"recorded reward": [row.reward >= FULL for row in rows]}
        kinds["normalised"] = ruled
        starts = ["official", "synthetic"] if scripts else ["synthetic"]
        settings = [(s, recorded) for s in starts for recorded in (False, True)]
        # Later turns replay everything before them, so they get one setting only.
        for start, recorded in settings if turns == "first" else settings[:1]:
            mode = "executed_as_recorded" if recorded else "executed"
            accepted, how = run_mode(rows, start, recorded, scripts)
            decided = record(mode, start, turns, rows, accepted)
            decided["decided_by_execution"] = how.count("executed")
            table.append(decided)
            kinds[f"{mode}, {start} start"] = accepted
        for name, accepted in kinds.items():
            right = zip(strict, tasks, accepted, strict=True)
            pairs = [(s, task) for s, task, yes in right if yes]
            misses.append(miss(f"intercode, {turns} turns", name, pairs))
    return table, misses


def main(arguments: list[str] | None = None) -> int:
    """Run the study and write its records."""
    parser = argparse.ArgumentParser(prog="python -m pivotlab.experiments.logs.shell")
    parser.add_argument("--data", type=Path, default=paths.mirror())
    parser.add_argument("--scripts", type=Path, help="InterCode's docker/bash_scripts")
    parser.add_argument("--first-only", action="store_true", help="first turns only")
    given = parser.parse_args(arguments)
    if given.data is None or not (given.data / SOURCE).is_dir():
        print(f"give --data FOLDER, a folder that holds {SOURCE}")
        return 1
    reason = sandbox.reason_unavailable()
    if reason is not None:
        print(f"commands cannot be executed here: {reason}")
        return 1
    table, misses = study(given.data, given.scripts, given.first_only)
    keys = ["mode", "start", "turns"]
    print(record_tables.merge_records("shell_verifier", table, keys))
    print(record_tables.merge_records("miss_rate", misses, ["source", "verifier"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
