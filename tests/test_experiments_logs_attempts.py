"""Pairs at equal states: by hand on a few messages, then on the example logs."""

import math

import pytest

from pivotlab.experiments.logs import attempts, verifier_choice
from pivotlab.experiments.logs import files as log_files
from pivotlab.experiments.logs import turns as log_turns
from pivotlab.records import Message, ToolCall, Trajectory

BY_DOMAIN = verifier_choice.choose("by domain")


def called(name, **arguments):
    return Message("assistant", "", (ToolCall(name, arguments),))


def commands(uid, *texts, rewards=None, task="count", opening="Count."):
    messages, contexts = [Message("user", opening)], {}
    for i, text in enumerate(texts):
        if rewards:
            contexts[len(messages)] = {"reward": rewards[i]}
        messages += [Message("assistant", text), Message("user", "done")]
    return Trajectory(
        uid, tuple(messages), (), "terminal", uid, None, {"task": task}, {}, contexts
    )


def calls(uid, *messages, source="a.json"):
    return Trajectory(
        uid, (Message("user", uid), *messages), (), "tool", source, meta={"task": "t"}
    )


def texts(pairs):
    return [
        (attempts.action_text(p.candidate.expert), attempts.action_text(p.other.expert))
        for p in pairs
    ]


def test_next_actions_after_equal_commands_are_pairs():
    one = commands("one", "ls", "wc -l a")
    two = commands("two", "ls", "cat a | wc -l")
    three = commands("three", "pwd", "wc -l a")
    assert texts(attempts.same_state_pairs([one, two, three])) == [
        ("ls", "ls"),
        ("wc -l a", "cat a | wc -l"),
        ("ls", "pwd"),
    ]


def test_other_tasks_and_other_openings_are_other_states():
    one = commands("one", "ls")
    assert not attempts.same_state_pairs([one, commands("two", "ls", task="sort")])
    assert not attempts.same_state_pairs([one, commands("two", "ls", opening="Sort.")])


def test_texts_between_calls_change_no_state_and_are_no_pairs():
    one = calls("one", Message("assistant", "Hi."), called("f", a=1), called("g"))
    two = calls("two", called("f", a=1), Message("assistant", "Ok."), called("h"))
    pairs = attempts.same_state_pairs([one, two])
    assert texts(pairs) == [('f({"a": 1})',) * 2, ("g({})", "h({})")]
    assert not attempts.same_state_pairs([one, calls("x", called("g"), source="b")])


def test_a_skipped_turn_is_neither_demonstrated_nor_done():
    one = commands("one", "ls", "pwd")
    shown = Trajectory(**{**vars(one), "uid": "two", "skips": {1: "demonstration"}})
    assert texts(attempts.same_state_pairs([one, shown])) == [("ls", "pwd")]


def test_acceptance_by_hand():
    pairs = attempts.same_state_pairs(
        [
            commands(n, c)
            for n, c in zip("abc", ("ls -la", "ls -l -a", "pwd"), strict=True)
        ]
    )
    judged = attempts.judge(pairs, BY_DOMAIN)
    (row,) = attempts.acceptance(judged).to_dict("records")
    assert (row["n"], row["strict"], row["accepted"]) == (3, 0.0, 1)
    assert row["functional"] == pytest.approx(1 / 3)
    assert row["miss_rate"] == row["miss_rate_lo"] == row["miss_rate_hi"] == 1.0
    table = attempts.disagreements(judged)
    assert list(table["other"]) == ["ls -l -a"] and len(table) == 1


def test_nothing_accepted_has_no_miss_rate():
    pairs = attempts.same_state_pairs([commands("a", "ls"), commands("b", "pwd")])
    table = attempts.acceptance(attempts.judge(pairs, BY_DOMAIN))
    assert math.isnan(table["miss_rate"][0])


def test_rewards_give_precision_and_recall_by_hand():
    """Right: `sort -u a` and `cat a`; rules find one of two and nothing wrong."""
    full = [
        commands("a", "sort a | uniq", rewards=[1.0]),
        commands("b", "sort -u a", rewards=[1.0]),
        commands("c", "sort a|uniq", rewards=[1.0]),
        commands("d", "sort a", rewards=[0.33]),
    ]
    judged = attempts.judge(attempts.same_state_pairs(full), BY_DOMAIN)
    table = attempts.against_reward(judged).set_index("verdict")
    assert list(table["n"]) == [6, 6] and list(table["rewarded"]) == [3, 3]
    assert table.loc["functional", "precision"] == 1.0
    assert table.loc["functional", "recall"] == pytest.approx(1 / 3)
    assert table.loc["strict", "recall"] == 0.0


def test_logs_without_rewards_have_no_such_table():
    pairs = attempts.same_state_pairs([commands("a", "ls"), commands("b", "ls -1")])
    assert attempts.against_reward(attempts.judge(pairs, BY_DOMAIN)).empty


def test_a_demonstration_the_verifier_rejects_is_no_evidence():
    pairs = attempts.same_state_pairs([commands("a", "ls"), commands("b", "ls")])
    game = [attempts.Pair("t", _game(p.candidate), _game(p.other)) for p in pairs]
    assert len(pairs) == 1 and attempts.judge(game, BY_DOMAIN) == []


def _game(candidate):
    return type(candidate)(**{**vars(candidate), "domain": "textgame"})


def test_strict_acceptance_implies_functional_on_the_example_logs():
    logs = log_turns.read_turns(log_files.find("embedded"), BY_DOMAIN)
    judged = attempts.judge(attempts.same_state_pairs(logs.trajectories), BY_DOMAIN)
    assert len(judged) >= 30
    assert all(j.strict.reward <= j.functional.reward for j in judged)
    table = attempts.acceptance(judged).set_index("domain")
    assert set(table.index) == {"tool", "swe", "search", "terminal", "shop", "all"}
    assert table.loc["all", "n"] == len(judged)
