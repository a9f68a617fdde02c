import numpy as np
import pytest
import torch
from decoder_toys import ids, toy_decoder

from pivotlab.engines import shared_decode
from pivotlab.engines.prefix_plan import plan_prefixes
from pivotlab.engines.prefix_store import PrefixStore
from pivotlab.engines.shared_decode import (
    SharedDecode,
    attention_by_products,
    attention_with_lse,
    decode_order,
)


@pytest.fixture(scope="module", params=["qwen3", "llama"])
def decoder(request):
    return toy_decoder(request.param, layers=2)


def prompts():
    episode = ids(120, 0)
    stacked = [ids(n, n) for n in (30, 32, 33, 35)]
    return [episode[:n] for n in (15, 40, 41, 90, 120)] + stacked


@pytest.mark.parametrize("cheap", [0, 10**6])
def test_logits_equal_a_plain_forward_while_samples_leave(decoder, monkeypatch, cheap):
    monkeypatch.setattr(shared_decode, "CHEAP", cheap)
    given, n = prompts(), 3
    rng = np.random.default_rng(0)
    with torch.inference_mode():
        store = PrefixStore(decoder, plan_prefixes(given))
        order = decode_order(store, range(len(given)))
        part = SharedDecode(store, order, n)
        whole = [list(given[p]) for p in order for _ in range(n)]
        worst = compare(decoder, part.first_logits(), whole)
        units = set()
        for step in range(20):
            tokens = rng.integers(0, 97, len(whole))
            whole = [w + [int(t)] for w, t in zip(whole, tokens, strict=True)]
            logits = part.step(torch.from_numpy(tokens))
            worst = max(worst, compare(decoder, logits, whole))
            units.add(len(part.units))
            if step % 4 == 3:
                kept = np.sort(rng.permutation(len(whole))[: len(whole) * 2 // 3])
                whole = [whole[i] for i in kept]
                part.keep(torch.from_numpy(kept))
    assert worst < 1e-4
    assert max(units) > (3 if cheap == 0 else 1)


def compare(decoder, logits, whole):
    plain = [decoder.model(input_ids=torch.tensor([w])).logits[0, -1] for w in whole]
    return float((logits - torch.stack(plain)).abs().max())


def test_no_prefix_is_copied(decoder):
    given = prompts()
    with torch.inference_mode():
        store = PrefixStore(decoder, plan_prefixes(given))
        part = SharedDecode(store, decode_order(store, range(len(given))), 4)
    held = {
        block.keys.untyped_storage().data_ptr() for block, _ in store.place.values()
    }
    assert {u.keys.untyped_storage().data_ptr() for u in part.units} <= held


@pytest.mark.parametrize("masked", [False, True])
def test_attention_and_its_log_sum_exp(masked):
    torch.manual_seed(0)
    queries, keys = torch.randn(2, 3, 7, 16), torch.randn(2, 3, 40, 16)
    values = torch.randn(2, 3, 40, 16)
    mask = None
    if masked:
        seen = torch.arange(40) < torch.randint(1, 41, (2, 7))[..., None]
        mask = torch.zeros(2, 7, 40).masked_fill(~seen, -torch.inf)[:, None]
    scores = queries.double() @ keys.double().transpose(2, 3) / 4
    scores = scores if mask is None else scores + mask
    expected = scores.softmax(-1) @ values.double(), scores.logsumexp(-1)
    for attention in (attention_with_lse, attention_by_products):
        for ours, exact in zip(
            attention(queries, keys, values, mask), expected, strict=True
        ):
            torch.testing.assert_close(ours.double(), exact, atol=1e-5, rtol=1e-5)
