"""Sharing prefixes changes the price of a step and nothing else."""

import copy

import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from training_toys import (
    Deaf,
    arguments,
    gradient,
    make_gpt2,
    make_model,
    make_sliding_model,
    make_tokenizer,
    random_groups,
    relative,
    weights,
)
from transformers import GPT2LMHeadModel
from trl import GRPOTrainer

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.training.prefix_sharing import PrefixSharingTrainer
from pivotlab.training.trl_compat import PivotTrainer, TokenBatch

GROUP = 4
PAD = 0


def token_batch(groups, shuffle=None):
    """Left-padded prompts and right-padded completions, one row per completion."""
    rows = [(p, c) for p, group in groups for c in group]
    if shuffle is not None:
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(1))
        rows = [rows[i] for i in order]
    before = max(len(p) for p, _ in rows)
    after = max(len(c) for _, c in rows)
    ids = torch.full((len(rows), before + after), PAD)
    mask = torch.zeros_like(ids)
    for row, (prompt, completion) in enumerate(rows):
        start, stop = before - len(prompt), before + len(completion)
        ids[row, start:stop] = torch.tensor([*prompt, *completion])
        mask[row, start:stop] = 1
    return TokenBatch(ids, mask, after)


def test_masked_completion_scores_zero_and_disturbs_nobody(tmp_path):
    one = build(tmp_path)
    tokens = token_batch(random_groups())
    masked = tokens.attention_mask.clone()
    masked[2, -tokens.completion_width :] = 0
    without = TokenBatch(tokens.input_ids, masked, tokens.completion_width)
    full, _ = one.token_scores(one.model, tokens, True)
    found, _ = one.token_scores(one.model, without, True)
    others = [row for row in range(len(masked)) if row != 2]
    assert torch.equal(found[2], torch.zeros_like(found[2]))
    assert torch.allclose(found[others], full[others], atol=1e-6)


def test_batch_with_nothing_to_score_is_zero_with_a_gradient(tmp_path):
    one = build(tmp_path)
    tokens = token_batch(random_groups(count=1))
    masked = tokens.attention_mask.clone()
    masked[:, -tokens.completion_width :] = 0
    empty = TokenBatch(tokens.input_ids, masked, tokens.completion_width)
    found, _ = one.token_scores(one.model, empty, True)
    found.sum().backward()
    assert not found.any() and not gradient(one.model).any()


def build(folder, model=None, kind=PrefixSharingTrainer, reward=None, **changes):
    tokenizer = make_tokenizer()
    data = Dataset.from_dict({"prompt": ["see a mug 1", "open", "go to bed 2", "a"]})
    peft = changes.pop("peft_config", None)
    return kind(
        make_model(tokenizer) if model is None else model,
        reward or (lambda completion_ids, **_: [float(len(i)) for i in completion_ids]),
        arguments(folder, **changes),
        train_dataset=data,
        processing_class=tokenizer,
        peft_config=peft,
    )


def scored(one, function, tokens):
    """Log-probs, entropies and the gradient of a weighted sum of both."""
    one.model.zero_grad()
    log_probs, entropies = function(one, one.model, tokens, True)
    draw = torch.Generator().manual_seed(2)
    first, second = (torch.randn(log_probs.shape, generator=draw) for _ in range(2))
    (first * log_probs + second * entropies).sum().backward()
    return log_probs.detach(), entropies.detach(), gradient(one.model)


MODELS = {
    "qwen3": {},
    "llama, eager": {"kind": "llama", "attn_implementation": "eager"},
    "untied": {"tie_word_embeddings": False},
    "one head a key": {"num_key_value_heads": 4},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_scores_and_gradients_equal_stock(tmp_path, name, temperature):
    model = make_model(make_tokenizer(), **MODELS[name])
    one = build(tmp_path, model, temperature=temperature)
    tokens = token_batch(random_groups(), shuffle=True)
    stock = scored(one, PivotTrainer.token_scores, tokens)
    ours = scored(one, PrefixSharingTrainer.token_scores, tokens)
    assert stock[0].min() < -1 and stock[2].norm() > 0.1
    assert torch.allclose(ours[0], stock[0], atol=1e-5)
    assert torch.allclose(ours[1], stock[1], atol=1e-5)
    assert relative(ours[2], stock[2]) <= 1e-5
    assert not one.fallbacks


def test_adapter_gradients_equal_stock(tmp_path):
    config = LoraConfig(target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    one = build(tmp_path, peft_config=config)
    tokens = token_batch(random_groups())
    stock = scored(one, PivotTrainer.token_scores, tokens)
    ours = scored(one, PrefixSharingTrainer.token_scores, tokens)
    assert torch.allclose(ours[0], stock[0], atol=1e-5)
    assert relative(ours[2], stock[2]) <= 1e-5
    with one.model.disable_adapter():
        plain, _ = one.token_scores(one.model, tokens, False)
    assert (plain - ours[0]).abs().max() > 1e-3


def test_less_is_kept_for_the_backward_pass(tmp_path):
    one = build(tmp_path)
    tokens = token_batch(random_groups(size=8, longest=60))
    kept = {}
    for kind in (PivotTrainer, PrefixSharingTrainer):
        storages = {}

        def note(tensor, storages=storages):
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            kind.token_scores(one, one.model, tokens, True)
        own = {p.untyped_storage().data_ptr() for p in one.model.parameters()}
        kept[kind] = sum(s.nbytes() for k, s in storages.items() if k not in own)
    assert kept[PrefixSharingTrainer] < 0.5 * kept[PivotTrainer]


class StockWithSamples(GRPOTrainer):
    """Stock TRL on the samples that our generation draws."""

    generate_ids = PrefixSharingTrainer.generate_ids
    _shared_sampler = PrefixSharingTrainer._shared_sampler
    generating = PivotTrainer.generating
    _sampler = None

    def _generate_single_turn(self, prompt_ids, *_, **__):
        return self.generate_ids(prompt_ids), None


@pytest.mark.parametrize("loss_type", ["grpo", "dapo"])
def test_training_equals_stock_trl_on_equal_samples(tmp_path, loss_type):
    found = []
    model = make_model(make_tokenizer())
    model.save_pretrained(tmp_path / "model")
    for kind in (StockWithSamples, PrefixSharingTrainer):
        one = build(
            tmp_path,
            type(model).from_pretrained(tmp_path / "model"),
            kind,
            max_steps=3,
            learning_rate=0.3,
            loss_type=loss_type,
            shuffle_dataset=False,
        )
        one.train()
        log = one.state.log_history[:3]
        figures = [r[k] for r in log for k in ("loss", "kl", "grad_norm", "entropy")]
        found.append((weights(one.model), figures))
    (stock, stock_log), (ours, our_log) = found
    assert our_log == pytest.approx(stock_log, rel=2e-5, abs=2e-6)
    moved = (stock - weights(model)).norm()
    assert moved > 0.01 and (ours - stock).norm() / moved < 1e-4


def test_gradient_accumulation_changes_nothing(tmp_path):
    found = []
    for parts in (1, 2):
        one = build(
            tmp_path,
            max_steps=3,
            per_device_train_batch_size=16 // parts,
            gradient_accumulation_steps=parts,
            shuffle_dataset=False,
        )
        one.train()
        found.append(weights(one.model))
    assert torch.allclose(found[0], found[1], atol=1e-6)


def test_samples_follow_from_seed_step_and_place_alone(tmp_path):
    one = build(tmp_path, seed=5)
    one.state.global_step = 3
    prompts = [[9, 10, 11], [12, 13], [9, 10, 11]]
    repeated = [p for p in prompts for _ in range(GROUP)]
    torch.manual_seed(0)
    found = one.generate_ids(repeated)
    seeds = [derive_seed(5, 3, i) for i in range(3)]
    sampling = Sampling(6, 1.0, tuple(one.eos_token_ids))
    direct = LocalSampler(one.model).sample(prompts, GROUP, sampling, seeds)
    assert found == [list(s.token_ids) for group in direct for s in group]
    torch.manual_seed(1)
    assert one.generate_ids(repeated) == found
    assert found[:GROUP] != found[2 * GROUP :]
    one.state.global_step = 4
    assert one.generate_ids(repeated) != found


@pytest.mark.case(id="V44")
def test_torn_group_is_refused(tmp_path):
    one = build(tmp_path)
    with pytest.raises(ValueError, match="whole groups of 4"):
        one.generate_ids([[9, 10], [11]] * 4)
    with pytest.raises(ValueError, match="whole groups of 4"):
        one.generate_ids([[9, 10]] * 3 + [[11]] * 5)


def test_generation_leaves_the_mode_of_the_model_alone(tmp_path):
    one = build(tmp_path)
    for training in (True, False):
        one.model.train(training)
        one.generate_ids([[9, 10]] * GROUP)
        assert one.model.training is training


def test_sliding_window_falls_back_visibly_and_still_trains(tmp_path):
    model = make_sliding_model(make_tokenizer())
    one = build(tmp_path, model, max_steps=2)
    with pytest.warns(UserWarning, match="prefix sharing is off"):
        one.train()
    # once for the policy and once for the reference in every step, and generation
    assert max(one.fallbacks.values()) >= 4
    assert len(one.state.log_history) == 3


def test_model_that_ignores_the_mask_is_found_out(tmp_path):
    one = build(tmp_path, make_gpt2(Deaf, make_tokenizer()))
    tokens = token_batch(random_groups())
    stock, _ = PivotTrainer.token_scores(one, one.model, tokens, False)
    with pytest.warns(UserWarning, match="log-probs differ"):
        found, _ = one.token_scores(one.model, tokens, True)
    assert list(one.fallbacks.values()) == [1]
    assert torch.equal(found, stock)


def test_absolute_positions_count_from_the_prompt(tmp_path):
    """Stock TRL counts the padding on the left; generation and we do not."""
    one = build(tmp_path, make_gpt2(GPT2LMHeadModel, make_tokenizer()))
    groups = random_groups()
    found, _ = one.token_scores(one.model, token_batch(groups), True)
    alone = [token_batch([group]) for group in groups]
    stock = [PivotTrainer.token_scores(one, one.model, t, False)[0] for t in alone]
    for index, wanted in enumerate(stock):
        rows = slice(GROUP * index, GROUP * (index + 1))
        assert torch.allclose(found[rows, : wanted.shape[1]], wanted, atol=1e-5)
    assert not one.fallbacks


@pytest.mark.slow
def test_flex_attention_scores_equal_stock(tmp_path):
    """Forward only: FlexAttention has no backward pass on a CPU."""
    model = make_model(make_tokenizer(), hidden_size=64)
    one = build(tmp_path, copy.deepcopy(model))
    model.set_attn_implementation("flex_attention")
    flex = build(tmp_path, model)
    tokens = token_batch(random_groups())
    with torch.no_grad():
        stock, _ = PivotTrainer.token_scores(one, one.model, tokens, False)
        found, _ = flex.token_scores(flex.model, tokens, True)
    assert not flex.fallbacks
    assert torch.allclose(found, stock, atol=1e-5)
