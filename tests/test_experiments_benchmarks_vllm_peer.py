"""Two samplers on the same turns; the peer starts every repeat with an empty cache."""

import time

import pytest

from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.experiments.benchmarks.subjects import SIZES
from pivotlab.experiments.benchmarks.vllm_peer import against_vllm, engine_speed


class Slow:
    """Takes the same time for every call and remembers what it was asked."""

    def __init__(self, seconds, log):
        self.seconds, self.log = seconds, log

    def sample(self, prompts, n, sampling, seeds):
        self.log.append((len(prompts), n, sampling.max_new_tokens))
        time.sleep(self.seconds)
        return [[Sample((1,), False)] * n for _ in prompts]


def test_the_ratio_is_that_of_the_rates_and_the_cache_is_emptied_before_each_repeat():
    ours, peer = [], []
    (row,) = engine_speed(
        Slow(0.02, ours), Slow(0.08, peer), lambda: peer.append("forget"),
        [[1, 2], [1, 2, 3, 4]], Sampling(6), k=3, repeats=3, peer_name="slow",
        model="none", trajectories=1,
    )  # fmt: skip
    assert row["ratio"] == pytest.approx(4, rel=0.3) and row["unit"] == "turns/s"
    assert row["ours"] == pytest.approx(2 / 0.02, rel=0.3)
    assert row["setting"] == "model=none trajectories=1 turns=2 prompt=3 K=3 new=6"
    assert ours == [(2, 3, 6)] * 4, "one warm-up and three repeats"
    assert peer == ["forget", (2, 3, 6)] * 4


def test_without_vllm_the_extra_is_named():
    try:
        import vllm  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"pivotlab\[vllm\]"):
            against_vllm("tiny", SIZES["smoke"])


@pytest.mark.vllm
def test_a_row_against_the_real_engine():
    (row,) = against_vllm("tiny", SIZES["smoke"])
    assert row["peer_name"].startswith("vLLM") and row["ratio"] > 0
