"""Packing, loss, schedule, determinism and resumption of the recipe."""

import random
from collections.abc import Callable

import pytest
import torch
from torch.nn.functional import log_softmax

from pivotlab.models import pretraining, tiny
from pivotlab.models.conversations import Example
from pivotlab.models.pretraining import Batching, Encoded, Encoder, Run, Stage, Stream
from pivotlab.models.tokenizer import Vocabulary, build_tokenizer
from pivotlab.records import Message, Trajectory
from pivotlab.rendering import Renderer

TOKENIZER = build_tokenizer(Vocabulary({"mug": 2}, ["go to"], ["sort", "a", "b"]))
ENCODE = Encoder(TOKENIZER, 0.25)
TALK = (
    Message("user", "sort b a"),
    Message("assistant", "a b"),
    Message("user", "go to mug 1"),
    Message("assistant", "mug 1"),
)


def copies(length: int) -> Callable[[random.Random], Example]:
    """Source of questions that are to be repeated."""

    def draw(rng: random.Random) -> Example:
        text = " ".join(rng.choices("ab", k=length))
        return Example((Message("user", text), Message("assistant", text)))

    return draw


SOURCES = {"short": copies(2), "long": copies(6)}
STAGE = Stage(
    "test", {"short": 1.0, "long": 2.0}, steps=6, matrix_lr=0.01, other_lr=0.01
)
BATCHING = Batching(rows=2, length=32, given_weight=0.25)


def make_run(seed: int = 0) -> Run:
    model = tiny.build_model(TOKENIZER, 0)
    return Run(model, TOKENIZER, SOURCES, STAGE, BATCHING, seed)


def test_encoding_is_the_chat_template_and_weights_follow_the_speaker():
    encoded = ENCODE(Example(TALK, frozenset({3})))
    whole = Renderer(TOKENIZER).conversation(Trajectory("t", TALK))
    assert encoded.ids == list(whole.ids)
    first, second = whole.spans
    for i, weight in enumerate(encoded.weights):
        wanted = 1.0 if first[0] <= i < first[1] else 0.25
        wanted = 0.0 if i == 0 or second[0] <= i < second[1] else wanted
        assert weight == wanted, i


def test_rows_hold_whole_conversations_and_nothing_is_lost():
    stream = Stream(SOURCES, STAGE.mixture, ENCODE, 32, "key")
    twin = Stream(SOURCES, STAGE.mixture, ENCODE, 32, "key")
    rows = [stream.row() for _ in range(40)]
    used = [c.ids for row in rows for c in row]
    drawn = [twin.draw().ids for _ in range(len(used) + len(stream.waiting))]
    assert sorted(used + [c.ids for c in stream.waiting]) == sorted(drawn)
    assert all(sum(len(c.ids) for c in row) <= 32 for row in rows)
    fill = sum(len(ids) for ids in used) / (40 * 32)
    assert fill > 0.85


def test_a_conversation_that_fits_no_row_is_counted_and_drawn_again():
    stream = Stream(
        {"a": copies(2), "b": copies(40)}, {"a": 1.0, "b": 1.0}, ENCODE, 32, ""
    )
    assert all(len(stream.draw().ids) <= 32 for _ in range(50))
    assert stream.too_long > 10


def test_an_unknown_source_is_named():
    with pytest.raises(ValueError, match=r"\['nope'\].*\['long', 'short'\]"):
        Stream(SOURCES, {"nope": 1.0}, ENCODE, 32, "")


def test_a_packed_conversation_is_blind_to_its_neighbours():
    model = tiny.build_model(TOKENIZER, 0).eval()
    rng = random.Random(0)
    parts = [ENCODE(copies(n)(rng)) for n in (2, 5, 3)]
    batch = pretraining.pack([parts], 40, TOKENIZER.pad_token_id)
    with torch.inference_mode():
        packed = model(
            input_ids=batch.ids, position_ids=batch.positions, use_cache=False
        ).logits[0]
        start = 0
        for part in parts:
            alone = model(input_ids=torch.tensor([part.ids])).logits[0]
            piece = packed[start : start + len(part.ids)]
            assert torch.allclose(piece, alone, atol=1e-5)
            start += len(part.ids)


def test_a_step_descends_the_weighted_mean_over_conversations_taken_alone():
    run = make_run()
    run.optimisers = []
    waiting = Stream(SOURCES, STAGE.mixture, ENCODE, 32, f"0/{STAGE.name}")
    found = run.step()
    total, weight = torch.tensor(0.0), 0.0
    for part in (c for _ in range(BATCHING.rows) for c in waiting.row()):
        log_probs = log_softmax(run.model(torch.tensor([part.ids])).logits[0], -1)
        for i in range(1, len(part.ids)):
            total = total - part.weights[i] * log_probs[i - 1, part.ids[i]]
            weight += part.weights[i]
    assert found == pytest.approx((total / weight).item(), rel=1e-5)
    gradients = torch.autograd.grad(total / weight, run.parameters)
    for parameter, wanted in zip(run.parameters, gradients, strict=True):
        assert torch.allclose(parameter.grad, wanted, atol=1e-6)


def test_the_number_of_workers_changes_nothing():
    courses = []
    for workers in (1, 3):
        model = tiny.build_model(TOKENIZER, 0)
        run = Run(model, TOKENIZER, SOURCES, STAGE, Batching(3, 32, 0.25), 0, workers)
        courses.append([run.step() for _ in range(3)])
    assert courses[0] == courses[1]


def test_padding_changes_no_gradient():
    row = [Encoded([1, 5, 6, 7], [0.0, 1.0, 1.0, 0.25])]
    grads = []
    for length in (4, 12):
        model = tiny.build_model(TOKENIZER, 0)
        batch = pretraining.pack([row], length, TOKENIZER.pad_token_id)
        pretraining.loss(model, batch).backward()
        grads.append(model.model.layers[0].self_attn.q_proj.weight.grad)
    assert torch.allclose(grads[0], grads[1], atol=1e-6)


def test_the_rate_warms_up_stays_and_falls_to_nearly_zero():
    stage = Stage("s", {}, steps=100, matrix_lr=1.0, other_lr=1.0, warmup=10, decay=0.4)
    rates = [pretraining.rate(stage, step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and rates[9:61] == [1.0] * 52
    assert rates[80] == pytest.approx(0.5) and rates[99] == pytest.approx(1 / 40)


def test_every_parameter_has_one_optimiser_and_embeddings_are_not_muons():
    model = tiny.build_model(TOKENIZER, 0)
    muon, adamw = pretraining.optimisers(model, STAGE)
    ids = [
        id(p)
        for optimiser in (muon, adamw)
        for group in optimiser.param_groups
        for p in group["params"]
    ]
    assert sorted(ids) == sorted(id(p) for p in model.parameters())
    assert (
        id(model.model.embed_tokens.weight)
        in ids[len(muon.param_groups[0]["params"]) :]
    )


def test_a_seed_gives_one_course_and_another_seed_another():
    courses = []
    for seed in (0, 0, 1):
        run = make_run(seed)
        courses.append([run.step() for _ in range(3)])
    assert courses[0] == courses[1] != courses[2]


def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(tmp_path):
    whole = make_run()
    pretraining.train(whole, tmp_path / "whole.pt", every=100)
    stopped = make_run()
    for _ in range(4):
        stopped.step()
    stopped.save(tmp_path / "part.pt")
    again = make_run()
    pretraining.train(again, tmp_path / "part.pt", every=100)
    assert again.done == whole.done == STAGE.steps
    for a, b in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert {p.name for p in tmp_path.iterdir()} == {"whole.pt", "part.pt"}
    finished = make_run()
    assert pretraining.train(finished, tmp_path / "part.pt") == again.history


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    make_run().save(tmp_path / "c.pt")
    with pytest.raises(ValueError, match=r"other settings .*steps=6.*seed 0.*delete"):
        make_run(seed=1).resume(tmp_path / "c.pt")


def test_training_learns_to_repeat():
    stage = Stage("copy", {"short": 1.0}, 50, matrix_lr=0.01, other_lr=0.003, warmup=5)
    model = tiny.build_model(TOKENIZER, 0)
    run = Run(model, TOKENIZER, SOURCES, stage, Batching(4, 32, 0.25), 0)
    losses = [run.step() for _ in range(50)]
    assert sum(losses[-5:]) / 5 < 0.35 < 4.0 < losses[0]
