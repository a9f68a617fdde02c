"""A verifier per row, and every count per domain."""

import pytest
from verdict_rows import call, candidate, say, terminus, tool

from pivotlab.verifiers.dispatch import DispatchVerifier, standard
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.protocol import Verifier

ROWS = [
    ("tool", call("f", a=1), call("f", a=1.0), "tool/match"),
    ("chat", say("Which city do you mean?"), say("ok"), "chat/too_short"),
    ("swe", call("edit", path="a"), call("edit", path="b"), "swe/wrong_value"),
    ("terminal", say("ls -la"), say("ls -l -a"), "terminal/same"),
    ("terminal", say(terminus("ls\n")), say("ls"), "terminal/not_json"),
    ("search", say("<search>moss</search>"), say("<search>moss</search>"), None),
    ("shop", say("click[a]"), say("click[b]"), "shop/other_click"),
    ("textgame", say("look"), say("look"), "textgame/no_context"),
]


@pytest.mark.parametrize(("domain", "gold", "action", "category"), ROWS)
def test_each_domain_has_its_verifier(domain, gold, action, category):
    verdict = DispatchVerifier(standard()).verify(
        candidate(gold, domain=domain), action
    )
    assert verdict.category == (category or "search/same_need")


def test_paper_mode_judges_code_by_name_and_gym_mode_by_its_own_rule():
    row = candidate(call("edit", path="a"), domain="swe", tools=(tool("edit"),))
    action = call("edit", path="b")
    paper = DispatchVerifier(standard("paper")).verify(row, action)
    assert (paper.reward, paper.category) == (1.0, "swe/same_tool")
    gym = DispatchVerifier(standard("gym")).verify(row, action)
    assert gym.reward == 0.0 and gym.category.startswith("swe/An argument value")


def test_code_commands_are_compared_as_commands():
    row = candidate(call("bash", command="ls -la", timeout=5), domain="swe")
    verdict = DispatchVerifier(standard()).verify(row, call("bash", command="ls -al"))
    assert verdict.category == "swe/match"


def test_a_domain_without_a_verifier_says_so_or_takes_the_default():
    row = candidate(say("a"), domain="chess")
    none = DispatchVerifier(standard()).verify(row, say("a"))
    assert (none.reward, none.category) == (0.0, "chess/no_verifier")
    spare = DispatchVerifier({"": ExactVerifier()}).verify(row, say("a"))
    assert (spare.reward, spare.category) == (1.0, "chess/equal")


def test_the_version_names_every_inner_verifier():
    versions = {DispatchVerifier(standard(m)).version for m in ("functional", "paper")}
    assert len(versions) == 2
    assert isinstance(DispatchVerifier(standard()), Verifier)
