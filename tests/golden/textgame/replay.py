"""Hold the twin against the recorded answers of the real engine, and count.

    python tests/golden/textgame/replay.py

replays every transcript and writes `data/results/twin_vs_engine.csv`. In that table
`plans` counts the states, not yet won, in which the engine's planner was asked, and
`plans_equal` those where its plan is as long as the oracle's L says; `seconds` is the
twin's time for the replay.

A transcript has `task` (id), `engine` (versions), `game` (the whole record, so that it
stays valid if ids should ever mean other games), `opening`, `admissible` (before the
first command), `plans` (number of commands given so far -> length of the engine
planner's plan from there; it counts every action as one, so this is a count of turns)
and `steps` ([command, observation, admissible commands after it, won]).
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from pivotlab.environments.textgame.games import Game, Goal, Item, Receptacle
from pivotlab.environments.textgame.list_order import in_order
from pivotlab.environments.textgame.twin import TextGame
from pivotlab.experiments.record_tables import merge_records
from pivotlab.experiments.runs import commit

TRANSCRIPTS = Path(__file__).with_name("transcripts.jsonl.gz")
NOTHING = "Nothing happens."
#: Columns of the table: sizes, agreements, and how often rare things are shown.
COLUMNS = (
    "games",
    "steps",
    "observations_equal",
    "admissible_equal",
    "won_equal",
    "plans",
    "plans_equal",
    "won",
    "inadmissible",
    "look",
    "look_at_receptacle",
    "examine_receptacle",
    "examine_object",
    "inventory",
    "help",
    "use",
    "clean",
    "heat",
    "cool",
    "slice",
)


def transcripts() -> list[dict[str, Any]]:
    """All recorded games."""
    lines = gzip.decompress(TRANSCRIPTS.read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def game_of(row: dict[str, Any]) -> Game:
    """The game record of a transcript."""
    data = dict(row["game"])
    data["receptacles"] = tuple(Receptacle(**r) for r in data["receptacles"])
    data["objects"] = tuple(Item(**o) for o in data["objects"])
    data["goal"] = Goal(**data["goal"])
    return Game(**data)


def form(observation: str) -> str:
    """The text with every numbered thing written THING."""
    return re.sub(r"[a-z]+ \d+", "THING", observation)


def replay(row: dict[str, Any]) -> tuple[Counter[str], list[str]]:
    """Play one transcript on the twin.

    Returns:
        Counts of what was compared and what agreed; one line for every disagreement.
    """
    env, found, wrong = TextGame(), Counter(games=1), []
    _compare(row["opening"], env.play(game_of(row)), "opening", wrong)
    _compare(row["admissible"], env.admissible(), "first admissible set", wrong)
    _plan(row, 0, env, found, wrong)
    for turn, (action, text, admissible, won) in enumerate(row["steps"], 1):
        where = f"turn {turn} {action!r}"
        answer = env.step(action)
        found.update(steps=1, **{kind: 1 for kind in _kinds(action, text)})
        same = _compare(text, answer.observation, f"{where} text", wrong)
        found["observations_equal"] += same
        same = _compare(admissible, env.admissible(), f"{where} admissible", wrong)
        found["admissible_equal"] += same
        found["won_equal"] += _compare(won, answer.done, f"{where} won", wrong)
        found["won"] += won
        _plan(row, turn, env, found, wrong)
    return found, [f"{row['task']}: {line}" for line in wrong]


def _compare(real: Any, twin: Any, what: str, wrong: list[str]) -> bool:
    if isinstance(real, str):
        real, twin = in_order(real), in_order(twin)
    if real != twin:
        wrong.append(f"{what}: engine {real!r}, twin {twin!r}")
    return real == twin


def _plan(
    row: dict[str, Any], turn: int, env: TextGame, found: Counter[str], wrong: list[str]
) -> None:
    """Compare L with the planner, where the planner was asked."""
    plan = row["plans"].get(str(turn))
    if plan is not None:
        same = _compare(plan, env.remaining_turns(), f"L after turn {turn}", wrong)
        # A won game (an empty plan) is no evidence for the oracle.
        found["plans"] += plan > 0
        found["plans_equal"] += same and plan > 0


def _kinds(action: str, text: str) -> list[str]:
    """Which rare things a step shows."""
    verb = action.split()[0] if action.split() else ""
    if text == NOTHING:
        return ["inadmissible"]
    if verb == "look":
        return ["look", "look_at_receptacle"] if "facing" in text else ["look"]
    if verb == "examine":
        is_object = not text.startswith(("On the", "The "))
        return ["examine_object" if is_object else "examine_receptacle"]
    rare = ("inventory", "help", "slice", "use", "clean", "heat", "cool")
    return [verb] if verb in rare else []


def rows() -> list[dict[str, Any]]:
    """Table rows: what was compared, and what agreed, by task type and in all."""
    found: dict[str, Counter[str]] = {}
    seconds: Counter[str] = Counter()
    for row in tqdm(transcripts(), desc="replay"):
        started = time.perf_counter()
        counts, wrong = replay(row)
        for name in (row["game"]["task_type"], "all"):
            found.setdefault(name, Counter()).update(counts)
            seconds[name] += time.perf_counter() - started
        for line in wrong:
            tqdm.write(line)
    fixed = {"engine": row["engine"], "commit": commit()}
    return [
        {"task_type": name, **{c: counts[c] for c in COLUMNS}, **fixed}
        | {"seconds": f"{seconds[name]:.3f}"}
        for name, counts in found.items()
    ]


def main() -> None:
    print(f"wrote {merge_records('twin_vs_engine', rows(), ['task_type'])}")


if __name__ == "__main__":
    main()
