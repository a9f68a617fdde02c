"""Derive `rooms.json` from the `alfworld` wheel (MIT, see LICENSE beside this file).

    pip download --no-deps alfworld==0.4.2
    python data/alfworld/derive.py alfworld-0.4.2-py3-none-any.whl

What is kept: which receptacles and objects each of the 120 floor plans has, which
object type fits on which receptacle type, what can be opened, heated, cooled, cleaned,
toggled and sliced, the goal sentences, and the split of floor plans. All names are
lower case, as the game shows them; `names` maps them back to the spelling of the PDDL
files.

Receptacle counts come from the `openable` layouts (one entry a receptacle). A
receptacle type that only the `objects` layouts know counts once. `valid_unseen` rooms
are the wheel's test scenes (the first six floor plans of each kind of room).
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

TASKS = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
#: Receptacle types the game has no use for: they hold nothing whole.
NO_USE = {"Toaster"}


def module(wheel: zipfile.ZipFile, path: str) -> dict[str, Any]:
    """Names defined by a plain-data module inside the wheel."""
    names: dict[str, Any] = {}
    exec(compile(wheel.read(path), path, "exec"), names)
    return names


def receptacle_type(key: str) -> str:
    """Type of a layout key such as `Sink|-01.90|+00.97|-01.50|SinkBasin`."""
    kind = key.split("|", 1)[0]
    return kind + "Basin" if key.endswith("Basin") else kind


def room(wheel: zipfile.ZipFile, number: int, fits: dict[str, set[str]]) -> dict:
    """Receptacle counts and object types of one floor plan."""
    stem = f"alfworld/gen/layouts/FloorPlan{number}"
    present = set(json.loads(wheel.read(f"{stem}-objects.json")))
    counts = Counter(
        map(receptacle_type, json.loads(wheel.read(f"{stem}-openable.json")))
    )
    for kind in present & set(fits):
        counts.setdefault(kind, 1)
    things = set().union(*fits.values()) | {"DeskLamp", "FloorLamp"}
    return {
        "receptacles": {k.lower(): counts[k] for k in sorted(counts) if k in fits},
        "objects": sorted(kind.lower() for kind in present & things),
    }


def derive(wheel: zipfile.ZipFile) -> dict[str, Any]:
    """The whole content of `rooms.json`."""
    const = module(wheel, "alfworld/gen/constants.py")
    goals = module(wheel, "alfworld/gen/goal_library.py")["gdict"]
    movable = const["MOVABLE_RECEPTACLES_SET"]
    fits = {
        kind: {o for o in held if not o.endswith("Sliced")}
        for kind, held in const["VAL_RECEPTACLE_OBJECTS"].items()
        if kind not in movable | NO_USE
    }
    props = const["VAL_ACTION_OBJECTS"]
    kinds = {n: k for k, scenes in const["SCENE_TYPE"].items() for n in scenes}
    rooms = {
        str(n): {"kind": kinds[n].lower(), **room(wheel, n, fits)}
        for n in sorted(kinds)
    }
    every = set(fits) | set().union(*fits.values()) | set(props["Toggleable"])
    lower = {
        name.lower(): sorted(k.lower() for k in props[name] if not k.endswith("Sliced"))
        for name in ("Heatable", "Coolable", "Cleanable", "Toggleable", "Sliceable")
    }
    return {
        "source": "alfworld 0.4.2 (MIT, see LICENSE)",
        "fits": {k.lower(): sorted(o.lower() for o in fits[k]) for k in sorted(fits)},
        "openable": sorted(k.lower() for k in const["OPENABLE_CLASS_SET"] if k in fits),
        **lower,
        "containers": sorted(k.lower() for k in movable),
        "tasks": {
            task: {
                "rooms": sorted(k.lower() for k in const["GOALS_VALID"][task]),
                "sentences": goals[task]["templates"],
            }
            for task in TASKS
        },
        "train": sorted(const["TRAIN_SCENE_NUMBERS"]),
        "unseen": sorted(const["TEST_SCENE_NUMBERS"]),
        "names": {k.lower(): k for k in sorted(every)},
        "rooms": rooms,
    }


def main() -> None:
    if len(sys.argv) != 2 or not zipfile.is_zipfile(sys.argv[1]):
        sys.exit("usage: python derive.py PATH_OF_THE_ALFWORLD_WHEEL (a .whl file)")
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        data = derive(wheel)
    lines = [f'"{key}": {json.dumps(data[key])}' for key in data if key != "rooms"]
    rooms = ",\n".join(f'"{n}": {json.dumps(r)}' for n, r in data["rooms"].items())
    text = "{\n" + ",\n".join(lines) + ',\n"rooms": {\n' + rooms + "\n}\n}\n"
    Path(__file__).with_name("rooms.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
