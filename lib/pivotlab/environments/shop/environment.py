"""The shop behind the environment protocol, with an oracle.

`search[...]` is carried out on the search page only; clicks are those of the page, in
any case. `Step.reward` is WebShop's reward of the purchase, in [0, 1]: 1.0 is success.
As in WebShop, options survive a look at the product's parts and are gone once one is
back at the results.
"""

from __future__ import annotations

import math

from pivotlab.environments.protocol import Step
from pivotlab.environments.shop import actions, oracle, pages
from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.generated import catalogue as generated
from pivotlab.environments.shop.products import Goal, Product
from pivotlab.environments.shop.reward import score
from pivotlab.environments.shop.state import State
from pivotlab.environments.snapshots import StateSnapshots

#: Turns after which an episode is given up; the longest honest ones need them.
MAX_TURNS = 8


class Shop(StateSnapshots):
    """One customer in a catalogue; the generated one by default."""

    kind = "a shop"
    state_type = State

    def __init__(self, catalogue: Catalogue | None = None):
        self.catalogue = catalogue or generated()

    def reset(self, task: str) -> str:
        """Start the purchase `task`.

        Raises:
            ValueError: the id names no task.
        """
        return self.start(self.catalogue.goal(task))

    def start(self, goal: Goal) -> str:
        """Start a purchase given as a record."""
        self.goal, self.state = goal, State()
        self._oracle = oracle.Oracle(self.catalogue, goal)
        return pages.search_page(goal.instruction)

    def step(self, action: str) -> Step:
        """Take one action; anything inadmissible is answered `Invalid action!`."""
        after = self._after(self.state, actions.read(action))
        if after is None:
            return Step(pages.INVALID, 0.0, self.state.score is not None)
        self.state = after
        done = after.score is not None
        return Step(self.page(), after.score or 0.0, done)

    def page(self) -> str:
        """The page the customer sees, the answer to the last admissible action."""
        state = self.state
        if state.score is not None:
            return pages.end_page(state.score)
        if state.part:
            return pages.part_page(self.product(state), state.part)
        if state.asin:
            return pages.product_page(self.product(state), state.chosen)
        if state.query:
            return pages.results_page(self.catalogue, state.query, state.number)
        return pages.search_page(self.goal.instruction)

    def product(self, state: State) -> Product:
        """The product whose page a state is on."""
        return self.catalogue.products[state.asin]

    def admissible(self) -> list[str]:
        """Clicks of the page, sorted; on the search page the form of a search."""
        state = self.state
        if state.score is not None:
            return []
        if not state.query:
            return [actions.SEARCH_FORM]
        return sorted(actions.click(value) for value in self._clicks(state))

    def _clicks(self, state: State) -> dict[str, State]:
        """What can be clicked, as the shop compares it -> the state after it."""
        back = {pages.BACK.lower(): State()}
        results = state._replace(asin="", chosen=(), part="")
        if state.part:
            return back | {pages.PREV.lower(): state._replace(part="")}
        if state.asin:
            found = self._options(state) | back | {pages.PREV.lower(): results}
            found |= {part.lower(): state._replace(part=part) for part in pages.PARTS}
            chosen = [value for _, value in state.chosen]
            bought = score(self.product(state), chosen, self.goal).total
            return found | {pages.BUY.lower(): state._replace(score=bought)}
        shown = self.catalogue.page(state.query, state.number)
        found = {p.asin.lower(): state._replace(asin=p.asin.lower()) for p in shown}
        if state.number > 1:
            found[pages.PREV.lower()] = state._replace(number=state.number - 1)
        if state.number < self.catalogue.pages(state.query):
            found[pages.NEXT.lower()] = state._replace(number=state.number + 1)
        return found | back

    def _options(self, state: State) -> dict[str, State]:
        found = {}
        for name, values in self.product(state).options:
            for value in values:
                chosen = dict(state.chosen) | {name: value}
                pairs = tuple(sorted(chosen.items()))
                found[actions.plain(value)] = state._replace(chosen=pairs)
        return found

    def _after(self, state: State, action: actions.Action | None) -> State | None:
        """The state an action leads to, None if it is not admissible."""
        if action is None or state.score is not None:
            return None
        value = actions.plain(action.value)
        if action.kind == "search":
            return State(query=value) if value and not state.query else None
        return self._clicks(state).get(value) if state.query else None

    def remaining_turns(self) -> float:
        """L(s): fewest turns to a purchase worth 1; infinite once another was made."""
        return self._oracle.remaining(self.state)

    def optimal_actions(self) -> list[str]:
        """Actions after which L is one less, sorted; empty where L is 0 or infinite.

        Of the many queries that serve on the search page, the oracle's own.
        """
        now = self.remaining_turns()
        if now == math.inf:
            return []
        tried = [*self.admissible(), *map(actions.search, self._oracle.queries())]
        return sorted(
            {
                text
                for text in tried
                if (after := self._after(self.state, actions.read(text))) is not None
                and self._oracle.remaining(after) == now - 1
            }
        )
