"""Logged tool lists in one shape."""

import pytest

from pivotlab import tool_schemas
from pivotlab.trajectories import fields, tools

NESTED = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Books.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
}


@pytest.mark.parametrize(
    "entry",
    [
        NESTED,
        {"type": "function", "strict": False, **NESTED["function"]},
        NESTED["function"],
        {
            "name": "book",
            "description": "Books.",
            "input_schema": NESTED["function"]["parameters"],
        },
        {
            "name_for_model": "book",
            "description_for_model": "Books.",
            "parameters": NESTED["function"]["parameters"],
        },
    ],
    ids=["chat", "responses", "bare", "anthropic", "qwen-agent"],
)
def test_every_public_shape_of_a_schema_becomes_the_same(entry):
    assert tools.schemas([entry]) == (NESTED,)


def test_a_tool_list_may_be_text_a_single_schema_or_missing():
    assert tools.schemas('[{"name": "f"}]')[0]["function"]["name"] == "f"
    assert len(tools.schemas({"name": "f"})) == 1
    assert tools.schemas(None) == tools.schemas("") == tools.schemas([]) == ()
    with pytest.raises(fields.FormatError, match=r"tools\[1\]: has no name"):
        tools.schemas([{"name": "f"}, {"description": "?"}])


def test_null_properties_that_a_column_store_added_are_dropped():
    padded = {"name": "f", "parameters": {"properties": {"a": {}, "b": None}}}
    assert tool_schemas.properties(tools.schemas([padded]), "f") == {"a": {}}
