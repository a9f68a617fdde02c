"""The checker of notebook 04 accepts the truth and names the known mistakes."""

import pytest
from scipy.stats import binom

from pivotlab.experiments.exercises import pivots as exercises_pivots


def answer(low, strict):
    def attempt(rate, k, cut):
        good = [s for s in range(low, k) if (s / k < cut if strict else s / k <= cut)]
        return binom.pmf(good, k, rate).sum()

    return attempt


def test_the_truth_passes_and_a_stub_is_not_attempted(capsys):
    def stub(rate, k, cut):
        raise NotImplementedError

    assert exercises_pivots.kept_probability(answer(1, True))
    assert not exercises_pivots.kept_probability(stub)
    assert "not attempted" in capsys.readouterr().out


@pytest.mark.parametrize(
    "attempt, hint", [(answer(0, True), "no variance"), (answer(1, False), "strict")]
)
def test_mistakes_are_named(attempt, hint):
    with pytest.raises(AssertionError, match=hint):
        exercises_pivots.kept_probability(attempt)
