"""All-zero turns that are not hard: unreadable samples, unknown tools, mere talk."""

import pytest
from verdict_rows import call, candidate, say, terminus, tool

from pivotlab.records import Verdict
from pivotlab.verifiers.dispatch import DispatchVerifier, standard
from pivotlab.verifiers.health import health, reason

ROW = candidate(call("f", a=1), tools=(tool("f"),))
TALK = candidate(say("Which city do you mean?"), domain="chat")


@pytest.mark.case(id="V34")
def test_a_parser_that_reads_nothing_is_a_configuration_problem():
    judge = DispatchVerifier(standard())
    rows = [
        candidate(say(terminus("ls\n")), domain="terminal"),
        candidate(call("bash", command="ls"), domain="swe"),
    ]
    said = say("```bash\nls\n```")
    found = health((r, judge.verify(r, said)) for r in rows for _ in range(20))
    for domain in ("terminal", "swe"):
        assert found[domain].unreadable == found[domain].n == 20
        [warning] = found[domain].warnings()
        assert warning.startswith(domain) and "configuration problem" in warning


def test_wrong_actions_are_not_called_unreadable():
    wrong = [(ROW, Verdict(0.0, "tool/wrong_value"))] * 30
    assert health(wrong)["tool"].warnings() == []
    mixed = wrong + [(ROW, Verdict(0.0, "bad_arguments"))] * 31
    assert "31 of 61" in health(mixed)["tool"].warnings()[0]


def test_unknown_tools_are_named():
    found = health([(ROW, Verdict(0.0, "unknown_tool"))])
    assert "aliases" in found["tool"].warnings()[0]


@pytest.mark.case(id="V36")
def test_share_and_pass_rate_of_text_turns_are_reported():
    rows = [(TALK, Verdict(1.0, "similar_text"))] * 15
    rows += [(TALK, Verdict(0.0, "unlike"))] * 15
    found = health([*rows, (ROW, Verdict(1.0, "match"))])
    assert (found["chat"].text, found["chat"].text_passed) == (30, 15)
    assert "in 30 of 30" in found["chat"].warnings()[0]
    assert found["tool"].text == 0 and found["tool"].mean == 1.0


def test_the_reason_without_domain_and_fallback():
    assert reason(Verdict(0.0, "terminal/no_trace:different")) == "different"
    assert reason(Verdict(0.0, "match")) == "match"
