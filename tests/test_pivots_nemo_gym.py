"""Gym pivot rows: import, export, import is the identity; splits never leak."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.pivots import nemo_gym
from pivotlab.pivots.candidates import collect
from pivotlab.records import Candidate, Message, ToolCall, TurnProfile
from pivotlab.trajectories.fields import FormatError
from pivotlab.trajectories.loading import load

TOOL = {
    "type": "function",
    "name": "book",
    "description": "Books a room.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": True,
}


def row(**changes):
    call = {
        "type": "function_call",
        "call_id": "c1",
        "name": "book",
        "arguments": '{"city": "Köln"}',
    }
    base = {
        "uuid": "p1",
        "trajectory_id": "t1",
        "agent_ref": {"type": "responses_api_agents", "name": "hotel_agent"},
        "responses_create_params": {
            "temperature": 1.0,
            "input": [
                {"role": "system", "content": "Policy."},
                {"role": "user", "content": "A room in Köln and one in Bonn."},
                {"type": "message", "role": "assistant", "content": "Köln first."},
                call,
                {"type": "function_call_output", "call_id": "c1", "output": "ok"},
            ],
            "tools": [TOOL],
        },
        "expected_action": {
            "type": "function_call",
            "name": "book",
            "arguments": '{"city": "Bonn"}',
        },
        "pivot_tags": ["P1"],
    }
    return {**base, **changes}


def again(pivot):
    return nemo_gym.from_row(json.loads(json.dumps(nemo_gym.to_row(pivot))))


def test_a_row_becomes_a_candidate():
    found = nemo_gym.from_row(row()).candidate
    assert (found.uid, found.trajectory_uid, found.turn) == ("p1", "t1", 1)
    assert [m.role for m in found.prefix] == ["system", "user", "assistant", "tool"]
    assert found.prefix[2].tool_calls[0].arguments == {"city": "Köln"}
    assert found.expert.tool_calls[0].arguments == {"city": "Bonn"}
    assert found.tools[0]["function"]["name"] == "book"


BATCH = {
    "type": "function_call_batch",
    "ordered": True,
    "calls": [
        {"type": "function_call", "name": "book", "arguments": '{"city": "Bonn"}'},
        {"type": "function_call", "name": "book", "arguments": "{}"},
    ],
}
VARIANTS = {
    "call": row(),
    "message": row(expected_action={"type": "message", "content": "Both are booked."}),
    "batch": row(expected_action=BATCH),
    "object arguments": row(
        expected_action={"type": "function_call", "name": "book", "arguments": {"a": 1}}
    ),
    "broken arguments": row(
        expected_action={"type": "function_call", "name": "book", "arguments": '{"a'}
    ),
    "profiled": row(pass_rate=0.25, pass_rate_total=8, pass_rate_passed=2),
    "rate alone": row(pass_rate=0.25),
    "legacy rewards": row(qwen_info={"rewards": [1.0, 0.5, 0.0]}),
    "null metadata": row(metadata=None),
    "bare input": row(responses_create_params={"input": "Just a question."}),
    "instructions": row(
        responses_create_params={"input": "Hi.", "instructions": "Be kind."}
    ),
    "numbered": {**row(), "id": 7, "uuid": None},
}
TERMINAL = row(
    metadata={"harness": "terminus_2"},
    expected_answer='{"commands": []}',
    threshold=0.9,
)
del TERMINAL["expected_action"]
VARIANTS["terminal"] = TERMINAL


@pytest.mark.parametrize("name", VARIANTS)
def test_import_export_import_is_the_identity(name):
    first = nemo_gym.from_row(VARIANTS[name])
    assert again(first) == first
    assert again(again(first)) == first


def test_the_terminal_answer_is_the_expected_text_and_goes_back_as_one():
    pivot = nemo_gym.from_row(TERMINAL)
    found = pivot.candidate
    assert found.expert.content == '{"commands": []}' and found.domain == "terminal"
    assert found.context == {"harness": "terminus_2", "threshold": 0.9}
    back = nemo_gym.to_row(pivot)
    assert back["expected_answer"] == '{"commands": []}'
    assert "expected_action" not in back and back["threshold"] == 0.9


def test_a_batch_keeps_its_order_flag():
    pivot = nemo_gym.from_row(row(expected_action=BATCH))
    assert pivot.candidate.context == {"ordered": True}
    assert nemo_gym.to_row(pivot)["expected_action"] == BATCH


def test_rates_become_a_profile_and_back():
    pivot = nemo_gym.from_row(VARIANTS["profiled"])
    assert (pivot.profile.mu, pivot.profile.k) == (0.25, 8)
    graded = TurnProfile("p1", (1.0, 0.5, 0.0), ("a",) * 3, (False,) * 3)
    back = nemo_gym.to_row(nemo_gym.wrap(pivot.candidate, graded))
    assert (back["pass_rate"], back["pass_rate_total"]) == (0.5, 3)
    assert back["pass_rate_passed"] == 1
    assert nemo_gym.from_row(back).profile.rewards == (1.0, 0.5, 0.0)


def test_a_candidate_of_ours_keeps_text_beside_calls_and_consecutive_turns():
    prefix = (
        Message("user", "u"),
        Message("assistant", "one", reasoning="why"),
        Message("assistant", "", (ToolCall("f", {"q": "é"}, "c0"),)),
        Message("tool", "r", name="f", tool_call_id="c0"),
        Message("assistant", ""),
        Message("user", "v"),
    )
    expert = Message("assistant", "Let me look.", (ToolCall("f", {}),))
    candidate = Candidate("x#3", "x", 3, prefix, expert, domain="swe")
    found = again(nemo_gym.wrap(candidate, agent="mine")).candidate
    assert found.prefix == prefix
    assert (found.expert.content, found.domain) == ("Let me look.", "swe")
    assert (
        nemo_gym.to_row(nemo_gym.wrap(candidate))["agent_ref"]["name"] == "pivot_agent"
    )


texts = st.text(st.characters(codec="utf-8"), max_size=8).filter(
    lambda t: t == t.strip() and "<" not in t and "#" not in t
)
values = st.dictionaries(texts.filter(bool), texts | st.integers() | st.booleans())


@given(st.lists(st.tuples(texts.filter(bool), values, texts), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_any_tool_conversation_survives_the_round_trip(turns):
    prefix = [Message("user", "task")]
    for i, (text, given_values, result) in enumerate(turns):
        call = ToolCall("f", given_values, f"id{i}")
        prefix.append(Message("assistant", text, (call,)))
        prefix.append(Message("tool", result, name="f", tool_call_id=f"id{i}"))
    expert = Message("assistant", "", (ToolCall("f", turns[0][1]),))
    candidate = Candidate("u", "t", len(turns), tuple(prefix), expert)
    found = again(nemo_gym.wrap(candidate)).candidate
    assert found.prefix == tuple(prefix)
    assert found.expert.tool_calls[0].arguments == turns[0][1]


def test_rows_that_gym_would_misjudge_are_named():
    assert nemo_gym.problems(row()) == []
    wrong = row(
        metadata=None,
        expected_action={"type": "function_call", "name": "fly", "arguments": "[1]"},
    )
    assert nemo_gym.problems(wrong) == [
        "metadata is null: leave the key out",
        "expected tool 'fly' is not among the tools",
        "arguments of 'fly' are no JSON object",
    ]


def test_bad_lines_cost_only_themselves(tmp_path):
    path = tmp_path / "pivots.jsonl"
    nemo_gym.write_rows([row(), {"x": 1}, row(uuid="p2")], path)
    with path.open("a") as handle:
        handle.write("(placeholder)\n\n")
    pivots, errors = nemo_gym.read_pivots(path)
    assert [p.candidate.uid for p in pivots] == ["p1", "p2"]
    assert [e.field.rpartition(":")[2] for e in errors] == [
        "2 responses_create_params",
        "4 line",
    ]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "changed, field",
    [
        ({"expected_action": None}, "expected_action"),
        ({"expected_action": {"type": "dance"}}, "expected_action.type"),
        ({"responses_create_params": {"input": 3}}, "input"),
    ],
)
def test_errors_name_the_field(changed, field):
    with pytest.raises(FormatError) as caught:
        nemo_gym.from_row(row(**changed))
    assert caught.value.field == field


@pytest.mark.case(id="V11")
def test_split_by_trajectory_never_leaks_and_ignores_the_order():
    pivots = [(f"t{t}", f"t{t}#{i}") for t in range(10) for i in range(8)]
    train, test = nemo_gym.split(pivots, 0.2, key=lambda p: p[0])
    assert len(test) == 16 and len(train) == 64
    assert not {p[0] for p in train} & {p[0] for p in test}
    shuffled = random.Random(1).sample(pivots, len(pivots))
    assert set(nemo_gym.split(shuffled, 0.2, key=lambda p: p[0])[1]) == set(test)
    other = nemo_gym.split(pivots, 0.2, key=lambda p: p[0], seed=1)[1]
    assert set(other) != set(test)
    with pytest.raises(ValueError, match="share=2.0"):
        nemo_gym.split(pivots, 2.0, key=lambda p: p[0])


def test_real_pivot_rows_survive_the_round_trip(mirror):
    count = 0
    for name in ("swe_pivot", "terminal_multi_harness"):
        folder = mirror / "NVIDIA-NeMo__Gym" / "resources_servers" / name / "data"
        pivots, errors = nemo_gym.read_pivots(folder / "example.jsonl")
        assert errors == []
        for pivot in pivots:
            assert again(pivot) == pivot
            assert nemo_gym.problems(nemo_gym.to_row(pivot)) == []
        count += len(pivots)
    assert count == 10


def test_candidates_of_real_logs_survive_the_round_trip(mirror):
    names = (
        "SWE-agent__mini-swe-agent/tests/test_data/github_issue.traj.json",
        "Alibaba-NLP__DeepResearch/WebAgent/WebDancer/datasets/sample_traj.jsonl",
        "NVIDIA-NeMo__Gym/responses_api_agents/tau2/data/example_rollouts.jsonl",
    )
    for name in names:
        for candidate in collect(load(mirror / name).trajectories).candidates[:40]:
            found = again(nemo_gym.wrap(candidate)).candidate
            assert found.prefix == candidate.prefix
            assert found.expert.content == candidate.expert.content
