"""Tool schemas and the arguments of calls in one shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab import tool_schemas

BOOK = {
    "name": "book",
    "parameters": {
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}
    },
}


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
    assert tool_schemas.arguments(logged) == expected


@pytest.mark.case(id="V20")
def test_unreadable_arguments_never_become_an_empty_object():
    assert tool_schemas.arguments('{"q": "unterminated') == '{"q": "unterminated'
    assert tool_schemas.arguments('{"q": "unterminated') != {}


@given(st.text())
def test_arguments_are_total(text):
    found = tool_schemas.arguments(text)
    assert isinstance(found, dict) or found == text


@pytest.mark.case(id="V17")
def test_null_keys_of_other_tools_are_removed_and_known_ones_kept():
    known = ({"type": "function", "function": BOOK},)
    padded = {"city": "Bonn", "days": None, "song": None}
    assert tool_schemas.without_padding(padded, known, "book") == {
        "city": "Bonn",
        "days": None,
    }
    assert tool_schemas.without_padding(padded, known, "other") == padded


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
    found = tool_schemas.typed(text, schema)
    assert found == expected and type(found) is type(expected)


@pytest.mark.case(id="V23")
def test_quotes_are_never_swapped_and_literals_are_a_fallback():
    assert tool_schemas.json_or_literal('{"query": "what\'s on"}') == {
        "query": "what's on"
    }
    assert tool_schemas.json_or_literal("{'query': 'x'}") == {"query": "x"}
    with pytest.raises(ValueError, match="neither JSON nor a literal"):
        tool_schemas.json_or_literal("{query: x}")
