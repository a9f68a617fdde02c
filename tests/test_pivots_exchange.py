"""TRL rows: nothing that Arrow could rewrite, and back without loss."""

import json

import pytest
from datasets import Dataset, load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from trl.data_utils import is_conversational, maybe_apply_chat_template

from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots.exchange import FEATURES, candidate_of, from_trl, to_trl
from pivotlab.records import Candidate, Message, ToolCall, TurnProfile
from pivotlab.rendering import Renderer

CALL = Message(
    "assistant",
    "Let me look.",
    (ToolCall("find", {"order": 5, "deep": {"x": None}}, "c1"),),
    reasoning="which order?",
)
PIVOTS = [
    Candidate(
        "t#1",
        "t",
        1,
        (
            Message("system", "rules"),
            Message("user", "hi"),
            CALL,
            Message("tool", "{}", name="find", tool_call_id="c1"),
        ),
        Message("assistant", "", (ToolCall("cancel", {"id": "7", "why": None}),)),
        ({"type": "function", "function": {"name": "cancel", "parameters": {}}},),
        "tau2",
    ),
    Candidate(
        "g#0",
        "g",
        0,
        (Message("user", "You are in a room."),),
        Message("assistant", "look"),
        domain="textgame",
        context={"acceptable": ["look"], "phase": "search"},
    ),
    Candidate(
        "b#0",
        "b",
        0,
        (Message("assistant", "", (ToolCall("f", "{broken"), ToolCall("g", "[1]"))),),
        Message("assistant", "x"),
    ),
]
PROFILES = {
    "t#1": TurnProfile(
        "t#1",
        (1.0, 0.0, 0.0, 0.0),
        ("ok", "bad", "bad", "truncated"),
        (False, False, False, True),
        (0.0,) * 4,
        {"verifier": "v/1", "model": "m"},
    )
}


@pytest.mark.parametrize("through", ["memory", "parquet", "json"])
def test_there_and_back(tmp_path, through):
    rows = to_trl(PIVOTS, PROFILES)
    if through == "parquet":
        rows.to_parquet(tmp_path / "rows.parquet")
        rows = Dataset.from_parquet(str(tmp_path / "rows.parquet"))
    elif through == "json":
        rows.to_json(tmp_path / "rows.jsonl")
        rows = load_dataset(
            "json",
            data_files=str(tmp_path / "rows.jsonl"),
            features=FEATURES,
            split="train",
            cache_dir=str(tmp_path / "cache"),
        )
    assert from_trl(rows) == (PIVOTS, PROFILES)
    assert candidate_of(rows[0]) == PIVOTS[0]


def test_columns_by_hand():
    row = to_trl(PIVOTS, PROFILES)[0]
    assert (row["mu"], row["var"], row["k"]) == (0.25, 0.1875, 4)
    assert row["turn_index"] == 1 and row["traj_id"] == "t"
    action = json.loads(row["expected_action"])
    assert action["tool_calls"][0]["arguments"] == {"id": "7", "why": None}
    assert json.loads(row["tools"])[0]["function"]["name"] == "cancel"
    bare = to_trl(PIVOTS)[1]
    assert (bare["mu"], bare["var"], bare["k"], bare["profile"]) == (None,) * 4


def test_trl_renders_the_prompt_as_the_renderer_does():
    tokenizer = build_tokenizer(tiny.vocabulary())
    row = to_trl(PIVOTS[1:2])[0]
    assert is_conversational({"prompt": row["prompt"]})
    text = maybe_apply_chat_template({"prompt": row["prompt"]}, tokenizer)["prompt"]
    assert text == Renderer(tokenizer).text(PIVOTS[1].prefix)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=25)
@given(st.lists(st.dictionaries(st.text(max_size=4), values, max_size=3), max_size=3))
def test_arguments_of_any_shape_survive(arguments):
    calls = tuple(ToolCall("f", a) for a in arguments)
    pivots = [
        Candidate(f"t#{i}", "t", i, (Message("assistant", "", calls[:i]),), CALL)
        for i in range(len(calls) + 1)
    ]
    assert from_trl(to_trl(pivots))[0] == pivots


@pytest.mark.case(id="V16")
@pytest.mark.case(id="V17")
def test_the_store_keeps_types_that_differ_from_row_to_row(tmp_path):
    given = [{"time": "2025-08-01"}, {"time": 1690876800}, {"other": [None]}]
    pivots = [
        Candidate(f"t#{i}", "t", i, (), Message("assistant", "", (ToolCall("f", a),)))
        for i, a in enumerate(given)
    ]
    to_trl(pivots).to_parquet(tmp_path / "rows.parquet")
    back, _ = from_trl(Dataset.from_parquet(str(tmp_path / "rows.parquet")))
    found = [p.expert.tool_calls[0].arguments for p in back]
    assert found == given and type(found[1]["time"]) is int


def test_a_foreign_dataset_is_named():
    with pytest.raises(ValueError, match="lacks the columns.*expected_action"):
        from_trl(Dataset.from_dict({"prompt": ["a"]}))
