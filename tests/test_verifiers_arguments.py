"""Arguments under a schema: what is equal, what is free, and what differs where."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.verifiers import arguments
from pivotlab.verifiers.arguments import Rules

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


def schema(*required, **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


def category(gold, said, shape=None, rules=arguments.DEFAULT):
    found = arguments.difference(gold, said, shape, rules)
    return None if found is None else found.category


@pytest.mark.parametrize(
    ("gold", "said", "expected"),
    [
        (5, 5.0, None),
        (5.0, 5, None),
        (0.1 + 0.2, 0.3, None),
        (1, True, "wrong_type"),
        (True, 1, "wrong_type"),
        ("5", 5, "wrong_type"),
        (10, 999, "wrong_value"),
        pytest.param(10**400, 10**400, None, id="big"),
        pytest.param(10**400, 1.0, "wrong_value", id="big and small"),
        (float("nan"), float("nan"), None),
        (None, None, None),
        (None, 0, "wrong_type"),
        ([1, 2], [2, 1], "wrong_value"),
        ([1, 2], [1], "wrong_length"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "wrong_value"),
    ],
)
@pytest.mark.case(id="D2")
def test_values_have_one_meaning_in_both_directions(gold, said, expected):
    assert category({"v": gold}, {"v": said}) == expected
    assert category({"v": said}, {"v": gold}) == expected


@pytest.mark.case(id="V17")
def test_null_padding_is_never_a_missing_argument():
    assert category({"a": 1, "b": None}, {"a": 1}, schema("a", a={})) is None
    assert category({"a": 1}, {"a": 1, "b": None}, schema("a", a={})) is None
    assert category({"a": 1, "b": None}, {"a": 1}) is None
    assert category({"a": None}, {}, schema("a", a={})) == "missing_argument"


@pytest.mark.case(id="V18")
def test_values_encoded_twice_are_unwrapped_by_schema():
    twice = json.dumps(json.dumps({"city": "Paris"}))
    assert arguments.decoded(twice, {}) == {"city": "Paris"}
    todos = schema(todos={"type": "array"})
    assert category({"todos": ["x"]}, {"todos": '["x"]'}, todos) is None
    text = schema(note={"type": "string"})
    assert category({"note": "42"}, {"note": "42"}, text) is None
    assert category({"note": "42"}, {"note": 42}, text) == "wrong_type"
    assert category({"note": '["x"]'}, {"note": ["x"]}, text) == "wrong_type"


@pytest.mark.parametrize("given", ["5", "[]", '{"a":', "null", "true", '"x"'])
@pytest.mark.case(id="V19")
def test_arguments_that_are_no_object(given):
    assert arguments.decoded(given, {}) is None


@pytest.mark.case(id="V19")
def test_empty_text_is_an_empty_object_only_if_nothing_is_required():
    assert arguments.decoded("", {}) == {}
    assert arguments.decoded("  ", schema("a", a={})) is None


@pytest.mark.case(id="V23")
def test_apostrophes_survive_and_single_quotes_are_a_fallback():
    assert arguments.decoded('{"query": "what\'s on"}', {}) == {"query": "what's on"}
    assert arguments.decoded("{'query': 'x'}", {}) == {"query": "x"}


@pytest.mark.case(id="V25")
def test_scalar_values_are_compared():
    assert category({"base": 10}, {"base": 999}) == "wrong_value"


@pytest.mark.case(id="V26")
def test_gold_comes_first():
    assert category({"a": 1, "b": 2}, {"a": 1}) == "missing_argument"
    assert category({"a": 1}, {"a": 1, "b": 2}) == "unexpected_argument"


@pytest.mark.case(id="V27")
def test_bookkeeping_is_ignored_where_the_list_names_it():
    gold = {"command": "ls", "security_risk": "LOW"}
    assert category(gold, {"command": "ls"}) is None
    assert category(gold, {"command": "ls"}, None, Rules()) == "missing_argument"
    inner = {"a": {"security_risk": 1}}
    assert category(inner, {"a": {}}) == "missing_argument"


@pytest.mark.case(id="V51")
def test_escaped_and_literal_text_are_one_value():
    said = arguments.decoded('{"q":"\\uc11c\\uc6b8"}', {})
    assert category({"q": "서울"}, said) is None


def test_defaults_are_free_on_either_side():
    shape = schema("q", q={}, limit={"type": "integer", "default": 10})
    assert category({"q": "a"}, {"q": "a", "limit": 10}, shape) is None
    assert category({"q": "a", "limit": 10}, {"q": "a"}, shape) is None
    wrong = category({"q": "a"}, {"q": "a", "limit": 20}, shape)
    assert wrong == "unexpected_argument"


def test_unique_items_are_a_set():
    shape = schema(ids={"type": "array", "uniqueItems": True})
    assert category({"ids": [1, 2]}, {"ids": [2, 1]}, shape) is None
    assert category({"ids": [1, 2]}, {"ids": [1, 3]}, shape) == "wrong_value"


def test_strings_exact_as_values_and_tolerant_as_prose():
    gold = "The user asks for a refund because the flight was cancelled"
    said = "User asks for a refund because flight was cancelled"
    assert category({"summary": gold}, {"summary": said}) is None
    longer = {"summary": f"{said} by the airline"}
    assert category({"summary": gold}, longer) is None
    strict = Rules(prose=1.0)
    assert category({"summary": gold}, longer, None, strict) == "wrong_value"
    fixed = schema(summary={"type": "string", "enum": [gold]})
    assert category({"summary": gold}, {"summary": said}, fixed) == "wrong_value"
    code = {"new": "return a + b  # the sum of the two"}
    assert category(code, {"new": code["new"].replace("+", "-")}) == "wrong_value"


def test_a_rule_for_an_argument_of_that_name():
    rules = Rules(strings={"command": lambda a, b: a.split() == b.split()})
    assert category({"command": "ls  -a"}, {"command": "ls -a"}, None, rules) is None
    assert category({"command": "ls"}, {"command": "pwd"}, None, rules) == "wrong_value"


def test_references_inside_a_schema_are_followed():
    shape = {
        "properties": {"p": {"$ref": "#/$defs/P"}},
        "$defs": {"P": {"properties": {"n": {"default": 1}}}},
    }
    assert category({"p": {}}, {"p": {"n": 1}}, shape) is None


def test_the_place_of_a_difference_is_named():
    found = arguments.difference({"a": [{"b": 1}]}, {"a": [{"b": 2}]})
    assert found.path == "a[0].b" and "expected 1" in found.detail


def test_values_can_be_left_out_of_the_comparison():
    shape = Rules(values=False)
    longer, other = {"a": 1, "b": ["x", "y"]}, {"a": 2, "b": ["z"]}
    assert category(longer, other, None, shape) is None
    assert category({"a": 1}, {"a": "1"}, None, shape) == "wrong_type"
    assert category({"a": [1]}, {"a": []}, None, shape) is None
    assert category({"a": [1]}, {"a": ["x"]}, None, shape) == "wrong_type"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"n": 1}, None),
        ({"n": 1.0}, None),
        ({"n": True}, "not of type"),
        ({"n": "1"}, "not of type"),
        ({}, "is required"),
        ({"n": 1, "x": 1}, "unknown to the tool"),
        ({"n": 1, "kind": "c"}, "is not one of"),
        ({"n": 1, "many": [1, "a"]}, "not of type"),
        (5, "not of type"),
    ],
)
def test_what_does_not_fit_a_schema(value, says):
    kind = {"type": "string", "enum": ["a", "b"]}
    many = {"type": "array", "items": {"type": "integer"}}
    shape = schema("n", n={"type": "integer"}, kind=kind, many=many)
    found = arguments.problem(value, {**shape, "additionalProperties": False})
    assert found is None if says is None else says in found


@settings(max_examples=100)
@given(OBJECTS, OBJECTS, OBJECTS)
def test_total_symmetric_and_reflexive(gold, said, shape):
    found = category(gold, said, shape)
    back = category(said, gold, shape)
    assert (found is None) == (back is None)
    assert category(gold, gold, shape) is None
    arguments.problem(gold, shape)


def test_deep_values_end_in_a_verdict():
    deep: dict = {}
    for _ in range(500):
        deep = {"a": deep}
    assert category(deep, deep) == "bad_arguments"
    assert "deeper" in arguments.problem(deep, _loop())


def _loop() -> dict:
    shape: dict = {"properties": {}}
    shape["properties"]["a"] = shape
    return shape
