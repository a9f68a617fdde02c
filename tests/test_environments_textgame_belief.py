"""What a player learns from texts, and only from texts."""

import random

import pytest

from pivotlab.environments.textgame.belief import Belief, read_goal
from pivotlab.environments.textgame.games import make_game, task_ids
from pivotlab.environments.textgame.twin import TextGame

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 1, "
    "a desk 1, and a microwave 1.\n\nYour task is to: put a hot mug in desk."
)


def test_the_goal_of_every_game_can_be_read_from_its_sentence():
    for task in task_ids("train", 300) + task_ids("valid_unseen", 100):
        game = make_game(task)
        assert read_goal(game.sentence) == game.goal


@pytest.mark.parametrize("text", ["", "You see nothing.", ROOM.replace("hot", "huge")])
def test_a_text_that_is_no_opening_is_refused(text):
    with pytest.raises(ValueError, match="no room|no goal"):
        Belief(text)


def test_lessons_of_each_observation():
    belief = Belief(ROOM)
    assert belief.places == ["cabinet 1", "desk 1", "microwave 1"]
    belief.observe("Nothing happens.")
    assert belief.at is None and belief.unseen("mug") == belief.places
    belief.observe("You arrive at cabinet 1. The cabinet 1 is closed.")
    assert belief.at == "cabinet 1" and belief.shut == {"cabinet 1"}
    belief.observe(
        "You open the cabinet 1. The cabinet 1 is open. In it, you see a mug 1, and a "
        "plate 2."
    )
    assert belief.here() == ["mug 1", "plate 2"] and not belief.shut
    belief.observe("You pick up the mug 1 from the cabinet 1.")
    assert belief.held == "mug 1" and belief.here() == ["plate 2"]
    belief.observe("You close the cabinet 1.")
    assert belief.here() == [] and belief.where("plate 2") == "cabinet 1"
    belief.observe("You arrive at microwave 1. The microwave 1 is closed.")
    belief.observe("You heat the mug 1 using the microwave 1.")
    assert belief.ready("mug 1") and not belief.ready("plate 2")
    belief.observe("You cool the mug 1 using the fridge 1.")
    assert not belief.ready("mug 1")
    belief.observe("You arrive at desk 1. On the desk 1, you see nothing.")
    belief.observe("You move the mug 1 to the desk 1.")
    assert belief.held is None and belief.where("mug 1") == "desk 1"
    belief.observe("You turn on the desklamp 1.")
    assert belief.used == {"desklamp 1"}


def test_the_belief_never_disagrees_with_the_game():
    env, rng = TextGame(), random.Random(2)
    for task in task_ids("train", 24):
        belief = Belief(env.reset(task))
        for _ in range(40):
            belief.observe(env.step(rng.choice(env.admissible())).observation)
            state, world = env.state, env.world
            assert belief.at == (world.names[state.at] if state.at >= 0 else None)
            held = world.items[state.held] if state.held >= 0 else None
            assert belief.held == held
            for place, objects in belief.inside.items():
                index = world.names.index(place)
                real = {
                    o
                    for o, p in zip(world.items, state.places, strict=True)
                    if p == index
                }
                assert set(objects) == real
