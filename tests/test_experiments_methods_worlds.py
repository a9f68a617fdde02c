"""The table of environments: what an entry gives, and how another one is added."""

import pytest
from episode_toys import TASKS, Stairs, teacher

from pivotlab.engines.protocol import Sampling
from pivotlab.environments.protocol import Environment
from pivotlab.experiments.methods.worlds import (
    WORLDS,
    World,
    get_world,
    oracle_lessons,
)
from pivotlab.experiments.presets import from_params, get_preset
from pivotlab.models.registry import load_model
from pivotlab.pivots.candidates import collect
from pivotlab.rendering import Renderer

STAIRS = World(
    "stairs", Stairs, lambda split, count, start: (TASKS * count)[:count], ("valid",),
    teacher, max_turns=4, max_new_tokens=6,
)  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_an_entry_plays(name):
    world = WORLDS[name]
    env = world.environment()
    assert isinstance(env, Environment)
    for split in ("train", *world.splits):
        first, second = world.tasks(split, 2, 3)
        assert first != second and env.reset(first)
    assert world.teacher().counts is not None


def test_rules_are_the_presets_unless_the_world_has_its_own():
    preset = get_preset("cpu")
    usual, own = WORLDS["textgame"].rules(preset), STAIRS.rules(preset, 0.5)
    assert usual.max_turns == preset.max_turns and own.max_turns == 4
    assert usual.sampling == Sampling(preset.max_new_tokens, 1.0)
    assert own.sampling == Sampling(6, 0.5)


def test_the_shipped_student_is_the_one_that_knows_the_world():
    preset = get_preset("cpu")
    assert WORLDS["textgame"].student(preset) == "tiny"
    assert {WORLDS[n].student(preset) for n in ("shop", "search_qa")} == {"tiny-web"}
    own = from_params("cpu", episode_model="my/folder")
    assert {world.student(own) for world in WORLDS.values()} == {"my/folder"}


def test_lessons_of_an_oracle_win_by_the_shortest_way():
    base, tokenizer = load_model("tiny")
    world, preset = WORLDS["textgame"], get_preset("cpu")
    found = oracle_lessons(world, preset, base, Renderer(tokenizer), 2)
    assert len(found) == 2 and all(t.reward == 1 for t in found)
    env = world.environment()
    for lesson in found:
        env.reset(lesson.uid)
        assert len(lesson.assistant_turns()) == env.remaining_turns()
    candidates = collect(found).candidates
    assert len(candidates) == sum(len(t.assistant_turns()) for t in found)


def test_the_household_teaches_with_the_honest_player():
    base, tokenizer = load_model("tiny")
    world, preset = WORLDS["textgame"], get_preset("smoke")
    lessons = world.lessons(world, preset, base, Renderer(tokenizer), 3)
    assert len(lessons) == 3 and collect(lessons).candidates


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ValueError, match="unknown environment 'shoop'; .*textgame"):
        get_world("shoop")
