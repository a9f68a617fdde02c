"""Record golden transcripts: what the real ALFWorld engine answers to mixed play.

    python tests/golden/textgame/make_golden.py

needs the extra `engine` (see the README) and writes `transcripts.jsonl.gz` beside this
file. One line a game; see `replay.py`, which reads them. The play mixes acceptable
commands of the honest player, tours that change and examine one object, sensible and
senseless admissible commands, looks, and commands the engine refuses. It uses only
texts and admissible sets of the engine, never the rules of the twin. The same run gives
the same bytes; it takes half an hour, and goes on where an interrupted one stopped.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pivotlab.environments.textgame.engine import RealTextGame
from pivotlab.environments.textgame.games import Game, facts, make_game, task_ids
from pivotlab.environments.textgame.players import HonestPlayer, refused

TARGET = Path(__file__).with_name("transcripts.jsonl.gz")
STEPS = 60
#: (split, games, full rooms): 14 games of each of the six types.
BATCHES = (
    ("train", 24, False),
    ("valid_seen", 18, False),
    ("valid_unseen", 24, False),
    ("train", 6, True),
    ("valid_unseen", 12, True),
)
#: Orders of changes that show every state of an object, in the kitchens.
ORDERS = (("clean", "heat", "cool"), ("heat", "cool", "clean"), ("cool", "heat"))
#: The planner is asked at the start and after every so many steps of a capped room,
#: and at the start of a full one, where it may take half a minute.
PLAN_EVERY = 12
NONSENSE = (
    "",
    "dance",
    "go to",
    "look around",
    "take",
    "go to fridge",
    "open",
    "Look",
    "examine room",
    "put down",
    "go to shelf 99",
    "take mug 99 from desk 1",
)


@cache
def kitchens() -> list[str]:
    """Small rooms with a knife, food and everything that changes food, two a type."""
    found = []
    for kind in ("clean", "heat", "cool"):
        types = (f"pick_{kind}_then_place_in_recep",)
        ids = (i for i in task_ids("train", 9000, types=types) if _is_kitchen(i))
        found += itertools.islice(ids, 2)
    return found


def _is_kitchen(task: str) -> bool:
    """Whether all food may be changed in every way and lies where a knife may lie."""
    game, table = make_game(task), facts()
    kinds = {o.type for o in game.objects}
    food, knives = kinds & set(table["sliceable"]), kinds & {"knife", "butterknife"}
    spots = {o.receptacle.split()[0] for o in game.objects if o.type in food}
    changes = [set(table[p]) for p in ("cleanable", "heatable", "coolable")]
    return (
        bool(food and knives)
        and all(food <= may for may in changes)
        and all(knives <= table["fits"][spot] for spot in spots)
        and {"sinkbasin", "microwave", "fridge"} <= {r.type for r in game.receptacles}
    )


def tour(game: Game, verbs: Sequence[str] = (), slicing: bool = True) -> list[str]:
    """Commands that slice, take, change and examine one object, then put it down.

    Without `verbs` the changes are drawn. Not all commands will be carried out; what is
    refused is recorded as well.
    """
    rng = random.Random(f"tour {game.id}")
    spots = {o.name: o.receptacle for o in game.objects}
    kinds = {o.name: o.type for o in game.objects}
    stations = {
        verb: [r.name for r in game.receptacles if r.type == kind]
        for verb, kind in (
            ("clean", "sinkbasin"),
            ("heat", "microwave"),
            ("cool", "fridge"),
        )
    }
    food = [o for o in spots if kinds[o] in facts()["sliceable"]]
    knives = [o for o in spots if kinds[o] in ("knife", "butterknife")]
    commands = []
    if food and knives:
        item, knife = rng.choice(food), rng.choice(knives)
    else:
        item = rng.choice([o for o in spots if kinds[o] not in facts()["toggleable"]])
    if food and knives and slicing:
        home = spots[item]
        commands += [*_fetch(knife, spots[knife]), f"examine {knife}", f"go to {home}"]
        commands += [f"slice {item} with {knife}", "look", f"slice {item} with {knife}"]
        commands += [f"open {home}", f"move {knife} to {home}", f"examine {home}"]
    commands += [*_fetch(item, spots[item]), f"examine {item}", "inventory"]
    for verb in verbs or rng.sample(("clean", "heat", "cool", "heat"), 4):
        for station in stations[verb][:1]:
            commands += [f"go to {station}", f"{verb} {item} with {station}", "look"]
            commands += [f"examine {item}"]
    return [*commands, f"go to {spots[item]}", f"move {item} to {spots[item]}"]


def _fetch(item: str, home: str) -> list[str]:
    return [f"go to {home}", f"open {home}", f"take {item} from {home}"]


def by_verb(admissible: list[str], rng: random.Random) -> str:
    """An admissible command, its verb drawn first, so that rare verbs come up."""
    verbs = sorted({c.split()[0] for c in admissible})
    verb = rng.choice(verbs)
    return rng.choice([c for c in admissible if c.split()[0] == verb])


def probe(player: HonestPlayer, rng: random.Random) -> str:
    """A look at the world; often at something that is not in sight or in hand."""
    belief = player.belief
    seen = [o for held in belief.inside.values() for o in held]
    things = [belief.held, belief.at, rng.choice(belief.places), *seen[:2]]
    examined = rng.choice([thing for thing in things if thing])
    looks = ("look", "inventory", "help", f"examine {examined}", f"examine {examined}")
    return rng.choice(looks)


def refused_command(
    player: HonestPlayer, admissible: list[str], rng: random.Random
) -> str:
    """A command that is well formed but impossible now, of old wording, or nonsense."""
    roll = rng.random()
    if roll < 0.6:
        return refused(player.belief, admissible, rng)
    puts = [c for c in admissible if c.startswith("move ")]
    if roll < 0.75 and puts:
        return puts[0].replace("move ", "put ").replace(" to ", " in/on ")
    if roll < 0.85:
        return rng.choice(admissible).upper()
    return rng.choice(NONSENSE)


def choose(
    player: HonestPlayer, admissible: list[str], honest: float, rng: random.Random
) -> str:
    """Next command of the mixture; `honest` is the share of sensible play."""
    if rng.random() < honest:
        return player.act(admissible, rng)
    roll = rng.random()
    if roll < 0.4:
        return by_verb(admissible, rng)
    if roll < 0.55:
        return rng.choice(admissible)
    if roll < 0.8:
        return probe(player, rng)
    return refused_command(player, admissible, rng)


def engine() -> str:
    """Versions of what answers."""
    parts = ("alfworld", "textworld", "fast-downward-textworld")
    return ", ".join(f"{part} {version(part)}" for part in parts)


def script_of(task: str, number: int) -> list[str]:
    """How the game begins: every other game with a tour, a kitchen with one of six."""
    if task in kitchens():
        which = kitchens().index(task)
        return tour(make_game(task), ORDERS[which // 2], slicing=which % 2 == 0)
    return tour(make_game(task))[: STEPS // 2] if number % 2 else []


def record(env: RealTextGame, task: str, number: int) -> dict[str, Any]:
    """Play game `number` of its type, and write down everything.

    Some games are played with more sense than others; after a win, all without.
    """
    game, rng, player = make_game(task), random.Random(f"play {task}"), HonestPlayer()
    started = time.perf_counter()
    opening = env.reset(task)
    player.start(opening)
    script = script_of(task, number)
    row: dict[str, Any] = {"task": task, "engine": engine(), "game": asdict(game)}
    row |= {"opening": opening, "admissible": env.admissible()}
    row |= {"plans": {"0": len(env.plan())}, "steps": []}
    won, sense = False, (0.15, 0.3, 0.5)[number % 3]
    for turn in range(1, STEPS + 1):
        admissible = env.admissible()
        honest = 0.0 if won else sense
        action = script.pop(0) if script else choose(player, admissible, honest, rng)
        answer = env.step(action)
        player.observe(answer.observation)
        won = answer.done
        row["steps"].append([action, answer.observation, env.admissible(), won])
        if turn % PLAN_EVERY == 0 and "/full/" not in task:
            row["plans"][str(turn)] = len(env.plan())
    tqdm.write(f"{task} {time.perf_counter() - started:.1f} s")
    return row


def recorded(part: Path) -> dict[str, dict[str, Any]]:
    """Games that an interrupted run has finished, by task id; a torn line goes."""
    whole = part.read_text().split("\n")[:-1] if part.exists() else []
    part.write_text("".join(f"{line}\n" for line in whole))
    return {row["task"]: row for row in map(json.loads, whole)}


def tasks() -> list[tuple[str, int]]:
    """Every game to record, with its number among the games of its type."""
    ids = [
        task
        for split, count, full in BATCHES
        for task in task_ids(split, count, start=700, full=full)
    ]
    return [(task, i // 6) for i, task in enumerate(ids)] + [(k, 0) for k in kitchens()]


def main() -> None:
    part, env = TARGET.with_suffix(".part"), RealTextGame()
    rows = recorded(part)
    for task, number in tqdm(tasks()):
        if task not in rows:
            rows[task] = record(env, task, number)
            with part.open("a") as file:
                file.write(_line(rows[task]))
    text = "".join(_line(rows[task]) for task, _ in tasks())
    ready = TARGET.with_suffix(".new")
    ready.write_bytes(gzip.compress(text.encode(), mtime=0))
    os.replace(ready, TARGET)
    part.unlink()
    print(f"{TARGET.name}: {len(rows)} games, {TARGET.stat().st_size / 1e6:.2f} MB")


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    main()
