"""What chat templates print, lose and refuse, and what is done about it."""

import json

import chat_templates
import pytest
from trajectory_files import only

from pivotlab.records import Message, ToolCall
from pivotlab.rendering import Renderer
from pivotlab.rendering.template import ChatTemplate, lost_texts
from pivotlab.trajectories import registry
from pivotlab.trajectories.loading import load

TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "find_hotel",
            "description": "Hotels of a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "stars": {"type": "integer"},
                },
                "required": ["city"],
            },
        },
    },
)
CALL = ToolCall("find_hotel", {"city": "São Paulo", "stars": 4}, "call_0001")
TALK = (
    Message("system", "Be brief."),
    Message("user", "A hotel in São Paulo, please."),
    Message("assistant", "", (CALL,)),
    Message("tool", '["Ibis"]', name="find_hotel", tool_call_id="call_0001"),
    Message("assistant", "The Ibis has a room."),
)


def render(name, messages, tools=(), **kwargs):
    return ChatTemplate(chat_templates.tokenizer(name), {}).render(
        messages, tools, **kwargs
    )


@pytest.mark.parametrize(
    "name, arguments, results, schemas, reasoning, bare",
    [
        ("qwen3_hybrid", "dict", True, True, True, False),
        ("qwen3_instruct_2507", "dict", True, True, False, False),
        ("qwen3_thinking_2507", "dict", True, True, True, False),
        ("qwen3_coder", "dict", True, True, False, False),
        ("smollm2", "none", False, False, False, False),
        ("hermes", "dict", True, True, False, False),
        ("llama3", "dict", True, True, False, True),
        ("string_arguments", "string", True, False, False, False),
    ],
)
def test_probes_find_what_a_template_prints(
    name, arguments, results, schemas, reasoning, bare
):
    found = ChatTemplate(chat_templates.tokenizer(name), {}).capabilities
    assert (found.arguments, found.results, found.schemas) == (
        arguments,
        results,
        schemas,
    )
    assert (found.reasoning, found.bare_json) == (reasoning, bare)


@pytest.mark.parametrize("name", [*chat_templates.NAMES, "string_arguments"])
def test_no_text_is_lost_under_any_template(name):
    renderer = Renderer(chat_templates.tokenizer(name))
    assert renderer.lost(TALK, TOOLS) == []
    assert "find_hotel" in renderer.text(TALK[:2], TOOLS)


@pytest.mark.parametrize("name", [*chat_templates.NAMES, "string_arguments"])
def test_thinking_of_the_last_turn_is_printed(name):
    renderer = Renderer(chat_templates.tokenizer(name))
    answer = Message("assistant", "Yes.", reasoning="The user asked twice.")
    assert renderer.lost([Message("user", "Well?"), answer]) == []


def test_lost_text_names_the_message_and_the_part():
    messages = [
        Message("user", "one"),
        Message("assistant", "two", (ToolCall("f", {"k": "v"}),), "why"),
        Message("user", "one"),
    ]
    found = lost_texts(messages, "one two f k")
    assert [(t.message, t.part, t.text) for t in found] == [
        (1, "reasoning", "why"),
        (1, "call", "v"),
        (2, "content", "one"),
    ]


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", "Let me look.", (CALL,)),
        Message("assistant", "", (CALL, CALL)),
    ],
    ids=["text beside a call", "parallel calls"],
)
def test_what_the_llama_template_cannot_print_is_written_into_the_text(message):
    renderer = Renderer(chat_templates.tokenizer("llama3"))
    messages = [Message("user", "u"), message]
    assert renderer.lost(messages) == []
    ids = renderer.completion_ids(messages[:1], message)
    found = renderer.action(ids)
    assert found.content == message.content
    assert [c.arguments for c in found.tool_calls] == [
        c.arguments for c in message.tool_calls
    ]


def test_a_template_that_refuses_gives_the_reason_and_the_roles():
    messages = [Message("user", "u"), Message("user", "v")]
    with pytest.raises(ValueError, match="must alternate.*roles: user user"):
        render("strict", messages)


@pytest.mark.parametrize("name", ["qwen3_coder", "hermes", "string_arguments"])
@pytest.mark.case(id="V15")
def test_string_arguments_render_under_both_kinds_of_template(name):
    texts = set()
    for given in ({"city": "Rome"}, json.dumps({"city": "Rome"})):
        call = {"id": "c", "function": {"name": "find_hotel", "arguments": given}}
        asked = {"role": "assistant", "content": "", "tool_calls": [call]}
        log = {"messages": [{"role": "user", "content": "u"}, asked]}
        texts.add(render(name, only(log).messages))
    assert len(texts) == 1 and "Rome" in texts.pop()


@pytest.mark.parametrize("name", chat_templates.NAMES)
@pytest.mark.case(id="V21")
def test_a_malformed_call_in_history_does_not_break_later_prompts(name):
    broken = ToolCall("open_file", '{"path": "x')
    messages = [Message("user", "u")]
    for turn in range(6):
        call = broken if turn == 3 else ToolCall("open_file", {"path": f"p{turn}"})
        messages += [Message("assistant", "", (call,)), Message("tool", f"r{turn}")]
    renderer = Renderer(chat_templates.tokenizer(name))
    for turn in (4, 5):
        prefix = messages[: 1 + 2 * turn]
        assert f"r{turn - 1}" in renderer.text(prefix)
        assert renderer.lost(prefix) == []


def test_an_empty_call_argument_text_is_an_empty_object():
    text = render("hermes", [TALK[1], Message("assistant", "", (ToolCall("f", ""),))])
    assert '"arguments": {}' in text


def test_tools_go_into_the_system_text_where_a_template_prints_none():
    text = render("smollm2", TALK[:2], TOOLS)
    assert text.startswith("<|im_start|>system\nBe brief.\n\nThese functions")
    assert "find_hotel" in render("smollm2", TALK[1:2], TOOLS)


def test_an_empty_prefix_and_a_missing_template_are_clear_errors():
    with pytest.raises(ValueError, match="empty prefix"):
        render("smollm2", [])
    bare = chat_templates.tokenizer("smollm2").__class__(
        tokenizer_object=chat_templates.tokenizer("smollm2").backend_tokenizer
    )
    with pytest.raises(ValueError, match="has no chat template"):
        ChatTemplate(bare, {})


@pytest.mark.slow
@pytest.mark.parametrize("name", chat_templates.NAMES)
def test_no_text_of_real_conversations_is_lost(name, mirror):
    """Thinking that a thinking template drops on purpose is the only thing missing."""
    renderer = Renderer(chat_templates.tokenizer(name))
    drops_thinking = name in ("qwen3_hybrid", "qwen3_thinking_2507")
    count = 0
    for file in sorted(registry.entries()):
        for trajectory in load(mirror / file).trajectories[:20]:
            if not trajectory.messages:
                continue
            lost = renderer.lost(trajectory.messages, trajectory.tools)
            parts = {text.part for text in lost}
            assert parts <= ({"reasoning"} if drops_thinking else set()), trajectory.uid
            count += 1
    assert count > 500
