import math

import pandas as pd
import pytest
import torch
from test_rollouts_prompts import make_tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sample
from pivotlab.evaluation import retention
from pivotlab.evaluation.retention import (
    Question,
    accuracy_table,
    answer_all,
    kl_table,
    kl_to_base,
    questions,
    scored_answers,
)
from pivotlab.models.skills import SKILLS, Skill, is_held_out
from pivotlab.rendering import Renderer


@pytest.fixture(scope="module")
def renderer():
    return Renderer(make_tokenizer())


def make_model(vocabulary, seed):
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
    )
    model = Qwen3ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model


def test_questions_are_held_out_distinct_and_repeatable():
    asked = questions(4, seed=1)
    assert asked == questions(4, seed=1) != questions(4, seed=2)
    assert len(asked) == 4 * len(SKILLS) == len({(q.skill, q.text) for q in asked})
    assert all(is_held_out(q.text) for q in asked)
    assert {q.shares_game_tokens for q in asked} == {True, False}


def test_too_few_different_questions_are_named():
    # One question only; its text falls into the held-out part.
    text = next(f"q{i}" for i in range(1000) if is_held_out(f"q{i}"))
    tiny = {"constant": Skill("constant", lambda rng: (text, "a"))}
    assert len(questions(1, skills=tiny)) == 1
    with pytest.raises(ValueError, match="'constant' yields only 1"):
        questions(2, skills=tiny)


class Answering:
    """Answers from a list, the same at every temperature."""

    def __init__(self, renderer, said):
        self.renderer, self.said = renderer, said

    def sample(self, prompts, n, sampling, seeds):
        assert n == 1 and len(set(seeds)) == len(seeds)
        end = (self.renderer.end_of_turn,)
        return [
            [Sample(tuple(self.renderer.encode(text)) + end, cut)]
            for text, cut in self.said
        ]


ASKED = [
    Question("add", "add 1 and 2", "3", False),
    Question("add", "add 2 and 2", "4", False),
    Question("undo", "undo open a", "close a", True),
    Question("undo", "undo open b", "close b", True),
]


def test_exact_answers_and_their_tables(renderer):
    said = [("3", False), (" 4 ", False), ("close c", False), ("close b", True)]
    answers = answer_all(Answering(renderer, said), renderer, ASKED)
    assert answers["correct"].tolist() == [True, True, False, False] * 2
    assert answers["decoding"].unique().tolist() == ["greedy", "t1"]
    table = accuracy_table(answers).set_index(["decoding", "skill"])
    assert table.loc[("t1", "add"), ["n", "accuracy"]].tolist() == [2, 1.0]
    assert table.loc[("t1", "undo"), "accuracy"] == 0.0
    split = accuracy_table(answers, ["shares_game_tokens"])
    assert split["n"].tolist() == [4, 4]
    assert split["accuracy"].tolist() == [1.0, 0.0]


def test_answers_of_a_model_are_repeatable(renderer):
    sampler = LocalSampler(make_model(len(renderer.tokenizer), 0))
    first, again = (answer_all(sampler, renderer, ASKED, seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    other = answer_all(sampler, renderer, ASKED, seed=4)
    sampled = first["decoding"] == "t1"
    assert (first["given"] != other["given"])[sampled].any()
    assert (first["given"] == other["given"])[~sampled].all()


def test_scored_answers_count_the_answer_only(renderer):
    ids, mask = scored_answers(renderer, ASKED[2:3])[0]
    counted = [i for i, m in zip(ids, mask, strict=True) if m]
    assert counted[-1] == renderer.end_of_turn
    assert renderer.action(counted).content == "close a"


def test_kl_of_a_model_to_itself_is_zero(renderer):
    model = make_model(len(renderer.tokenizer), 0)
    kl = kl_to_base(model, model, scored_answers(renderer, ASKED))
    assert (kl[["forward", "reverse"]] == 0).all(axis=None)


def test_kl_equals_a_plain_double_precision_sum(renderer, monkeypatch):
    model, base = (make_model(len(renderer.tokenizer), s) for s in (1, 2))
    sequences = scored_answers(renderer, ASKED)
    sequences.insert(1, ([1, 2, 3], [0, 0, 0]))
    whole = kl_to_base(model, base, sequences)
    monkeypatch.setattr(retention, "MOST_LOGITS", 30 * len(renderer.tokenizer))
    batched = kl_to_base(model, base, sequences)
    pd.testing.assert_frame_equal(whole, batched, atol=1e-5, check_exact=False)
    rows = iter(whole.itertuples())
    for index, (ids, mask) in enumerate(sequences):
        with torch.no_grad():
            p, q = (
                m(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
                for m in (model, base)
            )
        for t in [t for t, m in enumerate(mask) if m]:
            row = next(rows)
            assert (row.sequence, row.position) == (index, t)
            forward = (q[t - 1].exp() * (q[t - 1] - p[t - 1])).sum().item()
            reverse = (p[t - 1].exp() * (p[t - 1] - q[t - 1])).sum().item()
            assert math.isclose(row.forward, forward, rel_tol=1e-3, abs_tol=1e-6)
            assert math.isclose(row.reverse, reverse, rel_tol=1e-3, abs_tol=1e-6)
    assert next(rows, None) is None


def test_kl_table_by_hand():
    kl = pd.DataFrame(
        {"sequence": [0, 0, 1], "forward": [1.0, 2.0, 6.0], "reverse": [0.0, 0.0, 3.0]}
    )
    table = kl_table(kl).set_index("direction")
    assert table.loc["forward", ["n", "sequences", "kl"]].tolist() == [3, 2, 3.0]
    assert table.loc["reverse", "kl"] == 1.0
    assert table.loc["forward", "lo"] == 1.5 and table.loc["forward", "hi"] == 6.0


def test_kl_refuses_what_cannot_be_compared(renderer):
    model = make_model(40, 0)
    with pytest.raises(ValueError, match="vocabularies of"):
        kl_to_base(model, make_model(41, 0), [([1, 2], [0, 1])])
    with pytest.raises(ValueError, match="no sequence"):
        kl_to_base(model, model, [([1, 2], [1, 0])])
