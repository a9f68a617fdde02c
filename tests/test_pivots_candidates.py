"""D_cand: every assistant turn is a candidate or a counted skip."""

import json
import random

import chat_templates
import pytest

from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer
from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots.candidates import collect
from pivotlab.records import Message, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.trajectories.game_play import play
from pivotlab.trajectories.loading import load

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


@pytest.mark.case(id="V47")
def test_schemas_count_towards_the_limit():
    renderer = Renderer(build_tokenizer(tiny.vocabulary()))
    schema = {"name": "f", "description": "word " * 40, "parameters": {}}
    tools = ({"type": "function", "function": schema},)
    plain = Trajectory("t", MESSAGES[2:4])
    limit = renderer.length(plain.messages[:1]) + 20
    assert collect([plain], renderer, limit).skips == {}
    with_tools = Trajectory("t", MESSAGES[2:4], tools)
    assert collect([with_tools], renderer, limit).skips == {"prompt_too_long": 1}


@pytest.mark.case(id="V21")
@pytest.mark.parametrize("name", chat_templates.NAMES)
def test_a_malformed_call_in_a_file_costs_no_later_turn(name, tmp_path):
    messages = [{"role": "user", "content": "u"}]
    for turn in range(7):
        given = '{"path": "x' if turn == 3 else json.dumps({"path": f"p{turn}"})
        call = {"id": f"c{turn}", "function": {"name": "open", "arguments": given}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": "r"})
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"messages": messages}) + "\n")
    report = load(path)
    assert report.errors == [] and report.turns == 7
    found = collect(report.trajectories, Renderer(chat_templates.tokenizer(name)))
    assert [c.turn for c in found.candidates] == list(range(7))
    assert found.candidates[5].prefix[7].tool_calls[0].arguments == '{"path": "x'


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
