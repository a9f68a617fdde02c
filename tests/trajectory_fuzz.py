"""Records that are almost right: hand-written files, mutated."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from trajectory_files import FOLDER

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
Path = tuple[str | int, ...]


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


def places(value: Any, path: Path = ()) -> list[Path]:
    """Every place inside a record."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path] + [p for key, v in inner for p in places(v, (*path, key))]


def mutated(record: Any, known: list[Path], rng: random.Random) -> Any:
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
