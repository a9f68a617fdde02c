"""The tokenizer of `tiny-web`: lossless, short, one token per id; its card."""

import random

import pytest

from pivotlab.environments import search_qa, shop
from pivotlab.environments.search_qa.players import NoisyReader
from pivotlab.environments.shop.players import NoisyShopper
from pivotlab.models import skills, tiny_web
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.trajectories.web_play import play_search, play_shop

WORDS = tiny_web.vocabulary()
TOKENIZER = build_tokenizer(WORDS)


def pieces(text):
    ids = TOKENIZER.encode(text, add_special_tokens=False)
    assert TOKENIZER.decode(ids) == text
    return [TOKENIZER.decode([i]) for i in ids]


def test_it_is_small_and_has_no_piece_twice():
    found = WORDS.pieces()
    assert len(found) == len(set(found)) and len(TOKENIZER) < 4000
    assert len(WORDS.phrases) < 120


def test_an_id_is_the_same_token_on_a_page_and_in_a_click():
    sold = list(shop.catalogue().products.values())[:50]
    for product in sold:
        shown = pieces(f"Page 1 [SEP] {product.asin} [SEP] {product.title}")
        assert product.asin in shown
        assert pieces(f"click[{product.asin}]") == ["click[", product.asin, "]"]


@pytest.mark.parametrize(
    ("play", "room", "player", "most"),
    [
        (play_shop, shop, NoisyShopper, 560),
        (play_search, search_qa, NoisyReader, 330),
    ],
    ids=["shop", "search"],
)
def test_episodes_of_other_splits_are_short_and_hardly_fall_into_bytes(
    play, room, player, most
):
    single = total = 0
    for seed, task in enumerate(room.task_ids("test", 15)):
        episode = play(task, player(0.2), random.Random(seed))
        split = [pieces(m.content) for m in episode.messages[:-1]]
        assert sum(len(row) + 2 for row in split) < most
        single += sum(len(p) == 1 and p.isalpha() for row in split for p in row)
        total += sum(map(len, split))
    assert single / total < 0.01


def test_skills_are_in_words():
    rng = random.Random(0)
    for name in ("sort", "convert", "add"):
        question, answer = skills.SKILLS[name].draw(rng)
        assert all(p.strip().isalnum() for p in pieces(question) if p.strip())
        assert pieces(answer)


def test_the_card_says_how_it_was_made():
    facts = {"parameters": 1_300_000, "sha256": "ab", "seed": 3, "steps": {"web": 9}}
    card = tiny_web.model_card(facts | {"measured": {"shop": 0.3}})
    for words in ("1.30 million", "Seed 3, steps: web 9", "`ab`", "| shop | 0.3 |"):
        assert words in card
    assert tiny_web.folder().name == "tiny-web"
