"""The coin is fair, repeatable, and does not look at the action."""

from pivotlab.intervals import wilson
from pivotlab.records import Candidate, Message
from pivotlab.verifiers.placebo import PlaceboVerifier

CANDIDATE = Candidate("t#0", "t", 0, (), Message("assistant", "a"))


def tosses(seed, text, n=2000):
    coin = PlaceboVerifier(seed)
    action = Message("assistant", text)
    return [coin.verify(CANDIDATE, action).reward for _ in range(n)]


def test_fair_repeatable_and_blind():
    heads = tosses(0, "a")
    rate = wilson(int(sum(heads)), len(heads), 0.999)
    assert rate.lo < 0.5 < rate.hi
    assert heads == tosses(0, "other") and heads != tosses(1, "a")
