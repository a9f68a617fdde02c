"""The shipped model: architecture, size, hash, vocabulary, and what it can do."""

import json
import random

import torch

from pivotlab.environments.textgame.players import NoisyPlayer
from pivotlab.models import registry, tiny
from pivotlab.models.conversations import Games
from pivotlab.models.tokenizer import Vocabulary, build_tokenizer

SMALL = build_tokenizer(Vocabulary({"mug": 2}, ["go to"], ["sort"]))


def test_parameters_counted_by_hand():
    model = tiny.build_model(SMALL, 0)
    h, ffn, vocab = tiny.HIDDEN, tiny.INTERMEDIATE, len(SMALL)
    head = h // tiny.HEADS
    layer = 4 * h * h + 3 * h * ffn + 2 * h + 2 * head
    wanted = vocab * h + tiny.LAYERS * layer + h
    assert sum(p.numel() for p in model.parameters()) == wanted
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_the_seed_decides_the_weights_and_the_global_generator_stays():
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one, same, other = (tiny.build_model(SMALL, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    weight = one.model.layers[0].mlp.up_proj.weight
    assert torch.equal(weight, same.model.layers[0].mlp.up_proj.weight)
    assert not torch.equal(weight, other.model.layers[0].mlp.up_proj.weight)


FACTS = {"seed": 0, "steps": {"skill": 3}, "measured": {"success, greedy": 0.41}}


def test_what_is_saved_says_what_it_is(tmp_path):
    model = tiny.build_model(SMALL, 0)
    digest = tiny.save(model, SMALL, tmp_path, FACTS)
    recipe = json.loads((tmp_path / tiny.RECIPE).read_text())
    assert recipe["sha256"] == digest == tiny.sha256(tmp_path / tiny.WEIGHTS)
    assert recipe["parameters"] == sum(p.numel() for p in model.parameters())
    card = (tmp_path / "README.md").read_text()
    assert "| success, greedy | 0.41 |" in card
    assert digest in card and "an expert before it was given its bad habits" in card
    tiny.check(tmp_path)


def test_the_shipped_files_are_small_and_whole():
    tiny.check()
    size = sum(p.stat().st_size for p in tiny.folder().iterdir())
    assert size <= 12e6, f"{size / 1e6:.1f} MB"
    recipe = json.loads((tiny.folder() / tiny.RECIPE).read_text())
    assert 0.9e6 <= recipe["parameters"] <= 1.5e6


def test_the_shipped_tokenizer_is_the_one_the_wording_gives_today():
    shipped = registry.load_tokenizer("tiny")
    fresh = build_tokenizer(tiny.vocabulary())
    assert shipped.get_vocab() == fresh.get_vocab()
    assert shipped.chat_template == fresh.chat_template


def test_games_cost_few_tokens_and_never_fall_back_to_bytes():
    tokenizer = registry.load_tokenizer("tiny")
    rng = random.Random(0)
    for _ in range(20):
        for message in Games(NoisyPlayer, eps=0.2, hinted=0.5)(rng).messages:
            tokens = tokenizer.tokenize(message.content)
            loose = [t for t in tokens if len(t) == 1 and t not in ".Ċ"]
            assert len(loose) <= 1, (message.content, loose)


@torch.inference_mode()
def test_the_shipped_model_follows_a_hint_and_speaks_the_games_language():
    model, tokenizer = registry.load_model("tiny")
    games = Games(NoisyPlayer, eps=0.0, hinted=1.0)
    followed = 0
    for seed in range(30):
        first, command = games(random.Random(seed)).messages[:2]
        prompt = tokenizer.apply_chat_template(
            [{"role": "user", "content": first.content}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
        )
        out = model.generate(**prompt, max_new_tokens=12, do_sample=False)
        said = tokenizer.decode(
            out[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True
        )
        followed += said == command.content
    assert followed >= 27, f"{followed} of 30 hints followed"
