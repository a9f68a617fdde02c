"""Small random models and token ids for the tests of the decoding engines."""

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from pivotlab.engines.decoder import Decoder

SHAPE = dict(
    vocab_size=97,
    hidden_size=48,
    intermediate_size=64,
    num_attention_heads=6,
    num_key_value_heads=2,
    max_position_embeddings=512,
)


def toy_decoder(kind, layers):
    """A decoder of "qwen3" or "llama" whose weights are large enough to matter."""
    torch.manual_seed(1)
    shape = {**SHAPE, "num_hidden_layers": layers}
    if kind == "qwen3":
        model = Qwen3ForCausalLM(Qwen3Config(head_dim=16, **shape))
    else:
        model = LlamaForCausalLM(LlamaConfig(**shape))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0).add_(0.1 * torch.randn_like(parameter))
    return Decoder(model.eval())


def ids(length, seed):
    return tuple(np.random.default_rng(seed).integers(0, 97, length).tolist())
