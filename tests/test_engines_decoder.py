import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from pivotlab.engines.decoder import Decoder

SHAPE = dict(
    vocab_size=61,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
)


def qwen3():
    return Qwen3ForCausalLM(Qwen3Config(**SHAPE, head_dim=12, tie_word_embeddings=True))


def llama():
    return LlamaForCausalLM(LlamaConfig(**SHAPE, tie_word_embeddings=False))


def llama_scaled_rope():
    rope = dict(
        rope_type="llama3",
        rope_theta=1e4,
        factor=8.0,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
        original_max_position_embeddings=32,
    )
    return LlamaForCausalLM(LlamaConfig(**SHAPE, rope_parameters=rope))


def qwen2():
    return Qwen2ForCausalLM(Qwen2Config(**SHAPE))


def gpt2():
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=61, n_positions=256, n_embd=32, n_layer=2, n_head=4)
    )


MODELS = {f.__name__: f for f in (qwen3, llama, llama_scaled_rope, qwen2, gpt2)}


@pytest.fixture(params=MODELS)
def decoder(request):
    torch.manual_seed(0)
    model = MODELS[request.param]().eval()
    with torch.no_grad():
        # Fresh weights give near-uniform attention and unit norms: nothing would notice
        # a wrong position or a missing norm.
        for parameter in model.parameters():
            parameter.mul_(3.0).add_(0.1 * torch.randn_like(parameter))
    return Decoder(model)


def plain(decoder, ids):
    with torch.no_grad():
        return decoder.model(input_ids=torch.tensor([ids])).logits[0].float()


def sequence(length, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 61, (length,), generator=generator).tolist()


def close(actual, expected):
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=2e-5)


def test_families_take_the_expected_path(decoder):
    assert decoder.lean == (decoder.config.model_type != "gpt2")


def test_prefill_equals_plain_forward(decoder):
    rows = [sequence(n, n) for n in (9, 1, 40, 17)]
    cache, last = decoder.prefill(rows)
    close(last, torch.stack([plain(decoder, r)[-1] for r in rows]))
    _, every = decoder.prefill(rows, all_logits=True)
    close(every, torch.cat([plain(decoder, r) for r in rows]))
    assert cache.lengths.tolist() == [9, 1, 40, 17]


def test_episode_of_ragged_turns_equals_plain_forward(decoder):
    rows = [sequence(n, n) for n in (5, 12, 3)]
    cache, _ = decoder.prefill(rows)
    for turn in range(4):
        chosen = [r for r in range(3) if (turn + r) % 3]
        added = {r: sequence(1 + (turn * 7 + r * 5) % 11, turn + r) for r in chosen}
        last = decoder.extend(cache, [added[r] for r in chosen], chosen)
        for row in chosen:
            rows[row] = rows[row] + added[row]
        close(last, torch.stack([plain(decoder, rows[r])[-1] for r in chosen]))
        tokens = torch.tensor([turn, turn + 1, turn + 2])
        last = decoder.step(cache, tokens)
        rows = [row + [t] for row, t in zip(rows, tokens.tolist(), strict=True)]
        close(last, torch.stack([plain(decoder, r)[-1] for r in rows]))
    assert cache.lengths.tolist() == [len(r) for r in rows]


def test_few_rows_of_many_are_gathered_and_leave_the_rest_alone(decoder):
    rows = [sequence(4 + n, n) for n in range(8)]
    cache, _ = decoder.prefill(rows)
    for chosen in ([6], [3, 1], [7, 2, 0, 5]):
        tokens = torch.tensor([11 * (c + 1) % 61 for c in chosen])
        last = decoder.step(cache, tokens, chosen)
        for row, token in zip(chosen, tokens.tolist(), strict=True):
            rows[row] = rows[row] + [token]
        close(last, torch.stack([plain(decoder, rows[r])[-1] for r in chosen]))
    last = decoder.step(cache, torch.arange(8))
    close(last, torch.stack([plain(decoder, r + [t])[-1] for t, r in enumerate(rows)]))


def test_select_compacts_forks_and_cuts(decoder):
    rows = [sequence(n, n) for n in (14, 6, 9)]
    cache, _ = decoder.prefill(rows)
    picked = cache.select([2, 0, 0], [9, 3, 14])
    starts = [rows[2], rows[0][:3], rows[0]]
    last = decoder.extend(picked, [[1, 2], [3], [4, 5, 6]])
    expected = [s + t for s, t in zip(starts, [[1, 2], [3], [4, 5, 6]], strict=True)]
    close(last, torch.stack([plain(decoder, r)[-1] for r in expected]))
    forked = cache.fork(2)
    last = decoder.step(forked, torch.arange(6))
    close(
        last,
        torch.stack([plain(decoder, rows[i // 2] + [i])[-1] for i in range(6)]),
    )
    assert cache.lengths.tolist() == [14, 6, 9]


def test_joined_caches_keep_their_rows(decoder):
    above, below = [sequence(5, 1), sequence(30, 2)], [sequence(11, 3)]
    cache = decoder.prefill(above)[0].join(decoder.prefill(below)[0])
    last = decoder.step(cache, torch.tensor([3, 4, 5]))
    rows = [r + [t] for r, t in zip(above + below, (3, 4, 5), strict=True)]
    close(last, torch.stack([plain(decoder, r)[-1] for r in rows]))


def test_leftovers_beyond_a_row_are_invisible(decoder):
    long, short = sequence(20, 1), sequence(2, 2)
    cache, _ = decoder.prefill([long, short])
    cut = cache.select([0, 1], [4, 2])
    full = cut.select([0, 1])
    full.reserve(64)
    for tensor in (*full.keys, *full.values):
        tensor[0, :, 4:] = 1e6
    last = decoder.extend(full, [[7, 8], [9]])
    close(last[0], plain(decoder, long[:4] + [7, 8])[-1])
    close(last[1], plain(decoder, short + [9])[-1])


def test_a_decoder_follows_its_model_through_training():
    model = qwen3().eval()
    decoder = Decoder(model)
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight.normal_()
    _, last = decoder.prefill([[1, 2, 3]])
    close(last[0], plain(decoder, [1, 2, 3])[-1])


def test_bfloat16_stays_near_the_plain_forward():
    decoder = Decoder(qwen3().to(torch.bfloat16).eval())
    rows = [sequence(n, n) for n in (9, 30)]
    _, last = decoder.prefill(rows)
    expected = torch.stack([plain(decoder, r)[-1] for r in rows])
    torch.testing.assert_close(last, expected, atol=2e-2, rtol=2e-2)


def test_bad_input_is_named():
    decoder = Decoder(qwen3())
    cache, _ = decoder.prefill([[1, 2], [3]])
    with pytest.raises(ValueError, match="non-empty"):
        decoder.extend(cache, [[1], []])
    with pytest.raises(ValueError, match="2 rows"):
        decoder.extend(cache, [[1]])
    with pytest.raises(ValueError, match="cannot cut"):
        cache.select([1], [2])
    windowed = MistralForCausalLM(MistralConfig(**SHAPE, sliding_window=8))
    with pytest.raises(ValueError, match="sliding"):
        Decoder(windowed)
