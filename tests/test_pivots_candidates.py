"""D_cand: every assistant turn is a candidate or a counted skip."""

import random

import pytest

from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer
from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots.candidates import collect
from pivotlab.records import Message, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.trajectories.game_play import play

TASK = "pick_heat_then_place_in_recep/train/000003"
MESSAGES = (
    Message("system", "rules"),
    Message("assistant", "Hello, how can I help?"),
    Message("user", "a"),
    Message("assistant", "b"),
    Message("user", "c"),
    Message("assistant", "d"),
)


def test_prefix_turn_and_uid_by_hand():
    trajectory = Trajectory("t", MESSAGES, skips={1: "canned"})
    found = collect([trajectory])
    assert [c.uid for c in found.candidates] == ["t#1", "t#2"]
    assert [len(c.prefix) for c in found.candidates] == [3, 5]
    assert [c.expert.content for c in found.candidates] == ["b", "d"]
    assert found.turns == 3 and found.skips == {"canned": 1}


def test_long_prompts_are_counted_not_dropped():
    renderer = Renderer(build_tokenizer(tiny.vocabulary()))
    trajectory = Trajectory("t", MESSAGES)
    lengths = [len(renderer.prompt_ids(MESSAGES[:i])) for i in (1, 3, 5)]
    kept = collect([trajectory], renderer, max_prompt_tokens=lengths[1])
    assert kept.skips == {"prompt_too_long": 1}
    assert [c.turn for c in kept.candidates] == [0, 1]


def test_empty_and_unrenderable_turns_are_counted():
    class Refusing:
        def length(self, prefix, tools):
            if len(prefix) > 4:
                raise ValueError("roles must alternate")
            return len(prefix)

    messages = (*MESSAGES, Message("user", "e"), Message("assistant", " \n"))
    trajectory = Trajectory("t", messages)
    assert collect([trajectory]).skips == {"empty": 1}
    renderer = Renderer(build_tokenizer(tiny.vocabulary()))
    renderer.length = Refusing().length
    found = collect([trajectory], renderer)
    assert found.skips == {"empty": 1, "template_refuses": 1}
    assert found.turns == 4 and len(found.candidates) == 2


def test_game_turns_carry_the_honest_answer_and_the_real_prefix():
    rng = random.Random(0)
    trajectory = play(TASK, NoisyPlayer(0.5), rng)
    found = collect([trajectory])
    assert found.turns == len(found.candidates) == trajectory.meta["turns"]
    differs = 0
    for candidate in found.candidates:
        said = trajectory.messages[len(candidate.prefix)].content
        assert candidate.expert.content in candidate.context["acceptable"]
        assert candidate.prefix == trajectory.messages[: len(candidate.prefix)]
        differs += said != candidate.expert.content
    assert differs > 0


def test_twice_the_same_uid_is_refused():
    trajectory = play(TASK, HonestPlayer(), random.Random(0))
    with pytest.raises(ValueError, match="distinct uids"):
        collect([trajectory, trajectory])


def test_a_limit_needs_a_renderer():
    with pytest.raises(ValueError, match="renderer"):
        collect([], max_prompt_tokens=3)
