"""`tiny-web`: the small model of the shop and of search QA, in `tiny`'s architecture.

It has a tokenizer of its own: one token for every product id, brand, option, name and
word of both worlds, and for every fixed piece of their pages; bytes for the rest.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pivotlab import paths
from pivotlab.environments import search_qa, shop
from pivotlab.environments.search_qa import encyclopedia
from pivotlab.environments.search_qa.players import NoisyReader
from pivotlab.environments.shop import generated, pages
from pivotlab.environments.shop.players import NoisyShopper
from pivotlab.models import skills
from pivotlab.models.tokenizer import Vocabulary
from pivotlab.trajectories.web_play import play_search, play_shop

NAME = "tiny-web"
#: Episodes of each world from which the fixed pieces of the texts are read.
SAMPLED = 30
_WORD = re.compile(r"[A-Za-z]+")


def folder() -> Path:
    """Where the shipped model lies."""
    return paths.MODELS / NAME


def vocabulary() -> Vocabulary:
    """Names and words of both worlds and of the skills, and what stands between names.

    Deterministic: fixed worlds, fixed episodes, fixed seeds, sorted sets.
    """
    names = _names()
    name = re.compile(rf" ?(?<![.\w])(?:{'|'.join(sorted(names))}|[0-9]+)\b")
    phrases = {part for text in _sample_texts() for part in name.split(text)}
    # An id is one token where it is shown and where it is clicked, so the space before
    # it belongs to what stands in front.
    phrases = {f"{p} " if p.endswith("[SEP]") else p for p in phrases}
    words = {word for phrase in phrases for word in _WORD.findall(phrase)}
    asked = {*encyclopedia.RELATIONS, *skills.WORDS}
    return Vocabulary(
        {}, sorted(p for p in phrases if len(p) > 1), sorted(words | names | asked)
    )


def _names() -> set[str]:
    """Every word that may be replaced by another one of its sort."""
    texts: list[str] = []
    for product in shop.catalogue().products.values():
        texts += [product.asin, product.title]
        texts += [text for name, values in product.options for text in (name, *values)]
    for kind, names in encyclopedia.NAMES.items():
        texts += names
        for relation in encyclopedia.RELATIONS[kind]:
            texts.append(relation.noun)
            if not isinstance(relation.target, str):
                texts += relation.target
    return {word for text in texts for word in _WORD.findall(text)} - {"of", "to"}


def _sample_texts() -> Iterator[str]:
    """Messages of noisy play, and every page a shopper may but need not see."""
    for number in range(SAMPLED):
        rng = random.Random(f"vocabulary/{number}")
        bought = play_shop(
            generated.task_ids("train", 1, number)[0], NoisyShopper(0.3), rng
        )
        asked = play_search(
            search_qa.task_ids("train", 1, number)[0], NoisyReader(0.3), rng
        )
        yield from (m.content for m in (*bought.messages[:-1], *asked.messages[:-1]))
    sold = next(iter(shop.catalogue().products.values()))
    yield from (pages.part_page(sold, part) for part in pages.PARTS)
    yield from (f"click[{part.lower()}]" for part in pages.PARTS)
    yield pages.end_page(1.0)


def model_card(facts: dict[str, Any]) -> str:
    """README of the model folder; `facts["measured"]` becomes its table."""
    rows = [
        f"| {what} | {value} |" for what, value in facts.get("measured", {}).items()
    ]
    table = "\n".join(["| measured | value |", "|---|---|", *rows]) if rows else ""
    steps = ", ".join(f"{k} {v}" for k, v in facts.get("steps", {}).items())
    return CARD.format(
        millions=facts["parameters"] / 1e6,
        seed=facts.get("seed"),
        steps=steps,
        sha256=facts["sha256"],
        table=table,
    )


CARD = """\
# tiny-web

A causal language model of {millions:.2f} million parameters in the architecture of
`tiny`, with a tokenizer of its own, for the generated shop and the generated
encyclopedia.

**How it was made.** From scratch, by the recipe in `models/web_recipe.py`: first
episodes of honest and of noisy players, whose slips are context and not targets, and
unrelated text skills; then a short stage in which it learns the bad habits of a reader
who slips at almost every second search. So both worlds are played now well, now badly.

**What it is for.** A base model for experiments on a laptop. It knows nothing beyond
these worlds and skills, and must not be used for anything else.

Seed {seed}, steps: {steps}; all settings are in `recipe.json`.
SHA-256 of the weights: `{sha256}`.

{table}
"""
