"""`tiny`: the shipped model of about a million parameters, in Qwen3's architecture.

The weights lie in the checkout (`data/models/tiny`), made by `notebooks/pretraining`;
`recipe.json` beside them says how and carries their hash.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from pivotlab import paths
from pivotlab.environments.textgame import wording
from pivotlab.environments.textgame.games import task_ids
from pivotlab.environments.textgame.twin import TextGame
from pivotlab.models import skills
from pivotlab.models.conversations import HINTS
from pivotlab.models.tokenizer import MAX_LENGTH, Vocabulary
from pivotlab.whole_files import write_text

NAME = "tiny"
WEIGHTS = "model.safetensors"
RECIPE = "recipe.json"
HIDDEN = 128
LAYERS = 4
HEADS = 4
INTERMEDIATE = 384
#: Highest number of an object of one type in any room.
MOST_OBJECTS = 3


def folder() -> Path:
    """Where the shipped model lies."""
    return paths.MODELS / NAME


def vocabulary() -> Vocabulary:
    """The game's entities, the fixed phrases of its wording, the words of the skills.

    Phrases are what stands between entities in games played at random, so the wording
    has one source. Deterministic: sorted sets, fixed games, fixed seeds.
    """
    things = dict.fromkeys(skills.object_types(), MOST_OBJECTS)
    entities = {**things, **skills.receptacle_numbers()}
    name = re.compile(rf" ?\b(?:{'|'.join(sorted(entities))})(?: [0-9]+)?\b")
    commands, texts = _sample_texts()
    verbs = {name.split(command)[0] for command in commands}
    phrases = {part for text in (*commands, *texts) for part in name.split(text)}
    phrases |= {f" {verb}" for verb in verbs}
    phrases |= {part for hint in HINTS for part in hint.split(" {action}")}
    return Vocabulary(entities, sorted(p for p in phrases if len(p) > 1), skills.WORDS)


def _sample_texts() -> tuple[set[str], set[str]]:
    """Commands and observations of random play, all task types, all kinds of rooms."""
    game = TextGame()
    states = itertools.product((False, True), repeat=5)
    texts = {wording.examine_object("mug 1", *state) for state in states}
    commands: set[str] = set()
    texts.add(wording.NOTHING)
    for task in [*task_ids("train", 90), *task_ids("train", 30, full=True)]:
        rng = random.Random(task)
        texts.add(game.reset(task))
        for _ in range(60):
            verbs = {command.split()[0]: command for command in game.admissible()}
            command = rng.choice([*verbs.values(), *game.admissible()])
            commands.add(command)
            texts.add(game.step(command).observation)
    return commands, texts


def config(tokenizer: PreTrainedTokenizerFast) -> Qwen3Config:
    """Qwen3 with tied embeddings, full attention in every layer, no dropout."""
    return Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=INTERMEDIATE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=HIDDEN // HEADS,
        max_position_embeddings=MAX_LENGTH,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """A freshly initialised model, float32; leaves the global generator untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config(tokenizer)).float()


def save(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    target: Path,
    recipe: dict[str, Any],
    card: Callable[[dict[str, Any]], str] | None = None,
) -> str:
    """Write weights, tokenizer, recipe with the weights' hash, and the model card.

    `card` words the card of another model of this architecture.

    Returns:
        The SHA-256 of the weights.
    """
    target.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(target)
    (target / WEIGHTS).chmod(0o644)
    tokenizer.save_pretrained(target)
    digest = sha256(target / WEIGHTS)
    parameters = sum(p.numel() for p in model.parameters())
    facts = {**recipe, "parameters": parameters, "sha256": digest}
    write_text(target / RECIPE, json.dumps(facts, indent=1, sort_keys=True) + "\n")
    write_text(target / "README.md", (card or model_card)(facts))
    return digest


def check(target: Path | None = None) -> None:
    """Compare the weights with the hash in `recipe.json`.

    Raises:
        FileNotFoundError: the weights or the recipe are missing.
        ValueError: the weights are not the ones the recipe describes.
    """
    target = target or folder()
    way_out = f"restore it with `git checkout -- {target}`"
    for name in (WEIGHTS, RECIPE):
        if not (target / name).is_file():
            raise FileNotFoundError(f"{target / name} is missing; {way_out}")
    wanted = json.loads((target / RECIPE).read_text())["sha256"]
    found = sha256(target / WEIGHTS)
    if found != wanted:
        raise ValueError(
            f"{target / WEIGHTS} is corrupted: its SHA-256 is {found[:12]}, "
            f"{RECIPE} says {wanted[:12]}; {way_out}"
        )


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def model_card(facts: dict[str, Any]) -> str:
    """README of the model folder; `facts["measured"]` becomes its table."""
    rows = [
        f"| {what} | {value} |" for what, value in facts.get("measured", {}).items()
    ]
    table = "\n".join(["| measured | value |", "|---|---|", *rows]) if rows else ""
    return CARD.format(
        millions=facts["parameters"] / 1e6,
        seed=facts.get("seed"),
        steps=", ".join(f"{k} {v}" for k, v in facts.get("steps", {}).items()),
        sha256=facts["sha256"],
        table=table,
        hidden=HIDDEN,
        layers=LAYERS,
        heads=HEADS,
    )


CARD = """\
# tiny

A causal language model of {millions:.2f} million parameters in Qwen3's architecture
({layers} layers, hidden size {hidden}, {heads} heads, tied embeddings), with its own
tokenizer: one token per numbered entity of the text game, bytes for everything else.

**How it was made.** From scratch, by `notebooks/pretraining.ipynb`, in two stages.
Stage 1 makes an expert of it: games of an honest player and of a noisy one, games with
hints that are followed, and unrelated text skills. Stage 2 is short and gives it bad
habits on purpose: it imitates players that make the same mistakes in the same
situations. So this base model was an expert before it was given its bad habits, and a
method that improves it may restore skill that is still there. That is also what
post-training does to a pretrained language model; read every gain in that light.

**What it is for.** A base model for experiments on a laptop. It knows nothing beyond
the game and the skills, and must not be used for anything else.

Seed {seed}, steps: {steps}; all settings are in `recipe.json`.
SHA-256 of the weights: `{sha256}`.

{table}
"""
