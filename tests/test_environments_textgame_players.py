"""The honest player: wins, sees nothing it was not shown, phases worked by hand."""

import random

import pytest

from pivotlab.environments.textgame.games import TASK_TYPES, task_ids
from pivotlab.environments.textgame.players import (
    PHASES,
    HonestPlayer,
    NoisyPlayer,
    refused,
)
from pivotlab.environments.textgame.twin import TextGame


def play(player, task, rng, turns=30):
    """Play one game; yields (admissible, acceptable, phase, action, observation)."""
    env = TextGame()
    player.start(env.reset(task))
    done = False
    while not done and turns > 0:
        turns -= 1
        verdict = player.acceptable()
        action = player.act(env.admissible(), rng)
        admissible = env.admissible()
        observation, _, done = env.step(action)
        player.observe(observation)
        yield admissible, *verdict, action, observation
    player.won = done


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_the_honest_player_wins_within_thirty_turns(task_type):
    rng, player, phases = random.Random(0), HonestPlayer(), set()
    ids = task_ids("train", 25, types=(task_type,))
    ids += task_ids("valid_unseen", 25, types=(task_type,))
    for task in ids:
        for admissible, acceptable, phase, action, _ in play(player, task, rng):
            assert set(acceptable) <= set(admissible)
            assert action in acceptable and len(set(acceptable)) == len(acceptable)
            phases.add(phase)
        assert player.won, task
    assert phases <= set(PHASES) - {"junk"} and {"search", "take"} <= phases


def test_the_noisy_player_wins_and_meets_refusals():
    rng, player = random.Random(1), NoisyPlayer(0.15)
    answers, won, off, turns, phases = [], 0, 0, 0, set()
    for task in task_ids("train", 120):
        for admissible, acceptable, phase, action, answer in play(player, task, rng):
            assert acceptable and set(acceptable) <= set(admissible)
            assert (action in admissible) == (answer != "Nothing happens.")
            answers.append(answer)
            off += action not in acceptable
            turns += 1
            phases.add(phase)
        won += player.won
    assert won >= 0.99 * 120
    assert phases == set(PHASES)
    # 15 % noise, of which a few random commands happen to be acceptable
    assert 0.10 < off / turns < 0.18
    assert 0.04 < answers.count("Nothing happens.") / turns < 0.12


def test_refused_commands_are_refused_everywhere():
    rng, env, player = random.Random(4), TextGame(), HonestPlayer()
    for task in task_ids("train", 12):
        player.start(env.reset(task))
        for _ in range(8):
            command = refused(player.belief, env.admissible(), rng)
            assert env.step(command).observation == "Nothing happens."
            player.observe(env.step(player.act(env.admissible(), rng)).observation)


START = "You are in the middle of a room. Looking quickly around you, you see {}.\n\n"
ROOM = (
    "a cabinet 1, a cabinet 2, a countertop 1, a diningtable 1, a fridge 1, "
    "a microwave 1, and a sinkbasin 1"
)


def after(task: str, *observations: str, room: str = ROOM) -> tuple[list[str], str]:
    player = HonestPlayer()
    player.start(f"{START.format(room)}Your task is to: {task}.")
    for observation in observations:
        player.observe(observation)
    commands, phase = player.acceptable()
    return list(commands), phase


def test_search_goes_where_the_object_may_be_and_opens_what_is_closed():
    # a fork fits on countertop, diningtable and sinkbasin, and is on no diningtable
    assert after("put a fork in diningtable") == (
        ["go to countertop 1", "go to sinkbasin 1"],
        "search",
    )
    shut = "You arrive at cabinet 1. The cabinet 1 is closed."
    assert after("put a clean plate in cabinet", shut) == (["open cabinet 1"], "search")
    gone = "You open the cabinet 1. The cabinet 1 is open. In it, you see nothing."
    assert "go to cabinet 1" not in after("put a clean plate in cabinet", shut, gone)[0]


SEEN = "You arrive at countertop 1. On the countertop 1, you see a cup 1, and a egg 1."
TAKEN = "You pick up the {} from the countertop 1."


def test_take_what_was_found_and_go_back_to_what_was_left():
    assert after("put a hot cup in cabinet", SEEN) == (
        ["take cup 1 from countertop 1"],
        "take",
    )
    left = "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."
    assert after("put a hot cup in cabinet", SEEN, left) == (
        ["go to countertop 1"],
        "to_seen",
    )


def test_transform_then_deliver():
    task, held = "put a hot cup in cabinet", (SEEN, TAKEN.format("cup 1"))
    assert after(task, *held) == (["go to microwave 1"], "to_transform")
    here = (*held, "You arrive at microwave 1. The microwave 1 is closed.")
    assert after(task, *here) == (["heat cup 1 with microwave 1"], "transform")
    hot = (*here, "You heat the cup 1 using the microwave 1.")
    assert after(task, *hot) == (["go to cabinet 1", "go to cabinet 2"], "to_dest")
    shut = (*hot, "You arrive at cabinet 2. The cabinet 2 is closed.")
    assert after(task, *shut) == (["open cabinet 2"], "to_dest")
    is_open = "You open the cabinet 2. The cabinet 2 is open. In it, you see nothing."
    assert after(task, *shut, is_open) == (["move cup 1 to cabinet 2"], "put")


def test_a_wrong_object_is_put_down_at_once_where_it_fits():
    task = "put a hot cup in cabinet"
    assert after(task, SEEN, TAKEN.format("egg 1")) == (
        ["move egg 1 to countertop 1"],
        "junk",
    )
    away = "You arrive at cabinet 1. The cabinet 1 is closed."
    assert after(task, SEEN, TAKEN.format("egg 1"), away) == (
        ["go to countertop 1", "go to diningtable 1", "go to sinkbasin 1"],
        "junk",
    )


def test_the_second_object_goes_where_the_first_went():
    task = "put two cup in cabinet"
    story = (
        "You arrive at cabinet 2. The cabinet 2 is open. In it, you see a cup 3.",
        SEEN,
        TAKEN.format("cup 1"),
    )
    assert after(task, *story) == (["go to cabinet 2"], "to_dest")


def test_look_at_an_object_under_a_lamp():
    room = "a bed 1, a desk 1, and a shelf 1"
    task = "look at cd under the desklamp"
    have = (
        "You arrive at shelf 1. On the shelf 1, you see a cd 1.",
        "You pick up the cd 1 from the shelf 1.",
    )
    assert after(task, *have, room=room) == (["go to desk 1"], "search_lamp")
    lamp = "You arrive at desk 1. On the desk 1, you see a desklamp 1."
    assert after(task, *have, lamp, room=room) == (["use desklamp 1"], "use")
    back = "You arrive at bed 1. On the bed 1, you see nothing."
    assert after(task, *have, lamp, back, room=room) == (["go to desk 1"], "to_lamp")
