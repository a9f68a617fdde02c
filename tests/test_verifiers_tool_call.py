"""Tool calls that do the same: every category, and what public rewards miss."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_rows import call, calls, candidate, say, tool

from pivotlab import tool_call_text
from pivotlab.records import Message, ToolCall
from pivotlab.verifiers.arguments import Rules
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.tool_call import ToolCallVerifier

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
TOOLS = (
    tool("weather", ["city"], city=STRING, days={**INTEGER, "default": 1}),
    tool("stop"),
)


def judged(gold, action, verifier=None, **context):
    verdict = (verifier or ToolCallVerifier()).verify(
        candidate(gold, tools=TOOLS, **context), action
    )
    return verdict.reward, verdict.category


@pytest.mark.parametrize(
    ("gold", "action", "reward", "category"),
    [
        (call("weather", city="Paris"), call("weather", city="Paris"), 1.0, "match"),
        (call("weather", city="Paris"), call("weather", city="paris"), 1.0, "match"),
        (
            call("weather", city="Paris"),
            call("weather", city="Paris", days=1),
            1.0,
            "match",
        ),
        (
            call("weather", city="Paris"),
            call("weather", city="Paris", days=2),
            0.0,
            "unexpected_argument",
        ),
        (call("weather", city="Paris"), call("weather"), 0.0, "missing_argument"),
        (call("weather", city="a"), call("weather", city=5), 0.0, "wrong_type"),
        (call("weather", city="a"), call("weather", city="b"), 0.0, "wrong_value"),
        (call("weather", city="a"), call("weather", city=["a"]), 0.0, "wrong_type"),
        (call("weather", city="a"), call("stop"), 0.0, "wrong_tool"),
        (call("weather", city="a"), call("wether", city="a"), 0.0, "unknown_tool"),
        (call("weather", city="a"), say("It is sunny."), 0.0, "no_call"),
        (call("stop"), Message("assistant"), 0.0, "no_call"),
        (call("stop"), call("stop", ""), 1.0, "match"),
        (say("Which city do you mean?"), call("stop"), 0.0, "called_instead"),
        (call("stop", "[]"), call("stop"), 0.0, "bad_demonstration"),
    ],
)
def test_categories(gold, action, reward, category):
    assert judged(gold, action) == (reward, category)


@pytest.mark.parametrize("given", ["5", "[]", '{"a":', "nonsense"])
@pytest.mark.case(id="V19")
def test_bad_arguments_score_zero(given):
    assert judged(call("weather", city="a"), call("weather", given)) == (
        0.0,
        "bad_arguments",
    )


@pytest.mark.case(id="V19")
def test_empty_arguments_are_none_only_where_nothing_is_required():
    assert judged(call("stop"), call("stop", ""))[0] == 1.0
    assert judged(call("weather", city="a"), call("weather", ""))[0] == 0.0


@pytest.mark.case(id="V20")
def test_an_unparsable_call_never_passes_for_an_empty_one():
    assert judged(call("stop"), call("stop", '{"q": "unterminated')) == (
        0.0,
        "bad_arguments",
    )


@pytest.mark.case(id="V22")
def test_a_call_without_a_name_scores_zero():
    action = Message("assistant", "", (ToolCall("", '{"arguments":{}}'),))
    assert judged(call("stop"), action) == (0.0, "unreadable_call")


@pytest.mark.case(id="V22")
def test_blocks_without_a_call_score_zero():
    for block in ('{"arguments":{}}', "", '{"name": "stop"} {"name": "stop"}'):
        action = tool_call_text.parse(f"<tool_call>{block}</tool_call>")
        assert judged(call("stop"), action)[0] == 0.0


@pytest.mark.case(id="V24")
def test_two_blocks_are_two_calls():
    block = '<tool_call>{"name": "weather", "arguments": {"city": "%s"}}</tool_call>'
    action = tool_call_text.parse(block % "Tokyo" + "\n" + block % "Paris")
    paris, tokyo = call("weather", city="Paris"), call("weather", city="Tokyo")
    assert judged(calls(paris, tokyo), action) == (1.0, "match")


@pytest.mark.case(id="V25")
def test_a_wrong_scalar_scores_zero():
    assert judged(call("f", base=10), call("f", base=999)) == (0.0, "wrong_value")


@pytest.mark.case(id="V26")
def test_the_direction_is_gold_then_sample():
    assert judged(call("f", a=1, b=2), call("f", a=1)) == (0.0, "missing_argument")
    assert judged(call("f", a=1), call("f", a=1, b=2)) == (0.0, "unexpected_argument")


@pytest.mark.case(id="V27")
def test_bookkeeping_is_ignored_where_the_list_names_it():
    gold = call("run", command="ls", security_risk="LOW", summary="list files")
    listed = ToolCallVerifier(rules=Rules(frozenset({"security_risk", "summary"})))
    assert judged(gold, call("run", command="ls"), listed) == (1.0, "match")
    assert judged(gold, call("run", command="ls")) == (0.0, "missing_argument")


@pytest.mark.case(id="V28")
def test_parallel_calls_are_matched_as_a_bag():
    paris, tokyo = call("weather", city="Paris"), call("weather", city="Tokyo")
    gold = calls(paris, tokyo)
    assert judged(gold, calls(tokyo, paris)) == (1.0, "match")
    assert judged(gold, calls(paris, paris)) == (0.0, "wrong_value")
    assert judged(gold, calls(tokyo, paris, paris)) == (0.0, "surplus_calls")
    assert judged(gold, paris) == (0.0, "missing_call")
    assert judged(gold, calls(tokyo, paris), ordered=True) == (0.0, "wrong_value")
    assert judged(gold, gold, ordered=True) == (1.0, "match")


@pytest.mark.case(id="V28")
def test_a_call_that_fits_both_does_not_strand_the_other():
    first = "The user wants a full refund for the cancelled flight"
    second = "The user wants a full refund for the cancelled flight today"
    third = "The user wants full refund for the cancelled flight today please"
    rules = Rules(prose=0.9)
    verifier = ToolCallVerifier(rules=rules)
    gold = calls(call("note", text=first), call("note", text=second))
    said = calls(call("note", text=second), call("note", text=first))
    assert judged(gold, said, verifier) == (1.0, "match")
    said = calls(call("note", text=first), call("note", text=third))
    assert judged(gold, said, verifier) == (1.0, "match")


@pytest.mark.case(id="V33")
def test_names_with_a_namespace():
    gold, said = call("weather", city="a"), call("mcp__1__weather", city="a")
    assert judged(gold, said) == (0.0, "unknown_tool")
    assert judged(gold, said, ToolCallVerifier(namespaces=True)) == (1.0, "match")


@pytest.mark.case(id="V38")
def test_only_the_action_earns_never_the_prefix():
    answer = Message("tool", '{"city": "Paris"}')
    row = candidate(call("weather", city="Paris"), tools=TOOLS, prefix=(answer,))
    assert ToolCallVerifier().verify(row, Message("assistant")).reward == 0.0


@pytest.mark.parametrize(
    ("action", "reward", "category"),
    [
        (call("weather", city="anything"), 1.0, "match"),
        (call("weather", city=5), 0.0, "schema_violation"),
        (call("weather"), 0.0, "schema_violation"),
        (call("weather", city="a", days=3), 0.0, "wrong_structure"),
        (call("stop"), 0.0, "wrong_tool"),
        (say("Hello, what can I do?"), 0.0, "no_call"),
    ],
)
def test_paper_mode_judges_schema_name_and_structure(action, reward, category):
    gold = call("weather", city="Paris")
    assert judged(gold, action, ToolCallVerifier("paper")) == (reward, category)


def test_paper_mode_lets_text_be_free_but_not_a_call():
    paper = ToolCallVerifier("paper")
    assert judged(say("Which city do you mean?"), say("ok"), paper)[0] == 1.0
    assert judged(say("Which city do you mean?"), call("stop"), paper)[0] == 0.0


def test_versions_tell_modes_apart():
    assert ToolCallVerifier().version != ToolCallVerifier("paper").version
    assert isinstance(ToolCallVerifier(), Verifier)


ARGUMENTS = st.one_of(
    st.text(), st.dictionaries(st.text(), st.text() | st.integers(), max_size=3)
)
TURNS = st.lists(st.tuples(st.sampled_from(["weather", "stop", ""]), ARGUMENTS))


@settings(max_examples=100)
@given(TURNS, TURNS, st.sampled_from(["functional", "paper"]))
def test_total_and_a_demonstration_that_can_be_read_matches_itself(gold, said, mode):
    turns = [
        Message("assistant", "", tuple(ToolCall(n, a) for n, a in side))
        for side in (gold, said)
    ]
    verdict = ToolCallVerifier(mode).verify(candidate(turns[0], tools=TOOLS), turns[1])
    assert verdict.reward in (0.0, 1.0) and verdict.category
    own = ToolCallVerifier().verify(candidate(turns[0]), turns[0])
    readable = gold and all(n and isinstance(a, dict) for n, a in gold)
    assert not readable or own.reward == 1.0


def test_too_many_calls_end_in_a_verdict():
    many = calls(*[call("stop")] * 33)
    assert judged(call("stop"), many) == (0.0, "too_many_calls")
