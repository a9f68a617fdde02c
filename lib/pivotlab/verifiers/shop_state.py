"""Functional verdict of the shop: what an action does at the state it is given at.

A click is right if the honest shopper might have made it there
(`candidate.context["acceptable"]`): any fitting product of the page, the wanted options
in any order. A query is right if its first page shows a product the honest shopper
would open (`context["serving"]`), whatever its words: the search is carried out.
"""

from __future__ import annotations

from collections.abc import Callable

from pivotlab.environments.shop import actions
from pivotlab.environments.shop import catalogue as generated
from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.records import Candidate, Message, Verdict
from pivotlab.trajectories import react

#: Longer queries are broken output.
_LONGEST = 1_000


class ShopStateVerifier:
    """Categories: acceptable, serving_query (reward 1); no_action, other_query,
    legal_but_wrong, inadmissible, and no_context for a candidate without a state.
    """

    name = "shop_state"
    version = "1"

    def __init__(self, catalogue: Callable[[], Catalogue] = generated):
        """
        Args:
            catalogue: gives the catalogue in which queries are carried out; called when
                the first one is judged.
        """
        self.catalogue = catalogue

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the action is one the honest shopper might take, or as good."""
        context = candidate.context
        acceptable = context.get("acceptable")
        if not acceptable:
            return Verdict(0.0, "no_context", f"{candidate.uid} has no acceptable set")
        said = actions.read(react.cut_run_on(action.content)[0])
        if said is None:
            return Verdict(0.0, "no_action", action.content[:200])
        plain = actions.Action(said.kind, actions.plain(said.value))
        detail = f"{plain.kind}[{plain.value}]"[:300]
        if plain in _plain(acceptable):
            return Verdict(1.0, "acceptable", detail)
        if plain.kind == "search" and context.get("phase") == "search":
            serving = tuple(context.get("serving", ()))
            short = len(plain.value) <= _LONGEST
            good = short and self.catalogue().shows(plain.value, serving)
            return Verdict(
                float(good), "serving_query" if good else "other_query", detail
            )
        legal = plain in _plain(context.get("admissible", ()))
        return Verdict(0.0, "legal_but_wrong" if legal else "inadmissible", detail)


def _plain(texts: list[str] | tuple[str, ...]) -> set[actions.Action]:
    read = (actions.read(text) for text in texts)
    return {actions.Action(a.kind, actions.plain(a.value)) for a in read if a}
