"""Several verdicts on one action as one reward: gates that must pass, weighted parts.

reward = (1 if every gate gives its full reward, else 0) * sum(w_i r_i) / sum(w_i)

A gate alone never earns anything: without a weighted part that succeeds the reward is
0, so a format check cannot make a success of an empty answer. The parts are reported
apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pivotlab.records import Candidate, Message, Verdict
from pivotlab.verifiers.protocol import Verifier


class CombinedVerifier:
    """Categories: `gate:<name>:<its category>` for the first gate that fails, else
    `parts:<name>=<its category>;...`. The detail is JSON with every part's verdict.
    """

    name = "combined"

    def __init__(
        self,
        parts: Mapping[str, tuple[Verifier, float]],
        gates: Mapping[str, Verifier] | None = None,
    ):
        """
        Args:
            parts: name -> (verifier, weight > 0).
            gates: name -> verifier whose reward must be 1.

        Raises:
            ValueError: there is no part, or a weight is not positive.
        """
        if not parts or any(not weight > 0 for _, weight in parts.values()):
            raise ValueError(f"combine needs parts with weights > 0, got {dict(parts)}")
        self.parts = dict(parts)
        self.gates = dict(gates or {})
        named = {n: (v, f"*{w:g}") for n, (v, w) in self.parts.items()}
        named |= {n: (v, "!") for n, v in self.gates.items()}
        self.version = ",".join(
            f"{n}={v.name}-{v.version}{mark}" for n, (v, mark) in sorted(named.items())
        )

    def verdicts(self, candidate: Candidate, action: Message) -> dict[str, Verdict]:
        """Verdict of every gate and part, by name."""
        all_of = {**self.gates, **{n: v for n, (v, _) in self.parts.items()}}
        return {name: v.verify(candidate, action) for name, v in all_of.items()}

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """Weighted mean of the parts in [0, 1], 0 where a gate fails."""
        found = self.verdicts(candidate, action)
        detail = json.dumps({n: [v.reward, v.category] for n, v in found.items()})
        for name in self.gates:
            if found[name].reward < 1.0:
                category = f"gate:{name}:{found[name].category}"
                return Verdict(0.0, category, detail)
        total = sum(weight for _, weight in self.parts.values())
        reward = sum(w * found[n].reward for n, (_, w) in self.parts.items()) / total
        shown = ";".join(f"{n}={found[n].category}" for n in self.parts)
        return Verdict(min(1.0, max(0.0, reward)), f"parts:{shown}", detail)
