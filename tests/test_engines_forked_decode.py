import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from pivotlab.engines.decoder import Decoder
from pivotlab.engines.forked_decode import ForkedDecode


def test_logits_equal_a_plain_forward_while_samples_leave():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=61, n_positions=128, n_embd=32, n_layer=2, n_head=4)
    model = GPT2LMHeadModel(config).eval()
    episode = tuple(np.random.default_rng(0).integers(0, 61, 40).tolist())
    given = [episode[:9], episode, episode[:1], (5, 6, 7)]
    with torch.inference_mode():
        part = ForkedDecode(Decoder(model), given, 2)
        whole = [list(p) for p in given for _ in range(2)]
        logits = part.first_logits()
        for step in range(4):
            plain = [model(torch.tensor([w])).logits[0, -1] for w in whole]
            torch.testing.assert_close(logits, torch.stack(plain), atol=1e-4, rtol=0)
            if step == 2:
                part.keep(torch.tensor([0, 3, 6]))
                whole = [whole[i] for i in (0, 3, 6)]
            tokens = torch.arange(len(whole)) + step
            whole = [w + [int(t)] for w, t in zip(whole, tokens, strict=True)]
            logits = part.step(tokens)
