import numpy as np
import pytest
import torch
from scipy import stats

from pivotlab.engines.noise import derive_seed, draw, splitmix64, uniform

# Reference outputs of the published C code: the n-th output of a generator started at x
# is the output function at x + n * 0x9E3779B97F4A7C15.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def test_splitmix64_matches_the_published_sequence():
    with np.errstate(over="ignore"):
        states = np.uint64(1234567) + np.arange(3, dtype=np.uint64) * GOLDEN
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert splitmix64(states).tolist() == expected
    assert int(splitmix64(0)) == 0xE220A8397B1DCDAF


def test_uniform_is_vectorised_elementwise():
    seeds, samples, steps = np.array([0, -1, 2**62]), np.arange(3), np.array([7, 8, 9])
    together = uniform(seeds, samples, steps)
    alone = [
        uniform(int(s), int(j), int(t))
        for s, j, t in zip(seeds, samples, steps, strict=True)
    ]
    assert together.tolist() == alone
    assert uniform(2**64 + 5, 0, 0) == uniform(5, 0, 0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_uniform_along_each_coordinate(axis):
    coordinates = [3, 5, 11]
    coordinates[axis] = np.arange(50_000)
    values = uniform(*coordinates)
    assert values.min() > 0 and values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02


def test_coordinates_are_not_interchangeable():
    assert len({float(uniform(*p)) for p in [(1, 2, 3), (3, 2, 1), (2, 1, 3)]}) == 3
    assert derive_seed(1, 2) != derive_seed(2, 1)
    assert derive_seed(0, 1) != derive_seed(0, 1, 0)
    assert 0 <= derive_seed(-5, 3) < 2**63


def test_draw_inverts_the_cumulative_distribution():
    probs = torch.tensor([[0.2, 0.0, 0.5, 0.3]]).repeat(4, 1)
    tokens, log_probs = draw(probs.log(), 1.0, [0.19, 0.21, 0.69, 0.71])
    assert tokens.tolist() == [0, 2, 2, 3]
    expected = torch.tensor([0.2, 0.5, 0.5, 0.3]).log()
    torch.testing.assert_close(log_probs, expected)


def test_draw_at_the_ends_of_the_interval_never_leaves_the_support():
    logits = torch.full((2, 50_000), -1e4)
    logits[:, 17] = 0.0
    tokens, _ = draw(logits, 1.0, [2.0**-54, 1 - 2.0**-53])
    assert tokens.tolist() == [17, 17]


def test_draw_greedy_and_temperature():
    logits = torch.tensor([[0.0, 2.0, 1.0]])
    token, log_prob = draw(logits, 0.0)
    assert token.item() == 1
    torch.testing.assert_close(log_prob, logits.log_softmax(-1)[:, 1])
    token, log_prob = draw(logits, 0.5, [0.5])
    torch.testing.assert_close(
        log_prob[0], (logits / 0.5).log_softmax(-1)[0, token.item()]
    )


def test_draw_frequencies_match_the_distribution():
    logits = torch.tensor([1.0, 0.0, -1.0, 0.5])
    n = 40_000
    tokens, _ = draw(logits.expand(n, -1), 1.0, uniform(9, np.arange(n), 0))
    counts = np.bincount(tokens.numpy(), minlength=4)
    assert (
        stats.chisquare(counts, logits.double().softmax(-1).numpy() * n).pvalue > 1e-3
    )
