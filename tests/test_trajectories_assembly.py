"""The rules all readers share: pairing, skips, markers, identity."""

import pytest

from pivotlab.records import ToolCall
from pivotlab.trajectories.assembly import Draft, Origin

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"properties": {}}}}


def draft(**kwargs):
    return Draft(Origin("logs/runs.jsonl", **kwargs))


@pytest.mark.case(id="V12")
def test_results_pair_by_position_inside_their_own_turn():
    made = draft()
    for answer in ("first", "second"):
        made.assistant("", (ToolCall("search", {"q": answer}, "search:0"),))
        made.result(answer, "search:0")
    first, one, second, two = made.build().messages
    assert one.tool_call_id == first.tool_calls[0].id == "search:0"
    assert two.tool_call_id == second.tool_calls[0].id != "search:0"
    assert (one.name, two.content) == ("search", "second")


def test_parallel_results_come_in_any_order_and_unknown_ids_fall_back_to_position():
    made = draft()
    made.assistant("", (ToolCall("f", {}, "a"), ToolCall("g", {}, "b")))
    made.result("of g", "b")
    made.result("of f", "lost-id")
    assert [(m.name, m.content) for m in made.build().messages[1:]] == [
        ("g", "of g"),
        ("f", "of f"),
    ]


@pytest.mark.case(id="V13")
def test_a_last_call_without_a_result_is_a_candidate():
    made = draft()
    made.user("go")
    made.assistant("", (ToolCall("f", {}),))
    assert made.build().skips == {}


@pytest.mark.case(id="V14")
def test_a_result_without_a_call_is_reported_and_stays():
    made = draft()
    made.result("late", "x", "f")
    made.user("go")
    found = made.build()
    assert found.meta["notes"] == {"orphan_tool_result": 1}
    assert (found.messages[0].role, found.messages[0].content) == ("tool", "late")


@pytest.mark.case(id="V2")
def test_empty_turns_are_skipped_and_prefixes_show_them():
    made = draft()
    made.user("a")
    made.assistant(" \n")
    made.assistant("", reasoning="hm")
    made.user("b")
    made.assistant("c")
    found = made.build()
    assert found.skips == {1: "empty_turn", 2: "thought_only"}
    assert [m.role for m in found.messages] == [
        "user", "assistant", "assistant", "user", "assistant",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text, reward",
    [
        ("Observation: Episode finished, reward = True", 1.0),
        ("Episode finished, reward = 0", 0.0),
        ("Observation 3: Episode finished, reward = 0.25", 0.25),
        ("Observation 4: Answer is CORRECT", 1.0),
        ("Answer is INCORRECT", 0.0),
        ("Observation: Your score (min 0.0, max 1.0): 0.5", 0.5),
        ("Episode finished, reward = maybe", None),
    ],
)
def test_outcomes_never_stay_in_a_message(text, reward):
    made = draft()
    made.user("task")
    made.assistant("act")
    made.user(text)
    found = made.build()
    assert len(found.messages) == 2 and found.reward == reward


def test_stop_markers_never_stay_in_a_message():
    made = draft()
    made.user("Thanks! ###STOP###")
    made.user("###TRANSFER###")
    made.result("bye ###OUT-OF-SCOPE###")
    assert [m.content for m in made.build().messages] == ["Thanks!", "bye "]


@pytest.mark.case(id="V53")
def test_an_invalid_action_is_skipped():
    made = draft()
    made.assistant("Action: search[x]")
    made.user("Observation: Invalid action!")
    assert made.build().skips == {0: "invalid_action"}


@pytest.mark.case(id="V54")
def test_nothing_happens_is_only_a_hint():
    made = draft()
    made.assistant("put mug 1 on desk 1")
    made.user("Nothing happens.")
    found = made.build()
    assert found.skips == {} and found.contexts == {0: {"refused": True}}


def test_missing_schemas_and_calls_outside_them_are_noted():
    bare = draft()
    bare.assistant("", (ToolCall("f", {}),))
    assert bare.build().meta["notes"] == {"no_tool_schemas": 1}
    known = draft(tools=(TOOL,))
    known.assistant("", (ToolCall("g", {}),))
    assert known.build().meta["notes"] == {"call_outside_schemas": 1}
    known.set_tools("no json")
    assert known.tools == (TOOL,) and known.notes["bad_tool_schemas"] == 1


@pytest.mark.case(id="V27")
def test_bookkeeping_arguments_are_kept_for_the_verifier_to_ignore():
    made = draft()
    made.assistant("", (ToolCall("f", {"x": 1, "security_risk": "LOW"}),))
    assert made.build().messages[0].tool_calls[0].arguments["security_risk"] == "LOW"


def test_identity_prefers_the_row_then_its_key_then_the_content():
    def uid(row=None, **kwargs):
        made = draft(**kwargs)
        made.user("same")
        return made.build(row).uid

    assert uid({"id": 0, "instance_id": "i"}) == "runs:0"
    assert uid(key="put_0") == "runs:put_0"
    assert uid(line=1) == uid(line=2) != uid({"task_id": 5})


def test_the_reward_of_the_row_is_found_and_a_zero_counts():
    made = draft()
    assert made.build({"result": 0, "win": True}).reward == 0.0
    assert made.build({"resolved": True}).reward == 1.0
    assert made.build({}).reward is None
