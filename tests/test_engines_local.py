from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampler, Sampling

VOCAB = 61
SHAPE = dict(
    vocab_size=VOCAB,
    hidden_size=48,
    intermediate_size=80,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=512,
)


def qwen3():
    return Qwen3ForCausalLM(Qwen3Config(head_dim=16, **SHAPE))


def llama():
    return LlamaForCausalLM(LlamaConfig(**SHAPE))


def gpt2():
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCAB, n_positions=512, n_embd=48, n_layer=2, n_head=4)
    )


def roughened(build):
    """Random weights far from the tame initial ones, so that positions matter."""
    torch.manual_seed(0)
    model = build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0).add_(0.1 * torch.randn_like(parameter))
    return model.eval()


@pytest.fixture(scope="module", params=[qwen3, llama, gpt2])
def model(request):
    return roughened(request.param)


def ids(length, seed):
    return np.random.default_rng(seed).integers(0, VOCAB, length).tolist()


def mixed_prompts():
    """Two trajectories of several turns, a shared system message, a loner, a repeat."""
    first, second, system = ids(90, 1), ids(70, 2), ids(40, 3)
    prompts = [first[:n] for n in (20, 45, 90)] + [second[:n] for n in (31, 70)]
    prompts += [system + ids(9, 4), system + ids(12, 5), ids(3, 6), first[:45]]
    return prompts


def plain_log_probs(model, prompt, tokens, temperature):
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + list(tokens)])).logits[0]
    scored = (logits[len(prompt) - 1 : -1].float() / temperature).log_softmax(-1)
    return scored.gather(1, torch.tensor(tokens)[:, None])[:, 0].tolist()


def test_greedy_equals_generate(model):
    prompts = mixed_prompts()
    sampling = Sampling(12, temperature=0.0)
    ours = LocalSampler(model).sample(prompts, 2, sampling, [0] * len(prompts))
    for prompt, samples in zip(prompts, ours, strict=True):
        stock = model.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            do_sample=False,
            max_new_tokens=12,
            eos_token_id=None,
            pad_token_id=0,
        )[0, len(prompt) :]
        assert [list(s.token_ids) for s in samples] == [stock.tolist()] * 2


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probs_equal_a_plain_forward(model, temperature):
    prompts = mixed_prompts()
    sampling = Sampling(20, temperature, stop_ids=(3, 7, 11), log_probs=True)
    drawn = LocalSampler(model).sample(prompts, 5, sampling, range(len(prompts)))
    lengths = set()
    for prompt, samples in zip(prompts, drawn, strict=True):
        for sample in samples:
            expected = plain_log_probs(model, prompt, sample.token_ids, temperature)
            assert np.abs(np.subtract(sample.log_probs, expected)).max() < 1e-4
            lengths.add(len(sample.token_ids))
    assert len(lengths) > 5, "samples ended together: dropping rows went untested"


def test_samples_do_not_depend_on_what_shares_the_batch(model):
    prompts, sampling = mixed_prompts(), Sampling(10, stop_ids=(5, 6))
    seeds = [100 + i for i in range(len(prompts))]
    together = LocalSampler(model).sample(prompts, 6, sampling, seeds)
    alone = [
        LocalSampler(model).sample([p], 6, sampling, [s])[0]
        for p, s in zip(prompts, seeds, strict=True)
    ]
    assert together == alone
    backwards = LocalSampler(model).sample(prompts[::-1], 6, sampling, seeds[::-1])
    assert backwards[::-1] == alone
    fewer = LocalSampler(model).sample(prompts, 2, sampling, seeds)
    assert fewer == [samples[:2] for samples in alone]
    more = Sampling(10, stop_ids=(5, 6), first_sample=2)
    topped_up = LocalSampler(model).sample(prompts, 4, more, seeds)
    assert topped_up == [samples[2:] for samples in alone]


def test_memory_limit_changes_nothing_but_the_batches(model):
    prompts, sampling = mixed_prompts(), Sampling(10, stop_ids=(5, 6))
    sampler = LocalSampler(model)
    free = sampler.sample(prompts, 4, sampling, range(len(prompts)))
    sampler.cache_bytes = 2 * 100 * sampler._token_bytes()
    waves = sampler._waves([tuple(p) for p in prompts], range(len(prompts)))
    sizes = [len(wave) for wave in waves]
    assert len(sizes) > 2 and sum(sizes) == len(prompts)
    assert sampler.sample(prompts, 4, sampling, range(len(prompts))) == free


def test_frequencies_equal_the_softmax(model):
    prompt, n = ids(12, 8), 6000
    drawn = LocalSampler(model).sample([prompt], n, Sampling(2), [7])[0]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt])).logits[0, -1]
    probs = logits.double().softmax(-1).numpy()
    first = np.bincount([s.token_ids[0] for s in drawn], minlength=VOCAB)
    assert pooled_p_value(first, probs * n) > 1e-3
    # The second token, given the most frequent first one.
    top = int(first.argmax())
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*prompt, top]])).logits[0, -1]
    follow = [s.token_ids[1] for s in drawn if s.token_ids[0] == top]
    counts = np.bincount(follow, minlength=VOCAB)
    expected = logits.double().softmax(-1).numpy() * len(follow)
    assert pooled_p_value(counts, expected) > 1e-3


def pooled_p_value(counts, expected):
    """Chi-square with every cell of expectation below 5 pooled into one."""
    small = expected < 5
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    used = expected > 0
    return chisquare(counts[used], expected[used], sum_check=False).pvalue


def test_stop_token_is_kept_and_ends_the_sample(model):
    stop = (1, 2, 3, 4, 5, 6, 7, 8)
    drawn = LocalSampler(model).sample([[9, 10]], 50, Sampling(6, stop_ids=stop), [0])
    assert {s.truncated for s in drawn[0]} == {True, False}
    for sample in drawn[0]:
        assert not set(sample.token_ids[:-1]) & set(stop)
        assert sample.truncated == (sample.token_ids[-1] not in stop)
        assert not sample.truncated or len(sample.token_ids) == 6


def test_report_counts_every_prompt_token_once():
    sampler = LocalSampler(roughened(qwen3))
    prompts = mixed_prompts()
    drawn = sampler.sample(prompts, 3, Sampling(4), range(len(prompts)))
    report = sampler.report
    assert report.prompts == len(prompts) and report.fallbacks == 0
    assert report.prefilled == 90 + 70 + 40 + 9 + 12 + 3
    assert report.prefilled + report.reused == sum(map(len, prompts))
    assert report.decoded == sum(len(s.token_ids) for d in drawn for s in d)
    foreign = LocalSampler(roughened(gpt2))
    foreign.sample(prompts, 3, Sampling(4), range(len(prompts)))
    assert foreign.report.fallbacks == len(prompts)


def test_held_prompts_are_topped_up_without_another_prefill(model):
    prompts, sampling = mixed_prompts(), Sampling(8, stop_ids=(5, 6))
    seeds = list(range(len(prompts)))
    whole = LocalSampler(model).sample(prompts, 6, sampling, seeds)
    sampler = LocalSampler(model)
    with sampler.holding():
        start = sampler.sample(prompts, 4, sampling, seeds)
        paid = sampler.report.prefilled
        some = [1, 5, 8, 0]
        more = sampler.sample(
            [prompts[i] for i in some],
            2,
            replace(sampling, first_sample=4),
            [seeds[i] for i in some],
        )
    assert start == [samples[:4] for samples in whole]
    assert more == [whole[i][4:] for i in some]
    if sampler.decoder.lean:
        assert sampler.report.prefilled == paid
    before = sampler.report.prefilled
    sampler.sample(prompts[:1], 1, sampling, [0])
    assert sampler.report.prefilled == before + 20


def test_live_weights_are_followed_and_modes_restored():
    model = roughened(llama)
    sampler = LocalSampler(model)
    before = sampler.sample([[1, 2, 3]], 4, Sampling(8), [0])
    model.train()
    model.model.layers[0].eval()
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight.normal_()
    after = sampler.sample([[1, 2, 3]], 4, Sampling(8), [0])
    assert after != before
    assert after == LocalSampler(model).sample([[1, 2, 3]], 4, Sampling(8), [0])
    assert model.training and not model.model.layers[0].training


def test_large_and_negative_seeds():
    sampler = LocalSampler(roughened(llama))
    drawn = sampler.sample([[1, 2]] * 3, 2, Sampling(6), [2**64 - 1, -1, 2**70 - 1])
    assert drawn[0] == drawn[1] == drawn[2]


def test_no_prompts_and_bad_input():
    sampler = LocalSampler(roughened(llama))
    assert sampler.sample([], 4, Sampling(), []) == []
    with pytest.raises(ValueError, match="2 prompts, but 1 seeds"):
        sampler.sample([[1], [2]], 4, Sampling(), [0])
    with pytest.raises(ValueError, match="empty prompt"):
        sampler.sample([[]], 4, Sampling(), [0])


def test_is_a_sampler(model):
    assert isinstance(LocalSampler(model), Sampler)
