"""Records that are almost right: hand-written files, mutated."""

from __future__ import annotations

import copy
import json
import random
import time
from pathlib import Path
from typing import Any

from trajectory_files import FOLDER

from pivotlab.trajectories.assembly import Origin
from pivotlab.trajectories.loading import LoadReport, load, read_record

ATOMS: tuple[Any, ...] = (
    None, True, False, 0, -1, 3.5, 10**30, "", "x", "{}", "[]", "[", "{'a': 1}",
    "<tool_call>", "<think>", "Observation: x", "\x1b[0m", "###STOP###", [], {}, [1],
    [[]], [None], {"a": None}, "assistant", "user", "tool", [{}], ["a"],
    {"type": "text"}, {"role": "assistant"}, {"kind": "Condensation"},
)  # fmt: skip
KEYS = (
    "type", "role", "kind", "action", "content", "name", "id", "traj", "messages",
    "history", "trajectory", "arguments", "tool_calls", "observation", "conversations",
)  # fmt: skip
Place = tuple[str | int, ...]
#: No single small record may take longer than this, in seconds, on a busy machine.
SLOWEST = 2.0


def seeds() -> list[Any]:
    """Every record of the fixtures."""
    found: list[Any] = []
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in (".json", ".traj"):
            found.append(json.loads(path.read_text()))
        elif path.suffix == ".jsonl":
            lines = [
                t for t in path.read_text().splitlines() if t.startswith(("{", "["))
            ]
            rows = [json.loads(line) for line in lines]
            found += [*rows, rows]
        elif path.suffix == ".txt":
            found.append(path.read_text())
    return found


def places(value: Any, path: Place = ()) -> list[Place]:
    """Every place inside a record."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path] + [p for key, v in inner for p in places(v, (*path, key))]


def mutated(record: Any, known: list[Place], rng: random.Random) -> Any:
    """A copy with one to three places removed, replaced, or added to."""
    record = copy.deepcopy(record)
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(known)
        holder = record
        try:
            for key in path[:-1]:
                holder = holder[key]
            _change(holder, path[-1], rng)
        except (IndexError, KeyError, TypeError, AttributeError):
            continue
    return record


def _change(holder: Any, key: str | int, rng: random.Random) -> None:
    atom = copy.deepcopy(rng.choice(ATOMS))
    kind = rng.random()
    if kind < 0.2:
        del holder[key]
    elif kind < 0.75:
        holder[key] = atom
    elif kind < 0.85:
        holder[key] = holder[key][: rng.randint(0, 5)]
    elif isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), atom)
    else:
        holder[rng.choice(KEYS)] = atom


def garbled(text: bytes, rng: random.Random) -> bytes:
    """Bytes with a few of them changed, dropped or doubled."""
    data = bytearray(text)
    for _ in range(rng.randint(1, 8)):
        if not data:
            break
        at = rng.randrange(len(data))
        kind = rng.random()
        if kind < 0.5:
            data[at] = rng.randrange(256)
        elif kind < 0.7:
            del data[at : at + rng.randint(1, 200)]
        else:
            data[at:at] = data[at : at + rng.randint(1, 50)]
    return bytes(data)


SEEDS = seeds()
PLACES = [[p for p in places(s) if p] or [(0,)] for s in SEEDS]


def check(record: Any) -> None:
    """One record through the readers: it must come out as a consistent report."""
    report = LoadReport("record.json")
    start = time.perf_counter()
    found = list(read_record(record, Origin("record.json"), report))
    assert time.perf_counter() - start < SLOWEST
    turns = [(t, i) for t in found for i in t.assistant_turns()]
    skipped = [i for t, i in turns if i in t.skips]
    assert report.turns == len(turns) == report.candidates + len(skipped)
    assert all(t.skips.keys() <= set(t.assistant_turns()) for t in found)
    assert len({t.uid for t in found}) == len(found)
    assert report.failed == len(report.errors) or len(report.errors) == 100


def run_mutations(count: int, seed: int) -> None:
    """Check `count` mutated records."""
    rng = random.Random(seed)
    for _ in range(count):
        index = rng.randrange(len(SEEDS))
        check(mutated(SEEDS[index], PLACES[index], rng))


def run_garbled(count: int, seed: int, folder: Path) -> None:
    """Check `count` garbled files, written to `folder`."""
    rng = random.Random(seed)
    files = sorted(p for p in FOLDER.iterdir() if p.is_file())
    for _ in range(count):
        source = rng.choice(files)
        path = folder / source.name
        path.write_bytes(garbled(source.read_bytes(), rng))
        report = load(path)
        assert report.turns == report.candidates + sum(report.skips.values())
