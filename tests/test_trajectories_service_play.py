"""Conversations of customer service from fixed actions."""

import pytest
from fake_tau2 import fake_tau2  # noqa: F401

from pivotlab.environments.tau2 import STOP
from pivotlab.pivots.candidates import collect
from pivotlab.records import Message, ToolCall
from pivotlab.trajectories.service_play import play


def test_gold_actions_become_a_rewarded_conversation(fake_tau2):  # noqa: F811
    episode = play("airline/0", system="Rules.")
    assert [m.role for m in episode.messages] == ["system"] + [
        "user",
        "assistant",
    ] * 2 + ["user"]
    assert episode.messages[2].tool_calls == (ToolCall("book", {"seat": "a1"}),)
    assert episode.messages[3] == Message("user", "a1 taken")
    assert episode.reward == 1.0 and episode.meta["ended"]
    assert episode.uid == "airline/0/gold"
    assert collect([episode]).skips == {"end": 1}


def test_refused_calls_are_marked_and_an_open_end_has_no_reward(
    fake_tau2,  # noqa: F811
):
    actions = ['{"name": "book", "arguments": {"seat": "z9"}}', "Sorry."]
    episode = play("airline/0", actions, name="script")
    assert episode.skips == {1: "refused"}
    assert episode.reward == 0.0 and not episode.meta["ended"]


def test_nothing_follows_the_end(fake_tau2):  # noqa: F811
    episode = play("retail/1", [STOP, "More."])
    assert len(episode.assistant_turns()) == 1


@pytest.mark.tau2
def test_a_real_conversation_is_judged_right_at_its_own_turns():
    from pivotlab.verifiers.tau2 import Tau2Verifier

    episode = play("retail/1")
    candidates, judge = collect([episode]).candidates, Tau2Verifier("retail")
    assert episode.reward == 1.0 and len(candidates) == 5
    assert all(judge.verify(c, c.expert).reward == 1.0 for c in candidates)
