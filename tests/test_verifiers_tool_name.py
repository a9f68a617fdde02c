"""The paper's rule for code: the name of the tool and nothing else."""

import pytest
from verdict_rows import call, calls, candidate, say, tool

from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.tool_name import ToolNameVerifier, resolve

TOOLS = (tool("search"), tool("edit"), tool("run"))


@pytest.mark.parametrize(
    ("gold", "action", "reward", "category"),
    [
        (call("edit", path="a"), call("edit", path="b"), 1.0, "same_tool"),
        (call("edit", path="a"), call("edit", "not json"), 1.0, "same_tool"),
        (call("edit"), call("run"), 0.0, "wrong_tool"),
        (call("edit"), call("fly"), 0.0, "unknown_tool"),
        (call("edit"), say("I would edit it"), 0.0, "no_call"),
        (call("edit"), call(""), 0.0, "unreadable_call"),
        (call("edit"), calls(call("edit"), call("run")), 0.0, "surplus_calls"),
        (
            calls(call("edit"), call("run")),
            calls(call("run"), call("edit")),
            1.0,
            "same_tool",
        ),
        (calls(call("run"), call("run")), call("run"), 0.0, "wrong_tool"),
        (say("Which file do you mean exactly?"), call("run"), 0.0, "called_instead"),
    ],
)
def test_categories(gold, action, reward, category):
    verdict = ToolNameVerifier().verify(candidate(gold, tools=TOOLS), action)
    assert (verdict.reward, verdict.category) == (reward, category)


def test_a_command_in_text_is_named_by_its_program():
    gold = say("Let me look.\n```bash\ngrep -rn foo .\n```")
    right, wrong = say("```\ngrep bar\n```"), say("```\nsed -n 1p a\n```")
    judge = ToolNameVerifier()
    assert judge.verify(candidate(gold), right).category == "same_tool"
    assert judge.verify(candidate(gold), wrong).category == "wrong_tool"
    assert judge.verify(candidate(gold), say("grep")).category == "no_call"


@pytest.mark.case(id="V33")
def test_namespaced_names_match_only_where_asked_and_unambiguous():
    tools = (tool("team_create"),)
    said = call("mcp__686f__team_create")
    row = candidate(call("team_create"), tools=tools)
    assert ToolNameVerifier().verify(row, said).category == "unknown_tool"
    assert ToolNameVerifier(namespaces=True).verify(row, said).reward == 1.0
    alias = ToolNameVerifier({"mcp__686f__team_create": "team_create"})
    assert alias.verify(row, said).reward == 1.0
    two = (tool("a__team_create"), tool("b__team_create"))
    both = candidate(call("a__team_create"), tools=two)
    assert ToolNameVerifier(namespaces=True).verify(both, said).reward == 0.0


def test_an_exact_name_goes_before_alias_and_namespace():
    tools = (tool("x.run"), tool("run"))
    assert resolve("run", tools, {"run": "x.run"}, True) == "run"


def test_it_is_a_verifier():
    assert isinstance(ToolNameVerifier(), Verifier)
