"""NeMo Gym's comparison: every reason it gives, and the weak spots it has."""

import pytest
from verdict_rows import call, calls, candidate, say

from pivotlab.records import Message
from pivotlab.verifiers import gym_tool_call as gym
from pivotlab.verifiers.gym_tool_call import GymToolCallVerifier
from pivotlab.verifiers.protocol import Verifier

F = call("f", a=1)
PAIR = calls(call("f", a=1), call("f", a=2))


def judged(gold, action, threshold=0.1, reward="binary_strict"):
    verdict = GymToolCallVerifier(threshold, reward).verify(candidate(gold), action)
    return verdict.reward, verdict.category


@pytest.mark.parametrize(
    ("gold", "action", "reward", "category"),
    [
        (F, Message("assistant"), 0.0, gym.NO_ACTION),
        (F, say("hello"), 0.0, gym.NO_CALL),
        (say("hello"), say("anything"), 1.0, gym.MESSAGE),
        (say("hello"), F, 0.0, gym.NO_MESSAGE),
        (F, call("g", a=1), 0.0, gym.WRONG_TOOL),
        (F, call("f", '{"a":'), 0.0, gym.NOT_JSON),
        (F, call("f", a="1"), 0.0, gym.WRONG_TYPE),
        (F, call("f", a=1, b=2), 0.0, gym.WRONG_KEYS),
        (call("f", a=[1]), call("f", a=[1, 2]), 0.0, gym.WRONG_LENGTH),
        (F, call("f", a=2), 0.0, gym.WRONG_VALUE),
        (F, call("f", a=1), 1.0, gym.MATCH),
        (PAIR, F, 0.0, gym.WRONG_COUNT),
        (PAIR, calls(call("f", a=2), F), 1.0, gym.BATCH_MATCH),
    ],
)
def test_every_reason(gold, action, reward, category):
    assert judged(gold, action) == (reward, category)


def test_surplus_calls_are_free_for_one_expected_call_only():
    assert judged(F, calls(call("g"), F)) == (1.0, gym.MATCH)
    assert judged(PAIR, calls(F, F, F)) == (0.0, gym.WRONG_COUNT)


def test_partial_credit_modes_by_hand():
    half = calls(F, call("f", a=9))
    assert judged(PAIR, half, reward="fractional") == (0.5, gym.WRONG_VALUE)
    assert judged(PAIR, half, reward="f1") == (0.5, gym.WRONG_VALUE)
    assert judged(F, calls(F, F), reward="f1") == (2 / 3, gym.WRONG_COUNT)


def test_weak_spot_1_any_message_counts_even_an_empty_one():
    assert judged(say("Which date?"), say("")) == (1.0, gym.MESSAGE)


def test_weak_spot_2_identical_words_reach_one_half_only():
    text = call("f", q="cancel order now")
    assert judged(text, text, threshold=0.5)[0] == 1.0
    assert judged(text, text, threshold=0.51)[0] == 0.0
    assert judged(text, call("f", q="refund order later"))[0] == 1.0


def test_weak_spot_3_one_word_exact_and_two_words_loose():
    assert judged(call("f", q="Paris"), call("f", q="paris"))[0] == 0.0
    assert judged(call("f", q="New York"), call("f", q="new york"))[0] == 1.0


def test_weak_spot_4_types_in_one_direction():
    assert judged(call("f", a=5), call("f", a=5.0)) == (0.0, gym.WRONG_TYPE)
    assert judged(call("f", a=5.0), call("f", a=5)) == (0.0, gym.WRONG_TYPE)
    assert judged(call("f", a=1), call("f", a=True)) == (1.0, gym.MATCH)


def test_weak_spot_6_threshold_zero_lets_any_two_words_pass():
    gold, other = call("f", q="rm -rf build"), call("f", q="make all")
    assert judged(gold, other, threshold=0.0)[0] == 1.0


def test_versions_tell_settings_apart():
    names = {GymToolCallVerifier(t).version for t in (0.0, 0.1, 0.3)}
    assert len(names) == 3 and isinstance(GymToolCallVerifier(), Verifier)
