"""One token per entity and phrase; every text decodes to itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.models.tiny import vocabulary
from pivotlab.models.tokenizer import (
    OPENINGS,
    SPECIAL_TOKENS,
    Vocabulary,
    build_tokenizer,
    split_pattern,
)
from pivotlab.records import Message, ToolCall, Trajectory
from pivotlab.rendering import Renderer

SMALL = Vocabulary(
    {"mug": 3, "cabinet": 12, "desk": 1},
    ["You arrive at", "go to", ".\n\nYour task is to:", "a+b (c)?"],
    ["sort", "a"],
)
TOKENIZER = build_tokenizer(SMALL)


def pieces(text: str) -> list[str]:
    ids = TOKENIZER.encode(text, add_special_tokens=False)
    return [TOKENIZER.decode([i]) for i in ids]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("go to mug 1", ["go to", " mug 1"]),
        ("cabinet 1 cabinet 12", ["cabinet 1", " cabinet 12"]),
        ("mug 10", ["mug", " 1", "0"]),
        ("mug 4", ["mug", " 4"]),
        ("smug 1", ["s", "m", "u", "g", " 1"]),
        ("mug 1b", ["mug", " 1", "b"]),
        ("go tomorrow", list("go tomorrow")),
        ("I,go to mugs", ["I", ",", "go to", *" mugs"]),
        (
            "desk 1.\n\nYour task is to: sort",
            ["desk 1", ".\n\nYour task is to:", " sort"],
        ),
        ("xa+b (c)?", ["x", "a", "+", "b", " ", "(", "c", ")", "?"]),
        ("a+b (c)?", ["a+b (c)?"]),
    ],
)
def test_a_piece_is_one_token_and_never_part_of_a_longer_name(text, wanted):
    assert pieces(text) == wanted


@settings(max_examples=150, deadline=None)
@given(st.text())
def test_every_text_decodes_to_itself(text):
    ids = TOKENIZER.encode(text, add_special_tokens=False)
    marked = any(special in text for special in SPECIAL_TOKENS)
    assert marked or TOKENIZER.decode(ids) == text


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from(["mug 1", " mug 3", "go to", " ", "1", "0", "\n", "ü", "mug"])
    )
)
def test_known_pieces_in_any_order_decode_to_themselves(parts):
    text = "".join(parts)
    assert TOKENIZER.decode(TOKENIZER.encode(text, add_special_tokens=False)) == text


def test_all_bytes_are_tokens_and_ids_are_dense():
    vocab = TOKENIZER.get_vocab()
    assert sorted(vocab.values()) == list(range(len(TOKENIZER)))
    for code in ("\x00", "\x7f", "\xff", "漢", "🙂"):
        assert TOKENIZER.decode(TOKENIZER.encode(code)) == code
    assert len([t for t in vocab if len(t) == 1]) == 256


def test_the_order_of_the_words_given_changes_nothing():
    other = Vocabulary(
        dict(reversed(SMALL.entities.items())), SMALL.phrases[::-1], SMALL.words[::-1]
    )
    assert build_tokenizer(other).get_vocab() == TOKENIZER.get_vocab()
    assert split_pattern(other) == split_pattern(SMALL)


CONVERSATION = (
    Message("system", "rules"),
    Message("user", "go to mug 1"),
    Message("assistant", "go to desk 1", reasoning="hm"),
    Message("tool", "\n42 "),
    Message("assistant", "", tool_calls=(ToolCall("f", {"a": 1}),)),
    Message("user", "sort"),
    Message("assistant", "a"),
)


def test_the_chat_template_only_appends_and_loses_nothing():
    conversation = Renderer(TOKENIZER).conversation(Trajectory("t", CONVERSATION))
    assert conversation.append_only == (True, True, True)
    text = TOKENIZER.decode(conversation.ids)
    for wanted in ("rules", "hm", "\n42 ", '{"name": "f", "arguments": {"a": 1}}'):
        assert wanted in text


def test_a_turn_costs_two_tokens_beside_its_content():
    renderer = Renderer(TOKENIZER)
    messages = [Message("user", "sort"), Message("assistant", "a")]
    ids = renderer.encode(renderer.text(messages, generation_prompt=False))
    assert len(ids) == 2 * (1 + 2)
    assert ids[0] == TOKENIZER.convert_tokens_to_ids(OPENINGS[1])
    assert renderer.end_of_turn == TOKENIZER.eos_token_id


def test_the_assistant_mask_of_the_template_covers_what_the_model_says():
    rows = [{"role": "user", "content": "sort"}, {"role": "assistant", "content": "a"}]
    encoded = TOKENIZER.apply_chat_template(
        rows, return_assistant_tokens_mask=True, return_dict=True
    )
    assert encoded["assistant_masks"] == [0, 0, 0, 0, 1, 1]


def test_the_game_vocabulary_has_every_entity_once_with_and_without_a_space():
    tokenizer = build_tokenizer(vocabulary())
    for text in (
        "mug 1",
        " mug 1",
        " cabinet 28",
        "cabinet 28",
        " toiletpaperhanger 1",
    ):
        assert len(tokenizer.encode(text)) == 1, text
    assert 900 < len(tokenizer) < 1500
