import pytest
from test_rollouts_prompts import make_tokenizer

from pivotlab.engines.protocol import Sample
from pivotlab.evaluation.held_out import held_out_rewards, mu_table
from pivotlab.records import Candidate, Message, Verdict
from pivotlab.rendering import Renderer


class Equals:
    """Reward 1 when the action is the expert's, or any of a set."""

    version = "1"

    def __init__(self, name, words=()):
        self.name, self.words = name, words

    def verify(self, candidate, action):
        right = action.content in {candidate.expert.content, *self.words}
        return Verdict(float(right), "right" if right else "wrong")


class Fixed:
    """Samples the same four actions everywhere; the last two do not count."""

    def __init__(self, renderer):
        self.renderer = renderer

    def sample(self, prompts, n, sampling, seeds):
        assert n == 4 and sampling.temperature == 1.0
        end = (self.renderer.end_of_turn,)
        look, wait = (tuple(self.renderer.encode(t)) for t in ("look", "wait"))
        drawn = [
            Sample(look + end, False),
            Sample(wait + end, False),
            Sample(look, True),
            Sample((), False, failure="refused"),
        ]
        return [drawn for _ in prompts]


def candidate(uid, expert, trajectory):
    prefix = (Message("user", "You see a mug 1."),)
    context = {"phase": "search"} if expert == "look" else {}
    said = Message("assistant", expert)
    return Candidate(uid, trajectory, 0, prefix, said, context=context)


CANDIDATES = [candidate("a", "look", "t"), candidate("b", "run", "u")]


def test_rewards_and_their_means_by_hand():
    renderer = Renderer(make_tokenizer())
    rewards = held_out_rewards(
        Fixed(renderer),
        renderer,
        CANDIDATES,
        [Equals("strict"), Equals("both", ["wait"])],
    )
    mu = rewards.set_index(["uid", "verifier"])["mu"]
    assert mu[("a", "strict")] == 0.25 and mu[("a", "both")] == 0.5
    assert mu[("b", "strict")] == 0.0 and mu[("b", "both")] == 0.25
    assert rewards["phase"].tolist() == ["search", "search", "", ""]
    table = mu_table(rewards).set_index("verifier")
    assert table.loc["strict", ["turns", "mu", "zero_signal"]].tolist() == [
        2,
        0.125,
        0.5,
    ]
    assert table.loc["strict", "lo"] == 0.0 and table.loc["strict", "hi"] == 0.25


def test_no_candidates_is_an_error():
    renderer = Renderer(make_tokenizer())
    with pytest.raises(ValueError, match="no held-out candidates"):
        held_out_rewards(Fixed(renderer), renderer, [], [Equals("strict")])
