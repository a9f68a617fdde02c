"""WebShop actions: `search[query]` and `click[value]`.

Search queries are tolerant ("washable" serves "wash"), because many queries find the
same products; a click names one thing on the page and is exact up to case, because
clicking another value is another purchase. A candidate that knows its state (its
context has an acceptable set, as episodes of this library have) is judged by what the
action does there, see `shop_state`; the rest of this module is for logs.
"""

from __future__ import annotations

from pivotlab.environments.shop import actions
from pivotlab.records import Candidate, Message, Verdict
from pivotlab.trajectories import react
from pivotlab.verifiers import text
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.shop_state import ShopStateVerifier


class ShopVerifier:
    """Categories: same_click, same_search (reward 1); no_action, other_kind,
    other_click, other_search, bad_demonstration; those of `shop_state` for candidates
    that know their state.
    """

    name = "shop"
    version = "1"

    def __init__(self, floor: float = 0.6, state: Verifier | None = None):
        """
        Args:
            floor: least share of common content words of two queries, in [0, 1].
            state: judges candidates that know their state; the generated catalogue's
                by default.
        """
        self.floor = floor
        self.state = state or ShopStateVerifier()

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the action does on the page what the expert's action does."""
        if candidate.context.get("acceptable"):
            return self.state.verify(candidate, action)
        gold, said = action_of(candidate.expert), action_of(action)
        if gold is None:
            return Verdict(0.0, "bad_demonstration", candidate.expert.content[:200])
        if said is None:
            return Verdict(0.0, "no_action", action.content[:200])
        detail = f"{said[0]}[{said[1]}]"[:300]
        if gold[0] != said[0]:
            return Verdict(0.0, "other_kind", detail)
        if gold[0] == "click":
            right = text.plain(gold[1]).casefold() == text.plain(said[1]).casefold()
        else:
            right = text.similarity(gold[1], said[1]) >= self.floor
        category = f"{'same' if right else 'other'}_{gold[0]}"
        return Verdict(float(right), category, detail)


def action_of(message: Message) -> tuple[str, str] | None:
    """(kind, value) of the first action of a turn, None where it has none."""
    return actions.read(react.cut_run_on(message.content)[0])
