"""Verifiers by name, one's own among them."""

import pytest

from pivotlab.experiments.logs import verifier_choice
from pivotlab.verifiers.protocol import Verifier

OWN = """
from pivotlab.records import Verdict


class Short:
    name, version = "short", "1"

    def verify(self, candidate, action):
        return Verdict(float(len(action.content) < 9), "length")


ready = Short()
no_verifier = 3
"""


@pytest.mark.parametrize("name", verifier_choice.CHOICES)
def test_every_name_is_a_verifier(name):
    assert isinstance(verifier_choice.choose(name), Verifier)


@pytest.mark.parametrize("attribute", ["Short", "ready"])
def test_an_own_class_or_object(tmp_path, monkeypatch, attribute):
    (tmp_path / f"own_{attribute}.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    assert verifier_choice.choose(f"own_{attribute}:{attribute}").name == "short"


@pytest.mark.parametrize(
    "name, said",
    [
        ("exakt", "choose one of by domain"),
        ("nowhere:Thing", "cannot be imported"),
        ("own_bad:Missing", "cannot be imported"),
        ("own_bad:no_verifier", "needs `name`"),
    ],
)
def test_what_cannot_be_had_is_told(tmp_path, monkeypatch, name, said):
    (tmp_path / "own_bad.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=said):
        verifier_choice.choose(name)
