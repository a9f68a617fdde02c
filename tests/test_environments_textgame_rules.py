"""Transitions, admissible commands and win conditions, counted by hand."""

import random

import pytest

from pivotlab.environments.protocol import OracleEnvironment
from pivotlab.environments.textgame import rules
from pivotlab.environments.textgame.games import (
    Game,
    Goal,
    Item,
    Receptacle,
    make_game,
    task_ids,
)
from pivotlab.environments.textgame.twin import TextGame

PLACES = (
    Receptacle("countertop 1", "countertop", False, False),
    Receptacle("drawer 1", "drawer", True, True),
    Receptacle("fridge 1", "fridge", True, False),
    Receptacle("microwave 1", "microwave", True, False),
    Receptacle("sinkbasin 1", "sinkbasin", False, False),
)
THINGS = (
    Item("apple 1", "apple", "countertop 1"),
    Item("apple 2", "apple", "fridge 1"),
    Item("cup 1", "cup", "sinkbasin 1"),
    Item("knife 1", "knife", "drawer 1"),
)
ALWAYS = {"help", "inventory", "look"}


def kitchen(goal: Goal, things: tuple[Item, ...] = THINGS) -> TextGame:
    env = TextGame()
    env.play(Game("by hand", "", "", 0, "kitchen", PLACES, things, goal, "win"))
    return env


def walk(env: TextGame, *commands: str) -> str:
    for command in commands:
        assert command in env.admissible(), (command, env.admissible())
        answer = env.step(command)
    return answer.observation


@pytest.fixture
def env() -> TextGame:
    return kitchen(Goal("apple", "fridge", "heat"))


def test_the_twin_is_an_oracle_environment(env):
    assert isinstance(env, OracleEnvironment)


def test_at_the_start_one_can_only_go(env):
    assert set(env.admissible()) == ALWAYS | {f"go to {r.name}" for r in PLACES}
    assert env.step("look").observation == (
        "You are in the middle of a room. Looking quickly around you, you see nothing."
    )


def test_admissible_commands_at_open_shut_and_plain_places(env):
    gone = {f"go to {r.name}" for r in PLACES}
    walk(env, "go to fridge 1")
    assert set(env.admissible()) == ALWAYS | gone - {"go to fridge 1"} | {
        "examine fridge 1",
        "open fridge 1",
    }
    walk(env, "go to drawer 1")
    assert set(env.admissible()) == ALWAYS | gone - {"go to drawer 1"} | {
        "close drawer 1",
        "examine drawer 1",
        "take knife 1 from drawer 1",
    }
    walk(env, "take knife 1 from drawer 1", "go to countertop 1")
    assert set(env.admissible()) == ALWAYS | gone - {"go to countertop 1"} | {
        "examine countertop 1",
        "examine knife 1",
        "move knife 1 to countertop 1",
        "slice apple 1 with knife 1",
    }


def test_what_does_not_fit_cannot_be_moved(env):
    walk(env, "go to countertop 1", "take apple 1 from countertop 1", "go to drawer 1")
    assert "move apple 1 to drawer 1" not in env.admissible()


def test_answers_to_every_kind_of_command(env):
    assert walk(env, "go to drawer 1") == (
        "You arrive at drawer 1. The drawer 1 is open. In it, you see a knife 1."
    )
    assert walk(env, "close drawer 1") == "You close the drawer 1."
    assert walk(env, "examine drawer 1") == "The drawer 1 is closed."
    assert walk(env, "open drawer 1") == (
        "You open the drawer 1. The drawer 1 is open. In it, you see a knife 1."
    )
    assert walk(env, "take knife 1 from drawer 1") == (
        "You pick up the knife 1 from the drawer 1."
    )
    assert walk(env, "inventory") == "You are carrying: a knife 1."
    assert walk(env, "go to sinkbasin 1", "clean knife 1 with sinkbasin 1") == (
        "You clean the knife 1 using the sinkbasin 1."
    )
    assert walk(env, "examine knife 1") == "This is a clean knife 1."
    assert walk(env, "look") == (
        "You are facing the sinkbasin 1. Next to it, you see nothing."
    )
    assert walk(env, "go to countertop 1", "slice apple 1 with knife 1") == (
        "You sliced the apple 1 with the knife 1."
    )
    assert walk(env, "move knife 1 to countertop 1") == (
        "You move the knife 1 to the countertop 1."
    )
    assert walk(env, "examine countertop 1") == (
        "On the countertop 1, you see a apple 1, and a knife 1."
    )
    assert walk(env, "inventory") == "You are not carrying anything."
    assert walk(env, "take apple 1 from countertop 1", "examine apple 1") == (
        "This is a sliced apple 1."
    )
    assert walk(env, "help").startswith("Available commands:\n  look:   ")


@pytest.mark.parametrize(
    "command",
    ["", "dance", "go to moon 1", "Go to drawer 1", "open drawer 1", "open fridge 1"]
    + ["put apple 1 in/on drawer 1", "take knife 1 from fridge 1", "go to drawer 1"],
)
def test_an_inadmissible_command_changes_nothing(env, command):
    walk(env, "go to drawer 1")
    before = env.snapshot()
    assert env.step(command) == ("Nothing happens.", 0.0, False)
    assert env.snapshot() == before


def test_heat_needs_no_opening_and_cooling_undoes_it(env):
    walk(env, "go to countertop 1", "take apple 1 from countertop 1")
    assert walk(env, "go to microwave 1", "heat apple 1 with microwave 1") == (
        "You heat the apple 1 using the microwave 1."
    )
    walk(env, "go to fridge 1", "cool apple 1 with fridge 1", "open fridge 1")
    assert walk(env, "examine apple 1") == "This is a cold apple 1."
    assert env.step("move apple 1 to fridge 1") == (
        "You move the apple 1 to the fridge 1.",
        0.0,
        False,
    )


def test_the_reward_comes_once_when_the_goal_first_holds(env):
    walk(env, "go to countertop 1", "take apple 1 from countertop 1")
    walk(env, "go to microwave 1", "heat apple 1 with microwave 1")
    walk(env, "go to fridge 1", "open fridge 1")
    last = env.snapshot()
    assert env.step("move apple 1 to fridge 1")[1:] == (1.0, True)
    assert env.step("look")[1:] == (0.0, True)
    env.restore(last)
    assert env.step("inventory")[1:] == (0.0, False)
    assert env.step("move apple 1 to fridge 1")[1:] == (1.0, True)


def test_two_objects_must_lie_in_the_same_receptacle():
    things = tuple(Item(f"cup {i}", "cup", "countertop 1") for i in (1, 2))
    places = PLACES + (Receptacle("sinkbasin 2", "sinkbasin", False, False),)
    goal = Goal("cup", "sinkbasin", count=2)
    env = TextGame()
    env.play(Game("by hand", "", "", 0, "kitchen", places, things, goal, "win"))
    for number in (1, 2):
        walk(env, "go to countertop 1", f"take cup {number} from countertop 1")
        walk(env, f"go to sinkbasin {number}")
        assert not env.step(f"move cup {number} to sinkbasin {number}").done
    walk(env, "take cup 2 from sinkbasin 2", "go to sinkbasin 1")
    assert env.step("move cup 2 to sinkbasin 1").done


def test_a_lamp_is_used_in_place_and_never_taken():
    lamp = Item("desklamp 1", "desklamp", "countertop 1")
    env = kitchen(Goal("cup", None, lamp="desklamp"), (*THINGS[:3], lamp))
    walk(env, "go to countertop 1")
    assert not any(c.startswith("take desklamp") for c in env.admissible())
    assert walk(env, "use desklamp 1") == "You turn on the desklamp 1."
    walk(env, "go to sinkbasin 1", "take cup 1 from sinkbasin 1")
    assert "use desklamp 1" not in env.admissible()
    assert env.step("go to countertop 1")[1:] == (1.0, True)
    assert walk(env, "use desklamp 1") == "You turn on the desklamp 1."


def test_going_back_to_a_snapshot_gives_the_same_future():
    env, rng = TextGame(), random.Random(3)
    for task in task_ids("train", 12):
        env.reset(task)
        for _ in range(10):
            env.step(rng.choice(env.admissible()))
        point, then = env.snapshot(), env.admissible()
        commands = [rng.choice(then)]
        first = [env.step(commands[0]), env.admissible()]
        env.step(rng.choice(env.admissible()))
        env.restore(point)
        assert env.admissible() == then
        assert [env.step(commands[0]), env.admissible()] == first
    with pytest.raises(TypeError, match="not a snapshot"):
        env.restore(("no", "state"))


def test_every_admissible_command_is_carried_out_and_objects_are_never_lost():
    env, rng = TextGame(), random.Random(0)
    for task in task_ids("valid_unseen", 12):
        env.reset(task)
        for _ in range(40):
            command = rng.choice(env.admissible())
            assert env.step(command).observation != "Nothing happens."
            state = env.snapshot()
            assert state.places.count(-1) == (state.held >= 0)
            assert state.held < 0 or state.places[state.held] == -1
            assert not state.hot & state.cool


def test_a_state_is_a_small_tuple_of_integers():
    world = rules.World(make_game(task_ids("train", 1)[0]))
    state = world.start()
    assert hash(state) == hash(world.start())
    assert isinstance(state, tuple) and state.at == state.held == -1
