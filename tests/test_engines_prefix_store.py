import pytest
import torch
from decoder_toys import ids, toy_decoder

from pivotlab.engines import prefix_store
from pivotlab.engines.prefix_plan import plan_prefixes
from pivotlab.engines.prefix_store import PrefixStore, stack_alike


@pytest.fixture(scope="module", params=["qwen3", "llama"])
def decoder(request):
    return toy_decoder(request.param, layers=3)


def forest():
    """Chains below two levels of shared trunks, and loners of one and many tokens."""
    system, task = ids(50, 0), ids(40, 1)
    episode = system + task + ids(60, 2)
    prompts = [episode[:n] for n in (95, 110, 150)]
    prompts += [system + task + ids(30, 3), system + ids(44, 4), system, ids(1, 5)]
    return [*prompts, ids(140, 6)]


@pytest.mark.parametrize("pass_tokens, block", [(10_000, 128), (64, 16), (7, 3)])
def test_logits_equal_a_plain_forward(decoder, monkeypatch, pass_tokens, block):
    monkeypatch.setattr(prefix_store, "PASS_SIZE", pass_tokens * 48)
    monkeypatch.setattr(prefix_store, "QUERY_BLOCK", block)
    prompts = forest()
    plan = plan_prefixes(prompts)
    assert max(node.level for node in plan.nodes) == 2
    with torch.inference_mode():
        store = PrefixStore(decoder, plan)
        ours = store.logits(range(len(prompts)))
        for row, prompt in zip(ours, prompts, strict=True):
            plain = decoder.model(input_ids=torch.tensor([prompt])).logits[0, -1]
            assert (row - plain).abs().max() < 1e-4


def test_only_leaves_stay_in_memory(decoder):
    plan = plan_prefixes(forest())
    with torch.inference_mode():
        store = PrefixStore(decoder, plan)
    parents = {node.parent for node in plan.nodes}
    assert set(store.place) == set(range(len(plan.nodes))) - parents
    for leaf, (block, row) in store.place.items():
        assert block.keys.shape[3] >= len(plan.nodes[leaf].ids)
        assert row < block.keys.shape[1]


def test_stacking_keeps_padding_below_a_quarter():
    prompts = [ids(n, n) for n in (20, 21, 22, 23, 60, 61, 200)]
    prompts += [prompts[0]] * 2
    chain = ids(90, 7)
    prompts += [chain[:30], chain]
    plan = plan_prefixes(prompts)
    groups = [
        sorted(len(plan.nodes[i].ids) for i in group)
        for group in stack_alike(plan, list(range(len(plan.nodes))))
    ]
    # 20 is read by three prompts and the chain at two depths: both stand alone.
    assert sorted(groups) == [[20], [21, 22, 23], [60, 61], [90], [200]]
