"""Customer-service calls judged by the database; needs the tau2 extra."""

import pytest
from verdict_rows import call, candidate, say

from pivotlab.verifiers.protocol import Verifier

pytestmark = pytest.mark.tau2
USER, BOOKING = "mia_li_3668", "JG7FMM"


@pytest.fixture(scope="module")
def judge():
    pytest.importorskip("tau2")
    from pivotlab.verifiers.tau2 import Tau2Verifier

    return Tau2Verifier("airline")


def judged(judge, gold, said, prefix=()):
    verdict = judge.verify(candidate(gold, prefix=prefix, tools=judge.tools()), said)
    return verdict.reward, verdict.category


BAGS = {"reservation_id": "YAX4DR", "payment_id": "credit_card_4938634"}
TWO_BAGS = {**BAGS, "total_baggages": 2, "nonfree_baggages": 0}


@pytest.mark.parametrize(
    ("gold", "said", "reward", "category"),
    [
        (call("get_user_details", user_id=USER),) * 2 + (1.0, "same"),
        (
            call("calculate", expression="152 + 103"),
            call("calculate", expression="103 + 152"),
            1.0,
            "same_effect",
        ),
        (
            call("calculate", expression="152 + 103"),
            call("calculate", expression="152 + 104"),
            0.0,
            "other_effect",
        ),
        (
            call("get_user_details", user_id=USER),
            call("get_user_details", user_id="nobody"),
            0.0,
            "fails",
        ),
        (call("get_user_details", user_id=USER), say("one moment"), 0.0, "no_call"),
        (call("get_user_details", user_id=USER), call("x", "{"), 0.0, "bad_arguments"),
        (
            call("think", thought="a"),
            call("think", thought="b"),
            0.0,
            "no_state:wrong_value",
        ),
        (say("Which user ID is it?"), call("calculate"), 0.0, "called_instead"),
    ],
)
def test_categories(judge, gold, said, reward, category):
    assert judged(judge, gold, said) == (reward, category)


def test_writes_are_compared_by_the_database_they_leave(judge):
    gold = call("update_reservation_baggages", **TWO_BAGS)
    read = call("get_reservation_details", reservation_id="YAX4DR")
    assert judged(judge, gold, read) == (0.0, "other_effect")
    three = call("update_reservation_baggages", **{**TWO_BAGS, "total_baggages": 3})
    assert judged(judge, gold, three) == (0.0, "other_effect")
    other_card = {**TWO_BAGS, "total_baggages": 2.0}
    assert (
        judged(judge, gold, call("update_reservation_baggages", **other_card))[0] == 1
    )


def test_the_calls_before_are_replayed(judge):
    cancel = call("cancel_reservation", reservation_id=BOOKING)
    read = call("get_reservation_details", reservation_id=BOOKING)
    before = judge.effect((), read.tool_calls).answers[0]
    after = judge.effect(cancel.tool_calls, read.tool_calls).answers[0]
    assert before != after and "cancelled" in after
    assert judge.effect((), read.tool_calls).answers[0] == before


def test_an_unknown_domain_is_refused():
    pytest.importorskip("tau2")
    from pivotlab.verifiers.tau2 import Tau2Verifier

    with pytest.raises(ValueError, match="airline, retail"):
        Tau2Verifier("chess")


def test_it_is_a_verifier(judge):
    assert isinstance(judge, Verifier) and "airline" in judge.version
