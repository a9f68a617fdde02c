import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampler, Sampling


def small_model(family: str, seed: int = 0, scale: float = 1.0):
    shape = dict(
        vocab_size=61,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    torch.manual_seed(seed)
    if family == "qwen3":
        model = Qwen3ForCausalLM(Qwen3Config(head_dim=16, **shape))
    else:
        model = LlamaForCausalLM(LlamaConfig(**shape))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.2 * scale)
    return model.eval()


@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_greedy_equals_generate(family):
    model = small_model(family)
    prompts = [[5, 6, 7], [5, 6, 7, 8, 9], [1, 2, 3, 4], [5, 6, 1]]
    ours = LocalSampler(model).sample(
        prompts, 2, Sampling(12, temperature=0.0), seeds=[0] * 4
    )
    for prompt, samples in zip(prompts, ours, strict=True):
        stock = model.generate(
            torch.tensor([prompt]),
            do_sample=False,
            max_new_tokens=12,
            eos_token_id=None,
        )[0, len(prompt) :]
        assert [list(s.token_ids) for s in samples] == [stock.tolist()] * 2


def test_is_a_sampler():
    assert isinstance(LocalSampler(small_model("llama")), Sampler)
