"""Games: deterministic, readable ids, solvable, split by room."""

import json
import random
import subprocess
import sys

import pytest

from pivotlab import paths
from pivotlab.environments.textgame import rules
from pivotlab.environments.textgame.games import (
    LAMP_PLACES,
    SPLITS,
    TASK_TYPES,
    TRANSFORMS,
    facts,
    homes,
    make_game,
    task_ids,
)

IDS = [i for split in SPLITS for i in task_ids(split, 120)]
FULL = [i for split in SPLITS for i in task_ids(split, 30, full=True)]


def test_an_id_names_one_game_in_every_process():
    code = (
        "from pivotlab.environments.textgame.games import make_game, task_ids;"
        "print([make_game(i) for i in task_ids('train', 12)])"
    )
    here = str([make_game(i) for i in task_ids("train", 12)])
    for seed in ("1", "2"):
        env = {"PYTHONHASHSEED": seed}
        other = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env
        )
        assert other.stdout.strip() == here, other.stderr


def test_task_ids_take_the_types_in_turn():
    assert task_ids("valid_seen", 8, start=3)[0] == (
        "pick_and_place_simple/valid_seen/000003"
    )
    assert task_ids("valid_seen", 8, start=3)[7] == (
        "look_at_obj_in_light/valid_seen/000004"
    )
    assert task_ids("train", 1, types=("pick_two_obj_and_place",), full=True) == [
        "pick_two_obj_and_place/train/full/000000"
    ]


@pytest.mark.parametrize(
    "task_id",
    ["", "pick_up/train/000001", "pick_two_obj_and_place/test/000001", "train/1"]
    + [f"pick_two_obj_and_place/train/{n}" for n in ("1", "0000001", "small/000001")],
)
def test_a_wrong_id_gets_one_line_that_names_it_and_the_valid_forms(task_id):
    with pytest.raises(ValueError) as caught:
        make_game(task_id)
    message = str(caught.value)
    assert repr(task_id) in message and "\n" not in message
    assert all(name in message for name in TASK_TYPES + SPLITS)


def test_unseen_rooms_never_occur_in_train_or_valid_seen():
    rooms = {
        split: {make_game(i).room for i in task_ids(split, 300)} for split in SPLITS
    }
    assert not rooms["valid_unseen"] & (rooms["train"] | rooms["valid_seen"])
    assert rooms["valid_seen"] & rooms["train"]
    assert len(facts()["train"]) == 96 and len(facts()["unseen"]) == 24
    seen = {repr(make_game(i).objects) for i in task_ids("train", 300)}
    assert not seen & {repr(make_game(i).objects) for i in task_ids("valid_seen", 300)}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("ids", [IDS, FULL], ids=["capped", "full"])
def test_games_are_consistent_and_not_won_at_the_start(ids, split):
    for task_id in ids:
        if f"/{split}/" in task_id:
            _consistent(make_game(task_id))


def _consistent(game):
    room = facts()["rooms"][str(game.room)]
    places = {r.name: r for r in game.receptacles}
    for things in (game.receptacles, game.objects):
        count = {}
        for thing in things:
            count[thing.type] = count.get(thing.type, 0) + 1
            assert thing.name == f"{thing.type} {count[thing.type]}"
        assert [t.type for t in things] == sorted(t.type for t in things)
    for item in game.objects:
        assert item.type in room["objects"]
        assert places[item.receptacle].type in homes(item.type)
    for place in game.receptacles:
        assert place.openable == (place.type in facts()["openable"])
        assert place.openable or not place.open
    world = rules.World(game)
    assert not rules.won(world, world.start())
    assert room["kind"] in facts()["tasks"][game.task_type]["rooms"]
    _goal_can_be_reached(game)


def _goal_can_be_reached(game):
    goal = game.goal
    kinds = [o.type for o in game.objects]
    types = {r.type for r in game.receptacles}
    assert kinds.count(goal.object) >= goal.count
    assert goal.object in game.sentence
    if goal.lamp is not None:
        lamp = next(o for o in game.objects if o.type == goal.lamp)
        assert lamp.receptacle.split()[0] in LAMP_PLACES
        return
    assert goal.destination in types and goal.destination in homes(goal.object)
    if goal.transform:
        needed, station = TRANSFORMS[goal.transform]
        assert station in types and goal.object in facts()[needed]


def test_capped_rooms_stay_small_and_full_rooms_hold_the_floor_plan():
    for game in map(make_game, IDS):
        assert len(game.receptacles) <= 10 and len(game.objects) <= 15
    for game in map(make_game, FULL):
        counts = facts()["rooms"][str(game.room)]["receptacles"]
        assert len(game.receptacles) == sum(counts.values())


def test_every_type_of_transform_goal_and_open_receptacle_occurs():
    games = [make_game(i) for i in IDS]
    assert {g.task_type for g in games} == set(TASK_TYPES)
    assert any(r.open for g in games for r in g.receptacles)
    assert {g.goal.lamp for g in games} == {None, "desklamp", "floorlamp"}


def test_the_rooms_carry_facts_of_the_original():
    path = paths.DATA / "alfworld"
    data = json.loads((path / "rooms.json").read_text())
    assert len(data["rooms"]) == 120
    assert data["rooms"]["1"]["receptacles"]["cabinet"] == 8
    assert data["fits"]["coffeemachine"] == ["mug"]
    assert data["openable"] == ["cabinet", "drawer", "fridge", "microwave", "safe"]
    assert data["names"]["tvstand"] == "TVStand"
    notice = (path / "LICENSE").read_text()
    assert notice.startswith("MIT License") and "Mohit Shridhar" in notice


def test_many_random_ids_make_games():
    rng = random.Random(1)
    for _ in range(200):
        task, split = rng.choice(TASK_TYPES), rng.choice(SPLITS)
        make_game(f"{task}/{split}/{rng.randrange(10**6):06d}")
