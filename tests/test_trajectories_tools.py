"""Tool schemas and call arguments in one shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert tools.properties(tools.schemas([padded]), "f") == {"a": {}}


@pytest.mark.parametrize(
    "logged, expected",
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        (r'"{\"city\": \"Paris\"}"', {"city": "Paris"}),
        (None, ""),
        ("", ""),
        ("5", "5"),
        ("[]", "[]"),
        ('{"a":', '{"a":'),
        (5, "5"),
        ([1], "[1]"),
    ],
)
@pytest.mark.case(id="V18")
@pytest.mark.case(id="V19")
def test_arguments_are_an_object_or_the_raw_text(logged, expected):
    assert tools.arguments(logged) == expected


@pytest.mark.case(id="V20")
def test_unreadable_arguments_never_become_an_empty_object():
    assert tools.arguments('{"q": "unterminated') == '{"q": "unterminated'
    assert tools.arguments('{"q": "unterminated') != {}


@given(st.text())
def test_arguments_are_total(text):
    found = tools.arguments(text)
    assert isinstance(found, dict) or found == text


@pytest.mark.case(id="V17")
def test_null_keys_of_other_tools_are_removed_and_known_ones_kept():
    known = tools.schemas([NESTED])
    padded = {"city": "Bonn", "days": None, "song": None}
    assert tools.without_padding(padded, known, "book") == {
        "city": "Bonn",
        "days": None,
    }
    assert tools.without_padding(padded, known, "other") == padded


@pytest.mark.parametrize(
    "text, schema, expected",
    [
        ("42", {"type": "integer"}, 42),
        ("42", {"type": "string"}, "42"),
        ("4.5", {"type": "number"}, 4.5),
        ("4.5", {"type": "integer"}, "4.5"),
        ("True", {"type": "boolean"}, True),
        ("true", {"type": "boolean"}, True),
        ('["x"]', {"type": "array"}, ["x"]),
        ("{'a': 1}", {"type": "object"}, {"a": 1}),
        ("null", {"type": ["integer", "null"]}, None),
        ("42", None, "42"),
        ("many", {"type": "integer"}, "many"),
    ],
)
@pytest.mark.case(id="V18")
def test_untyped_values_take_the_type_of_their_schema(text, schema, expected):
    found = tools.typed(text, schema)
    assert found == expected and type(found) is type(expected)


@pytest.mark.case(id="V23")
def test_quotes_are_never_swapped_and_literals_are_a_fallback():
    assert tools.json_or_literal('{"query": "what\'s on"}') == {"query": "what's on"}
    assert tools.json_or_literal("{'query': 'x'}") == {"query": "x"}
    with pytest.raises(ValueError, match="neither JSON nor a literal"):
        tools.json_or_literal("{query: x}")
