"""Tool-call verdicts on tau-bench airline: strings, arguments, and the database.

    python -m pivotlab.experiments.logs.tool_calls --data FOLDER

Four trials of each task were recorded. Two trials that have made the same calls so far
stand before the same database, so their next calls are a (gold, sample) pair of one
state: the earlier trial's call is the gold one. Distinct pairs are judged by `exact
string` (name and argument text), by `tool_call`, and, where tau2 is installed, by the
database.

Text turns are paired in the same way (same calls so far, same count of texts since),
and each with the text turns of the next task at that place. The latter shows what the
floor of `message` lets through, though some of those texts ask for the same thing.

Writes `tool_call_agreement.csv` (shares with 95% bootstraps over tasks) and rows of
`miss_rate.csv`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pivotlab import paths, tool_schemas
from pivotlab.experiments import record_tables
from pivotlab.experiments.logs.shell import miss, share
from pivotlab.records import Candidate, Message, ToolCall
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.tool_call import ToolCallVerifier

FILE = "sierra-research__tau-bench/historical_trajectories/gpt-4o-airline.json"
SOURCE = "tau-bench airline"


@dataclass(frozen=True)
class Turn:
    """One assistant turn: the calls before it, texts since the last, and what it did.

    `raw` is (name, argument text) of its call, None for a turn of text.
    """

    history: tuple[tuple[str, str], ...]
    texts: int
    message: Message
    raw: tuple[str, str] | None


@dataclass(frozen=True)
class Pair:
    """A gold and a sampled turn of one task at one place."""

    task: str
    history: tuple[tuple[str, str], ...]
    gold: Turn
    said: Turn

    def candidate(self, schemas: tuple[dict[str, Any], ...]) -> Candidate:
        """The gold turn with the calls before it as its prefix."""
        prefix = tuple(
            Message("assistant", "", (ToolCall(name, tool_schemas.arguments(text)),))
            for name, text in self.history
        )
        uid = f"{self.task}:{len(self.history)}"
        return Candidate(uid, self.task, 0, prefix, self.gold.message, schemas, "tool")


def trials(path: Path) -> dict[str, list[list[Turn]]]:
    """Task -> turns of each of its trials, in the order of the trials."""
    rows = sorted(
        json.loads(path.read_text()), key=lambda r: (r["task_id"], r["trial"])
    )
    found: dict[str, list[list[Turn]]] = {}
    for row in rows:
        found.setdefault(str(row["task_id"]), []).append(list(_turns(row["traj"])))
    return found


def call_pairs(by_task: dict[str, list[list[Turn]]]) -> list[Pair]:
    """Distinct pairs of calls made after equal calls."""
    found: dict[tuple, Pair] = {}
    for task, runs_of_task in by_task.items():
        for first, second in combinations(runs_of_task, 2):
            sides = [[t for t in side if t.raw] for side in (first, second)]
            for gold, said in zip(*sides, strict=False):
                if _parsed(gold.history) != _parsed(said.history):
                    break
                key = (task, _parsed(gold.history), gold.raw, said.raw)
                found.setdefault(key, Pair(task, gold.history, gold, said))
    return list(found.values())


def text_pairs(by_task: dict[str, list[list[Turn]]], other: bool) -> list[Pair]:
    """Distinct pairs of texts at one place of one task, or of it and the next task."""
    found: dict[tuple, Pair] = {}
    names = list(by_task)
    for i, task in enumerate(names):
        theirs = by_task[names[(i + 1) % len(names)]] if other else by_task[task]
        chosen = (
            [(a, b) for a in by_task[task] for b in theirs]
            if other
            else list(combinations(theirs, 2))
        )
        for first, second in chosen:
            places = {_place(t, other): t for t in second if not t.raw}
            for gold in (t for t in first if not t.raw):
                said = places.get(_place(gold, other))
                if said is not None:
                    key = (task, gold.message.content, said.message.content)
                    found.setdefault(key, Pair(task, gold.history, gold, said))
    return list(found.values())


def judge(
    pairs: Sequence[Pair], verifier: Verifier, schemas: tuple[dict[str, Any], ...]
) -> list[tuple[bool, str]]:
    """(accepted, category) per pair."""
    found = []
    for pair in tqdm(pairs, desc=verifier.name, disable=None):
        verdict = verifier.verify(pair.candidate(schemas), pair.said.message)
        found.append((verdict.reward == 1.0, verdict.category))
    return found


def study(path: Path, state: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of `tool_call_agreement.csv` and of `miss_rate.csv`.

    Args:
        state: a `Tau2Verifier` of the airline, or None.
    """
    by_task = trials(path)
    pairs = call_pairs(by_task)
    tasks = [pair.task for pair in pairs]
    schemas = state.tools() if state else ()
    strict = [pair.gold.raw == pair.said.raw for pair in pairs]
    ruled = [yes for yes, _ in judge(pairs, ToolCallVerifier(), schemas)]
    differ = [a != b for a, b in zip(strict, ruled, strict=True)]
    table = [
        _share("exact string accepts", strict, tasks),
        _share("tool_call accepts", ruled, tasks),
        _share("exact string and tool_call disagree", differ, tasks),
    ]
    kinds = {"tool_call": ruled}
    if state is not None:
        seen = judge(pairs, state, schemas)
        table += _against_state(ruled, seen, tasks)
        kinds["database state"] = [yes for yes, _ in seen]
    for other, name in ((False, "same task"), (True, "next task")):
        texts = text_pairs(by_task, other)
        passed = [yes for yes, _ in judge(texts, MessageVerifier(), ())]
        label = f"message accepts the text of the {name}"
        table.append(_share(label, passed, [p.task for p in texts]))
    misses = []
    for name, accepted in kinds.items():
        rows = zip(strict, tasks, accepted, strict=True)
        misses.append(miss(SOURCE, name, [(s, t) for s, t, yes in rows if yes]))
    return table, misses


def _against_state(
    ruled: Sequence[bool], seen: Sequence[tuple[bool, str]], tasks: Sequence[str]
) -> list[dict[str, Any]]:
    """How `tool_call` compares with the database where that decides."""
    rows = [
        (rule, state, task)
        for rule, (state, category), task in zip(ruled, seen, tasks, strict=True)
        if not category.startswith("no_state")
    ]
    names = [task for _, _, task in rows]
    right = [(rule, task) for rule, state, task in rows if state]
    wrong = [(rule, task) for rule, state, task in rows if not state]
    return [
        _share("tool_call and database agree", [a == b for a, b, _ in rows], names),
        _share("database accepts", [state for _, state, _ in rows], names),
        _share("tool_call accepts what the database accepts", *_columns(right)),
        _share("tool_call accepts what the database rejects", *_columns(wrong)),
    ]


def _columns(rows: Sequence[tuple[bool, str]]) -> tuple[list[bool], list[str]]:
    return [yes for yes, _ in rows], [task for _, task in rows]


def _share(
    measure: str, values: Sequence[bool], tasks: Sequence[str]
) -> dict[str, Any]:
    found = share(zip(values, tasks, strict=True))
    figures = {"share": found.value, "lo": found.lo, "hi": found.hi}
    n = {"n": len(values), "tasks": len(set(tasks))}
    return {"source": SOURCE, "measure": measure, **n, **figures}


def _turns(messages: Sequence[dict[str, Any]]) -> Iterator[Turn]:
    history: list[tuple[str, str]] = []
    texts = 0
    for message in messages:
        if message["role"] != "assistant":
            continue
        made = message.get("tool_calls") or []
        raw = [(c["function"]["name"], c["function"]["arguments"]) for c in made]
        said = tuple(ToolCall(name, tool_schemas.arguments(text)) for name, text in raw)
        turn = Message("assistant", message.get("content") or "", said)
        yield Turn(tuple(history), texts, turn, raw[0] if raw else None)
        history += raw
        texts = 0 if raw else texts + 1


def _parsed(history: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Calls with their arguments in one spelling."""
    return tuple(
        (name, json.dumps(tool_schemas.arguments(text), sort_keys=True))
        for name, text in history
    )


def _place(turn: Turn, other: bool) -> tuple:
    """Where in a conversation a text stands; across tasks only the counts can agree."""
    before = len(turn.history) if other else _parsed(turn.history)
    return (before, turn.texts)


def _airline() -> Any:
    try:
        from pivotlab.verifiers.tau2 import Tau2Verifier

        return Tau2Verifier("airline")
    except ImportError as error:
        print(f"without the database verdict: {error}")
        return None


def main(arguments: list[str] | None = None) -> int:
    """Run the study and write its records."""
    parser = argparse.ArgumentParser(
        prog="python -m pivotlab.experiments.logs.tool_calls"
    )
    parser.add_argument("--data", type=Path, default=paths.mirror())
    given = parser.parse_args(arguments)
    if given.data is None or not (given.data / FILE).is_file():
        print(f"give --data FOLDER, a folder that holds {FILE}")
        return 1
    table, misses = study(given.data / FILE, _airline())
    keys = ["source", "measure"]
    print(record_tables.merge_records("tool_call_agreement", table, keys))
    print(record_tables.merge_records("miss_rate", misses, ["source", "verifier"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
