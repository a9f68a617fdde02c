import numpy as np
import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from pivotlab.engines.noise import derive_seed, draw, uniform
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.rollouts.players import CachedPlayer, SamplerPlayer, common_prefix

SAMPLING = Sampling(max_new_tokens=6, temperature=1.0, stop_ids=(3, 5, 8))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    config = Qwen3Config(
        vocab_size=23,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
    )
    model = Qwen3ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4.0)
    return model


def plain_turn(model, prompt, seed, turn, sampling):
    """One turn by uncached forward passes."""
    ids, logs = list(prompt), []
    for step in range(sampling.max_new_tokens):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[:, -1]
        noise = uniform(np.array([seed]), np.array([turn]), step)
        token, log = draw(logits, sampling.temperature, noise)
        ids, logs = [*ids, token.item()], [*logs, log.item()]
        if ids[-1] in sampling.stop_ids:
            break
    return ids[len(prompt) :], logs


def agree(sample, expected, sampling=SAMPLING):
    ids, logs = expected
    assert list(sample.token_ids) == ids
    assert sample.truncated == (ids[-1] not in sampling.stop_ids)
    np.testing.assert_allclose(sample.log_probs, logs, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_episodes_equal_uncached_play(model, temperature):
    sampling = Sampling(6, temperature, (3, 5, 8))
    player = CachedPlayer(model)
    prompts = {0: [1, 2], 1: [4, 6, 7, 9], 2: [1, 2], 3: [10], 4: [11, 12, 13]}
    seeds = {e: 100 + e for e in prompts}
    for turn in range(5):
        playing = [e for e in prompts if turn <= e + 1]
        samples = player.take_turns(
            playing,
            [prompts[e] for e in playing],
            [seeds[e] for e in playing],
            [turn] * len(playing),
            sampling,
        )
        for episode, sample in zip(playing, samples, strict=True):
            expected = plain_turn(
                model, prompts[episode], seeds[episode], turn, sampling
            )
            agree(sample, expected, sampling)
            extra = [14 + (turn + episode + i) % 8 for i in range(1 + episode)]
            prompts[episode] = prompts[episode] + list(sample.token_ids) + extra
        player.forget([e for e in playing if turn == e + 1])
    assert player.spent["rewritten"] == 0


def test_each_token_is_run_once(model):
    player = CachedPlayer(model)
    prompt = [1, 2, 4, 6]
    for turn in range(4):
        sample = player.take_turns([0], [prompt], [9], [turn], SAMPLING)[0]
        run = player.spent["prefilled"] + player.spent["sampled"] - turn - 1
        assert run == len(prompt) + len(sample.token_ids) - 1
        prompt = prompt + list(sample.token_ids) + [7, 7]


def test_shared_prompts_are_run_once(model):
    player = CachedPlayer(model)
    samples = player.take_turns(
        [0, 1, 2], [[1, 2, 4, 6]] * 3, [7, 8, 9], [0] * 3, SAMPLING
    )
    assert player.spent["prefilled"] == 3 + 3
    for sample, seed in zip(samples, (7, 8, 9), strict=True):
        agree(sample, plain_turn(model, [1, 2, 4, 6], seed, 0, SAMPLING))


def test_rewritten_prompts_and_late_arrivals(model):
    player = CachedPlayer(model)
    player.take_turns([0, 1], [[1, 2, 4, 6, 7], [9, 10]], [0, 1], [0, 0], SAMPLING)
    prompts = [[1, 2, 11, 12], [13, 14, 15], [9]]
    samples = player.take_turns([0, 2, 1], prompts, [5, 6, 7], [1, 0, 1], SAMPLING)
    for sample, prompt, seed, turn in zip(
        samples, prompts, (5, 6, 7), (1, 0, 1), strict=True
    ):
        agree(sample, plain_turn(model, prompt, seed, turn, SAMPLING))
    assert player.spent["rewritten"] > 0


def test_an_episode_does_not_depend_on_its_batch(model):
    rng = np.random.default_rng(0)
    prompts = [rng.integers(9, 23, rng.integers(2, 9)).tolist() for _ in range(12)]
    together = CachedPlayer(model).take_turns(
        range(12), prompts, range(12), [3] * 12, SAMPLING
    )
    for i in (0, 5, 11):
        alone = CachedPlayer(model).take_turns([0], [prompts[i]], [i], [3], SAMPLING)
        assert alone[0].token_ids == together[i].token_ids


def test_sampler_player_derives_one_seed_per_turn():
    class Echo:
        def sample(self, prompts, n, sampling, seeds):
            assert n == 1
            return [[Sample((s % 1000,), False)] for s in seeds]

    samples = SamplerPlayer(Echo()).take_turns(
        [0, 1], [[1], [2]], [5, 6], [0, 3], SAMPLING
    )
    expected = [derive_seed(5, 0) % 1000, derive_seed(6, 3) % 1000]
    assert [s.token_ids[0] for s in samples] == expected


def test_common_prefix():
    assert common_prefix([1, 2, 3], [1, 2, 4, 5]) == 2
    assert common_prefix([1, 2], [1, 2, 3]) == 2
    assert common_prefix([], [1]) == 0
