"""The PDDL form: the engine's own numbering gives back the game's names."""

import re
from collections import Counter

import pytest

from pivotlab.environments.textgame import pddl
from pivotlab.environments.textgame.games import facts, make_game, task_ids
from pivotlab.environments.textgame.twin import TextGame

TASKS = [*task_ids("train", 60), *task_ids("valid_unseen", 24, full=True)]


def numbered(ids):
    """ALFWorld sorts the ids and hands out the numbers of a type from the last on."""
    kinds = {i: i.split("_bar_")[0] + ("basin" if "basin" in i else "") for i in ids}
    left = Counter(kinds.values())
    names = {}
    for each in sorted(ids):
        names[each] = f"{kinds[each]} {left[kinds[each]]}"
        left[kinds[each]] -= 1
    return names


@pytest.mark.parametrize("task", TASKS)
def test_the_engine_will_name_everything_as_the_game_does(task):
    ids = pddl.mangled(make_game(task))
    back = numbered([i.lower() for i in ids.values()])
    assert {name: back[i.lower()] for name, i in ids.items()} == {n: n for n in ids}


def test_ids_of_a_basin_and_of_two_mugs():
    names = ["sinkbasin 1", "mug 1", "mug 2"]
    counts = Counter(name.split()[0] for name in names)
    assert [pddl._mangle(name, counts) for name in names] == [
        "Sink_bar_000_bar_SinkBasin",
        "Mug_bar_001",
        "Mug_bar_000",
    ]


@pytest.mark.parametrize("task", TASKS[:12])
def test_the_start_says_where_everything_is(task):
    game = make_game(task)
    ids = pddl.mangled(game)
    spots = {r.name: f"loc_{i}" for i, r in enumerate(game.receptacles)}
    found = pddl._init(game, ids, spots)
    for item in game.objects:
        assert f"inReceptacle {ids[item.name]} {ids[item.receptacle]}" in found
        assert f"objectAtLocation {ids[item.name]} {spots[item.receptacle]}" in found
        fixed = item.type in facts()["toggleable"]
        assert (f"pickupable {ids[item.name]}" in found) != fixed
    opened = {f.split()[1] for f in found if f.startswith("opened ")}
    assert opened == {ids[r.name] for r in game.receptacles if r.open}
    assert len(found) == len(set(found))


@pytest.mark.parametrize("task", TASKS[:12])
def test_the_walkthrough_wins_in_the_fewest_turns(task):
    env = TextGame()
    env.reset(task)
    commands = pddl.walkthrough(make_game(task))
    assert len(commands) == env.remaining_turns()
    assert [env.step(c).done for c in commands] == [False] * (len(commands) - 1) + [
        True
    ]


def test_without_the_engine_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "alfworld.gen.goal_library", None)
    with pytest.raises(
        ModuleNotFoundError, match=re.escape("pip install -e '.[engine]'")
    ):
        pddl.write_game(make_game(TASKS[0]), tmp_path)
