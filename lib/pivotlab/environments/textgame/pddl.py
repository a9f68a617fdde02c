"""A game in the form ALFWorld's engine reads: `game.tw-pddl` and `traj_data.json`.

The engine names things itself: it sorts the PDDL ids of one type and numbers them from
the last to the first. Ids are therefore made so that its numbers are those of the game:
number n of N gets the serial N - n. A sink or bath basin is named through the second
half of its id, as in the official games (`Sink|...|SinkBasin`). Like the official games
the problem states no metric, so that the engine's planner counts every action as one.

The domain and the grammar are read from the installed `alfworld` package.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

from pivotlab.environments.textgame import oracle, rules
from pivotlab.environments.textgame.games import Game, facts
from pivotlab.whole_files import write_text

GAME_FILE = "game.tw-pddl"
TRAJECTORY_FILE = "traj_data.json"
#: Property of an object type -> its name in the domain.
_PROPERTIES = {
    "cleanable": "cleanable",
    "heatable": "heatable",
    "coolable": "coolable",
    "sliceable": "sliceable",
    "toggleable": "toggleable",
    "containers": "isReceptacleObject",
}
_START = "loc_start"
#: What to tell a user whose environment lacks the engine.
MISSING = "ALFWorld's engine is not installed: run `pip install -e '.[engine]'`"


def mangled(game: Game) -> dict[str, str]:
    """PDDL id of every receptacle and object of the game, by its name."""
    names = [r.name for r in game.receptacles] + [o.name for o in game.objects]
    counts = Counter(name.split()[0] for name in names)
    return {name: _mangle(name, counts) for name in names}


def _mangle(name: str, counts: Counter[str]) -> str:
    kind, number = name.split()
    spelling = facts()["names"][kind]
    serial = f"{counts[kind] - int(number):03d}"
    if spelling.endswith("Basin"):
        return f"{spelling.removesuffix('Basin')}_bar_{serial}_bar_{spelling}"
    return f"{spelling}_bar_{serial}"


def problem(game: Game) -> str:
    """The game's start and goal as a PDDL problem of ALFWorld's domain.

    Raises:
        ModuleNotFoundError: `alfworld`, which holds the goals, is not installed.
    """
    ids = mangled(game)
    spots = {r.name: f"loc_{i}" for i, r in enumerate(game.receptacles)}
    lines = ["(define (problem game)", "(:domain alfred)"]
    lines += ["(:objects", "agent1 - agent"]
    lines += [f"{loc} - location" for loc in (_START, *spots.values())]
    lines += [f"{ids[r.name]} - receptacle" for r in game.receptacles]
    lines += [f"{ids[o.name]} - object" for o in game.objects]
    lines += [f"{kind}Type - {sort}" for kind, sort in _types()]
    lines += [")", "(:init", f"(atLocation agent1 {_START})"]
    lines += [f"({fact})" for fact in _init(game, ids, spots)]
    # The goal's own brackets close the problem.
    return "\n".join([*lines, ")", _goal(game)])


def _types() -> list[tuple[str, str]]:
    """Every receptacle and object type in PDDL spelling, with its PDDL sort."""
    names, fits = facts()["names"], facts()["fits"]
    objects = set().union(*fits.values()) | set(facts()["toggleable"])
    return [(names[kind], "rtype") for kind in sorted(fits)] + [
        (names[kind], "otype") for kind in sorted(objects)
    ]


def _init(game: Game, ids: dict[str, str], spots: dict[str, str]) -> list[str]:
    """Facts that hold at the start, apart from where the agent is."""
    names = facts()["names"]
    found = [
        f"canContain {names[place]}Type {names[kind]}Type"
        for place, held in sorted(facts()["fits"].items())
        for kind in sorted(held)
    ]
    for place in game.receptacles:
        me = ids[place.name]
        found.append(f"receptacleType {me} {names[place.type]}Type")
        found.append(f"receptacleAtLocation {me} {spots[place.name]}")
        found += [f"openable {me}"] * place.openable + [f"opened {me}"] * place.open
    for item in game.objects:
        me = ids[item.name]
        found.append(f"objectType {me} {names[item.type]}Type")
        found.append(f"inReceptacle {me} {ids[item.receptacle]}")
        found.append(f"objectAtLocation {me} {spots[item.receptacle]}")
        kinds = (k for k in _PROPERTIES if item.type in facts()[k])
        found += [f"{_PROPERTIES[k]} {me}" for k in kinds]
        if item.type not in facts()["toggleable"]:
            found.append(f"pickupable {me}")
    return found


def _goal(game: Game) -> str:
    """Goal from ALFWorld's goal library, with the closing bracket of the problem."""
    try:
        from alfworld.gen.goal_library import gdict
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(MISSING) from missing
    params = _parameters(game)
    text = gdict[game.task_type]["pddl"].format(
        obj=params["object_target"],
        recep=params["parent_target"],
        toggle=params["toggle_target"],
    )
    return text.replace("#", "-")


def _parameters(game: Game) -> dict[str, Any]:
    """`pddl_params` of an ALFRED trajectory file; what a goal lacks is empty."""
    names, goal = facts()["names"], game.goal
    return {
        "object_target": names[goal.object],
        "parent_target": names[goal.destination] if goal.destination else "",
        "toggle_target": names[goal.lamp] if goal.lamp else "",
        "mrecep_target": "",
        "object_sliced": False,
    }


def game_data(game: Game) -> dict[str, Any]:
    """Content of `game.tw-pddl`, with a shortest walkthrough.

    Raises:
        ModuleNotFoundError: `alfworld` is not installed.
    """
    goal_and_start = problem(game)
    data = files("alfworld") / "data"
    grammar = (data / "alfred.twl2").read_text(encoding="utf-8")
    return {
        "pddl_domain": (data / "alfred.pddl").read_text(encoding="utf-8"),
        "grammar": grammar.replace("UNKNOWN GOAL", game.sentence),
        "pddl_problem": goal_and_start,
        "solvable": True,
        "walkthrough": walkthrough(game),
    }


def walkthrough(game: Game) -> list[str]:
    """Commands of a shortest solution."""
    world = rules.World(game)
    state, commands = world.start(), []
    while best := oracle.optimal_actions(world, state):
        commands.append(best[0])
        state = rules.apply(state, rules.admissible(world, state)[best[0]])
    return commands


def write_game(game: Game, folder: str | os.PathLike[str]) -> Path:
    """Write the game into `folder` as ALFWorld's loaders expect it.

    Returns:
        Path of the `game.tw-pddl` file; `traj_data.json` lies beside it.

    Raises:
        ModuleNotFoundError: `alfworld` is not installed.
    """
    target = Path(folder)
    trajectory = {
        "task_id": game.id,
        "task_type": game.task_type,
        "pddl_params": _parameters(game),
        "scene": {"floor_plan": f"FloorPlan{game.room}", "scene_num": game.room},
        "turk_annotations": {"anns": [{"task_desc": game.sentence}]},
    }
    for name, content in ((TRAJECTORY_FILE, trajectory), (GAME_FILE, game_data(game))):
        write_text(target / name, json.dumps(content))
    return target / GAME_FILE
