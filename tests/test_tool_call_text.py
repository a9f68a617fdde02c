"""Calls and thinking written as text."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pivotlab import tool_call_text as text_calls
from pivotlab.records import Message, ToolCall

TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "book",
            "parameters": {
                "properties": {"days": {"type": "integer"}, "code": {"type": "string"}}
            },
        },
    },
)


def calls(text, tools=()):
    return [(c.name, c.arguments) for c in text_calls.parse(text, tools).tool_calls]


def test_text_thinking_and_a_json_call():
    found = text_calls.parse(
        '<think>\nhm\n</think>\nI book.\n<tool_call>\n{"name": "book", "arguments": '
        '{"days": 2}}\n</tool_call>'
    )
    assert (found.reasoning, found.content) == ("hm", "I book.")
    assert found.tool_calls == (ToolCall("book", {"days": 2}),)


@pytest.mark.case(id="V24")
def test_two_blocks_are_two_calls():
    block = '<tool_call>{"name": "f", "arguments": {"i": %d}}</tool_call>'
    assert calls(block % 1 + "\n" + block % 2) == [("f", {"i": 1}), ("f", {"i": 2})]
    assert calls('<tool_call>[{"name": "f"}, {"name": "g"}]</tool_call>') == [
        ("f", ""),
        ("g", ""),
    ]


@pytest.mark.parametrize(
    "body",
    [
        '{"arguments":{}}',
        '{"name": "f"}{"name": "g"}',
        "",
        "  ",
        "[]",
        "5",
        '{"name": 3}',
    ],
)
@pytest.mark.case(id="V22")
def test_a_call_without_a_name_is_present_and_nameless(body):
    assert calls(f"<tool_call>{body}</tool_call>") == [("", body.strip())]


@pytest.mark.case(id="V23")
def test_apostrophes_survive_and_single_quotes_parse_as_a_literal():
    quoted = """{"name": "f", "arguments": {"query": "what's on"}}"""
    assert calls(f"<tool_call>{quoted}</tool_call>") == [("f", {"query": "what's on"})]
    single = "{'name': 'f', 'arguments': {'query': 'x'}}"
    assert calls(f"<tool_call>{single}</tool_call>") == [("f", {"query": "x"})]


@pytest.mark.case(id="V51")
def test_escaped_and_literal_letters_are_the_same_argument():
    escaped = (
        r'<tool_call>{"name": "f", "arguments": {"q": "\uc11c\uc6b8"}}</tool_call>'
    )
    literal = '<tool_call>{"name": "f", "arguments": {"q": "서울"}}</tool_call>'
    assert calls(escaped) == calls(literal) == [("f", {"q": "서울"})]


XML = """<tool_call>
<function=book>
<parameter=days>
3
</parameter>
<parameter=code>
42
</parameter>
<parameter=note>
two
lines
</parameter>
</function>
</tool_call>"""


def test_xml_values_are_typed_by_the_schema_and_stay_text_without_one():
    typed = {"days": 3, "code": "42", "note": "two\nlines"}
    assert calls(XML, TOOLS) == [("book", typed)]
    assert calls(XML) == [("book", {**typed, "days": "3"})]


def test_xml_calls_stand_alone_too_and_values_may_hold_tags():
    value = "<parameter=cmd>echo '</function>'</parameter>"
    text = f"Look.\n<function=run>\n{value}\n</function>"
    assert calls(text) == [("run", {"cmd": "echo '</function>'"})]
    assert text_calls.parse(text).content == "Look."


def test_a_last_unclosed_block_is_read_or_kept_raw():
    assert calls('<tool_call>{"name": "f", "arguments": {"a": 1}}') == [("f", {"a": 1})]
    assert calls('<tool_call>{"name": "f", "argum') == [("", '{"name": "f", "argum')]
    assert calls("<function=f><parameter=a>1") == [("f", {"a": "1"})]


def test_a_bare_json_call_counts_only_in_its_dialect():
    bare = '{"name": "f", "parameters": {"a": 1}}'
    assert text_calls.parse(bare).content == bare
    found = text_calls.parse(bare, bare_json=True)
    assert found.tool_calls == (ToolCall("f", {"a": 1}),) and found.content == ""
    answer = '{"result": 3}'
    assert text_calls.parse(answer, bare_json=True).content == answer


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<think>a</think>b", ("a", "b")),
        ("a\n</think>\n\nb", ("a", "b")),
        ("<think></think>a", (None, "a")),
        ("<think>cut off", ("cut off", "")),
        ("no tags", (None, "no tags")),
        ("b <think>a</think>", (None, "b <think>a</think>")),
    ],
)
def test_thinking_is_split_off(text, expected):
    assert text_calls.split_thinking(text) == expected


def test_result_blocks_are_results_and_mixed_text_is_not():
    two = "<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response>"
    assert text_calls.results(two) == ["a", "b"]
    assert text_calls.results(two + " and more") is None
    assert text_calls.results("hello") is None


pieces = st.sampled_from(
    ["<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=a>",
     "</parameter>", "<think>", "</think>", '{"name": "f"}', "{", "\n", "x", "<", ">"]
)  # fmt: skip


@given(st.lists(pieces, max_size=20).map("".join) | st.text())
@example("<tool_call>" * 50)
def test_parsing_is_total(text):
    for tools in ((), TOOLS):
        assert text_calls.parse(text, tools, bare_json=True).role == "assistant"


@pytest.mark.parametrize("piece", ["<tool_call>", "<parameter=a>", "<function=f>", "<"])
def test_hostile_text_is_read_in_linear_time(piece):
    text = piece * (100_000 // len(piece))
    start = time.perf_counter()
    text_calls.parse(text, TOOLS)
    assert time.perf_counter() - start < 2.0


def test_a_written_message_is_read_back():
    calls = (ToolCall("book", {"days": 2, "code": 'ü"'}), ToolCall("look", {}))
    for message in (
        Message("assistant", "I book.", calls),
        Message("assistant", "", calls[:1]),
        Message("assistant", "Only words."),
    ):
        assert text_calls.parse(text_calls.write(message)) == message
    assert text_calls.write(Message("assistant", "a", reasoning="hm")) == "a"
    assert text_calls.as_object("{bad") == {"_raw": "{bad"}
    assert text_calls.as_object(" ") == {}
