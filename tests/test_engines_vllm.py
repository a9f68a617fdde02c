"""The vLLM sampler: sharding everywhere, the contract where vLLM is installed.

Run the contract tests with `pytest -m vllm tests/test_engines_vllm.py`, with
`PIVOTLAB_VLLM_MODEL` naming a local model folder.
"""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.engines.vllm import VllmSampler, shards


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=30), st.integers(1, 5)
)
def test_shards_partition_the_prompts_in_sorted_order(prompts, count):
    parts = shards(prompts, count)
    flat = [i for part in parts for i in part]
    assert sorted(flat) == list(range(len(prompts))) and len(parts) == count
    assert [prompts[i] for i in flat] == sorted(prompts)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_turns_of_a_trajectory_stay_together():
    deep = [[trajectory, *range(depth)] for depth in range(8) for trajectory in (7, 9)]
    first, second = shards(deep, 2)
    assert {deep[i][0] for i in first} == {7} and {deep[i][0] for i in second} == {9}


def test_a_missing_vllm_names_the_extra():
    pytest.importorskip("torch")
    try:
        import vllm  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"pivotlab\[vllm\]"):
            VllmSampler("anything")


@pytest.fixture(scope="module")
def engine():
    folder = os.environ.get("PIVOTLAB_VLLM_MODEL")
    if not folder:
        pytest.fail("set PIVOTLAB_VLLM_MODEL to a local model folder")
    return VllmSampler(folder, max_model_len=512, dtype="float32")


@pytest.fixture(scope="module")
def prompts():
    # Longer than two blocks of 128 tokens, the block size on CPUs.
    shared = [11, 12, 13, 14, 15, 16, 17, 18] * 40
    return [shared + [20 + i] * (4 * i + 1) for i in range(4)]


@pytest.mark.vllm
def test_contract_shapes_and_order(engine, prompts):
    assert isinstance(engine, Sampler)
    drawn = engine.sample(prompts, 3, Sampling(max_new_tokens=5), range(4))
    assert [len(d) for d in drawn] == [3] * 4
    assert all(1 <= len(s.token_ids) <= 5 for d in drawn for s in d)
    alone = [
        engine.sample([p], 1, Sampling(5, temperature=0.0), [0])[0] for p in prompts
    ]
    together = engine.sample(prompts, 1, Sampling(5, temperature=0.0), [0] * 4)
    assert [a[0].token_ids for a in alone] == [t[0].token_ids for t in together]


@pytest.mark.vllm
def test_contract_stop_token_is_kept(engine, prompts):
    greedy = engine.sample(prompts[:1], 1, Sampling(5, temperature=0.0), [0])[0][0]
    assert greedy.truncated
    stop = greedy.token_ids[2]
    first = greedy.token_ids.index(stop)
    cut = engine.sample(
        prompts[:1], 1, Sampling(5, temperature=0.0, stop_ids=(stop,)), [0]
    )[0][0]
    assert cut.token_ids == greedy.token_ids[: first + 1] and not cut.truncated


@pytest.mark.vllm
def test_contract_log_probs_equal_the_transformers_model(engine, prompts):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        os.environ["PIVOTLAB_VLLM_MODEL"], dtype=torch.float32
    )
    sample = engine.sample(prompts[:1], 1, Sampling(5, log_probs=True), [3])[0][0]
    ids = torch.tensor([[*prompts[0], *sample.token_ids]])
    with torch.no_grad():
        log_probs = model(ids).logits[0, len(prompts[0]) - 1 : -1].log_softmax(-1)
    ours = log_probs.gather(-1, torch.tensor(sample.token_ids)[:, None])[:, 0]
    assert torch.tensor(sample.log_probs) == pytest.approx(ours.numpy(), abs=5e-3)


@pytest.mark.vllm
def test_contract_prefixes_are_found_in_the_cache(engine, prompts):
    engine.sample(prompts, 2, Sampling(2), range(4))
    report = engine.report()
    assert 0.3 < report["hit_rate"] < 1.0, report
