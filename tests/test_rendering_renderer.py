"""Token ids, spans, the prefix property, and sampled tokens back to messages."""

import chat_templates
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_rendering_template import TALK, TOOLS

from pivotlab.records import Message, ToolCall, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.rendering.renderer import HIDDEN, last_observations

RENDERERS = {
    name: Renderer(chat_templates.tokenizer(name)) for name in chat_templates.NAMES
}
#: Templates that never rewrite a conversation of plain user and assistant texts.
APPEND_ONLY = ("qwen3_instruct_2507", "qwen3_coder", "smollm2", "hermes")
words = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)


def plain(*texts):
    roles = ("user", "assistant")
    return tuple(Message(roles[i % 2], t) for i, t in enumerate(texts))


def trajectory(messages, tools=()):
    return Trajectory("t", tuple(messages), tools=tuple(tools))


def test_spans_and_mask_by_hand():
    renderer = RENDERERS["hermes"]
    found = renderer.conversation(trajectory(plain("hi", "go", "ok", "stop")))
    decode = renderer.tokenizer.decode
    assert [decode(found.ids[a:b]) for a, b in found.spans] == [
        "go<|im_end|>",
        "stop<|im_end|>",
    ]
    assert decode(found.ids[: found.spans[0][0]]) == (
        "<|begin|><|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert sum(found.mask) == sum(b - a for a, b in found.spans)
    assert all(found.mask[a:b] == (1,) * (b - a) for a, b in found.spans)


@pytest.mark.parametrize("name", chat_templates.NAMES)
@given(texts=st.lists(words, min_size=2, max_size=8))
@settings(max_examples=12, deadline=None)
def test_every_kept_turn_has_exactly_its_own_prompt(name, texts):
    renderer, messages = RENDERERS[name], plain(*texts)
    found = renderer.conversation(trajectory(messages))
    turns = [i for i, m in enumerate(messages) if m.role == "assistant"]
    assert len(found.spans) == len(found.append_only) == len(turns)
    for index, (start, end), kept in zip(
        turns, found.spans, found.append_only, strict=True
    ):
        if not kept:
            assert (start, end) == (0, 0)
            continue
        prefix = messages[:index]
        assert list(found.ids[:start]) == renderer.prompt_ids(prefix)
        completion = renderer.completion_ids(prefix, messages[index])
        assert list(found.ids[start:end]) == completion
    if name in APPEND_ONLY:
        assert all(found.append_only)


@pytest.mark.parametrize("name", chat_templates.NAMES)
@given(texts=st.lists(words, min_size=2, max_size=8))
@settings(max_examples=8, deadline=None)
def test_the_fast_way_equals_the_general_way(name, texts):
    renderer, talk = RENDERERS[name], trajectory(plain(*texts))
    assert renderer.conversation(talk) == renderer._by_turn(talk)


def test_a_known_sequence_of_roles_is_rendered_once(monkeypatch):
    renderer = Renderer(chat_templates.tokenizer("smollm2"))
    renderer.conversation(trajectory(plain("a", "b", "c", "d")))
    renders = []
    original = renderer.template.render
    monkeypatch.setattr(
        renderer.template,
        "render",
        lambda *a, **k: renders.append(1) or original(*a, **k),
    )
    renderer.conversation(trajectory(plain("longer", "texts", "this", "time")))
    assert len(renders) == 1


@pytest.mark.parametrize("name", chat_templates.NAMES)
def test_calls_results_and_schemas_form_one_sequence(name):
    renderer = RENDERERS[name]
    found = renderer.conversation(trajectory(TALK, TOOLS))
    assert len(found.spans) == 2 and found.append_only[-1]
    start, end = found.spans[-1]
    assert list(found.ids[:start]) == renderer.prompt_ids(TALK[:4], TOOLS)
    assert "The Ibis has a room." in renderer.tokenizer.decode(found.ids[start:end])


@pytest.mark.case(id="V49")
def test_thinking_that_disappears_breaks_the_prefix_and_is_reported():
    messages = (
        Message("user", "a"),
        Message("assistant", "one", reasoning="think one"),
        Message("user", "b"),
        Message("assistant", "two", reasoning="think two"),
    )
    renderer = RENDERERS["qwen3_hybrid"]
    found = renderer.conversation(trajectory(messages))
    assert found.append_only == (False, True)
    assert found.spans[0] == (0, 0)
    assert list(found.ids[: found.spans[1][0]]) == renderer.prompt_ids(messages[:3])
    own = renderer.tokenizer.decode(renderer.completion_ids(messages[:1], messages[1]))
    assert own == "<think>\nthink one\n</think>\n\none<|im_end|>"


def test_empty_think_block_that_vanishes_before_a_tool_result_is_reported():
    found = RENDERERS["qwen3_hybrid"].conversation(trajectory(TALK, TOOLS))
    assert found.append_only == (False, True)


def test_template_options_reach_the_template():
    renderer = Renderer(
        chat_templates.tokenizer("qwen3_hybrid"), options={"enable_thinking": False}
    )
    assert renderer.text(plain("hi")).endswith("<think>\n\n</think>\n\n")
    assert renderer.fingerprint()["options"] == {"enable_thinking": False}


@pytest.mark.case(id="V50")
def test_a_whole_render_differs_from_message_by_message():
    first, second = ToolCall("f", {}), ToolCall("g", {})
    messages = [
        Message("user", "u"),
        Message("assistant", "", (first, second)),
        Message("tool", "r1"),
        Message("tool", "r2"),
    ]
    renderer = RENDERERS["qwen3_hybrid"]
    whole = renderer.text(messages, generation_prompt=False)
    assert whole.count("<|im_start|>user") == 2
    alone = "".join(renderer.text([m], generation_prompt=False) for m in messages[2:])
    assert alone.count("<|im_start|>user") == 2 and alone not in whole


@pytest.mark.case(id="V47")
def test_length_counts_the_schemas():
    renderer = RENDERERS["hermes"]
    bare, full = renderer.length(TALK[:2]), renderer.length(TALK[:2], TOOLS)
    assert full == len(renderer.encode(renderer.text(TALK[:2], TOOLS)))
    assert full > bare + 150
    inline = RENDERERS["smollm2"]
    assert inline.length(TALK[:2], TOOLS) > inline.length(TALK[:2]) + 150


@pytest.mark.case(id="V48")
def test_hidden_observations_are_the_same_everywhere_and_recorded():
    messages = plain("task", "a1", "o1", "a2", "o2", "a3", "o3", "a4")
    shown = last_observations(messages, 2)
    assert [m.content for m in shown] == [
        "task", "a1", HIDDEN, "a2", "o2", "a3", "o3", "a4",
    ]  # fmt: skip
    renderer = Renderer(chat_templates.tokenizer("hermes"), history=2)
    assert "o1" not in renderer.text(messages) and "o2" in renderer.text(messages)
    assert renderer.fingerprint()["history"] == 2
    found = renderer.conversation(trajectory(messages))
    for turn, index in enumerate((1, 3, 5, 7)):
        start, _ = found.spans[turn]
        if found.append_only[turn]:
            assert list(found.ids[:start]) == renderer.prompt_ids(messages[:index])
    assert found.append_only[-1]
    assert renderer.lost(messages) == []


@pytest.mark.case(id="V14")
def test_a_shortened_history_leaves_every_result_with_its_call():
    shown = last_observations(TALK, 0)
    assert [(m.role, m.tool_calls, m.tool_call_id) for m in shown] == [
        (m.role, m.tool_calls, m.tool_call_id) for m in TALK
    ]
    assert any(m.role == "tool" and m.content == HIDDEN for m in shown)


@pytest.mark.parametrize("name", chat_templates.NAMES)
def test_what_a_turn_must_emit_reads_back_as_the_turn(name):
    renderer = RENDERERS[name]
    for index in (2, 4):
        ids = renderer.completion_ids(TALK[:index], TALK[index], TOOLS)
        assert ids[-1] == renderer.end_of_turn
        found = renderer.action([*ids, 65, 66], TOOLS)
        expected = TALK[index].tool_calls
        assert found.content == TALK[index].content
        assert [(c.name, c.arguments) for c in found.tool_calls] == [
            (c.name, c.arguments) for c in expected
        ]


def test_actions_of_the_thinking_template_have_an_orphan_closing_tag():
    renderer = RENDERERS["qwen3_thinking_2507"]
    found = renderer.action(renderer.encode("so we go\n</think>\n\ngo north<|im_end|>"))
    assert (found.reasoning, found.content) == ("so we go", "go north")


@given(ids=st.lists(st.integers(0, 258), max_size=60))
@settings(max_examples=100, deadline=None)
def test_actions_are_total(ids):
    for renderer in RENDERERS.values():
        found = renderer.action(ids, TOOLS)
        assert found.role == "assistant"


def test_a_conversation_that_starts_with_the_assistant_does_not_die():
    messages = (Message("assistant", "Hello!"), *plain("hi", "bye"))
    for name in APPEND_ONLY:
        found = RENDERERS[name].conversation(trajectory(messages))
        assert found.append_only == (False, True)


def test_a_refused_conversation_reports_every_turn():
    messages = [Message("user", "u"), Message("user", "v"), Message("assistant", "w")]
    renderer = Renderer(chat_templates.tokenizer("strict"))
    found = renderer.conversation(trajectory(messages))
    assert found.append_only == (False,) and found.ids == ()
