"""Gates and weights by hand, and no success from form alone."""

import json

import pytest
from verdict_rows import candidate, say

from pivotlab.records import Verdict
from pivotlab.verifiers.combine import CombinedVerifier
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier


class Fixed:
    """The same verdict for everything."""

    version = "1"

    def __init__(self, name, reward):
        self.name, self.reward = name, reward

    def verify(self, row, action):
        return Verdict(self.reward, f"is_{self.reward:g}")


ROW = candidate(say("go left"))


def test_weighted_mean_by_hand():
    mixed = CombinedVerifier({"a": (Fixed("a", 1.0), 3.0), "b": (Fixed("b", 0.5), 1.0)})
    verdict = mixed.verify(ROW, say("x"))
    assert verdict.reward == pytest.approx((3 * 1 + 1 * 0.5) / 4)
    assert verdict.category == "parts:a=is_1;b=is_0.5"
    assert json.loads(verdict.detail) == {"a": [1.0, "is_1"], "b": [0.5, "is_0.5"]}


def test_a_failing_gate_takes_everything():
    parts = {"a": (Fixed("a", 1.0), 1.0)}
    gated = CombinedVerifier(parts, {"form": Fixed("form", 0.9)})
    verdict = gated.verify(ROW, say("x"))
    assert (verdict.reward, verdict.category) == (0.0, "gate:form:is_0.9")
    assert "a" in json.loads(verdict.detail)


@pytest.mark.case(id="V37")
def test_form_alone_is_never_a_success():
    gated = CombinedVerifier(
        {"what": (ExactVerifier(), 1.0)}, {"form": Fixed("f", 1.0)}
    )
    assert gated.verify(ROW, say("<think></think>a")).reward == 0.0
    assert gated.verify(ROW, say("go left")).reward == 1.0
    with pytest.raises(ValueError, match="weights > 0"):
        CombinedVerifier({}, {"form": Fixed("f", 1.0)})
    with pytest.raises(ValueError, match="weights > 0"):
        CombinedVerifier({"a": (Fixed("a", 1.0), 0.0)})


def test_parts_are_reported_apart():
    parts = {"exact": (ExactVerifier(), 1.0), "message": (MessageVerifier(), 1.0)}
    mixed = CombinedVerifier(parts)
    found = mixed.verdicts(ROW, say("please go left"))
    assert {n: v.category for n, v in found.items()} == {
        "exact": "text_differs",
        "message": "similar_text",
    }
    assert mixed.verify(ROW, say("please go left")).reward == 0.5


def test_the_version_names_parts_weights_and_gates():
    one = CombinedVerifier({"a": (Fixed("a", 1.0), 1.0)})
    two = CombinedVerifier({"a": (Fixed("a", 1.0), 2.0)})
    assert one.version != two.version and isinstance(one, Verifier)
