"""Episodes of the shop and of search QA as conversations, every turn labelled.

As with the household game, the player's actions are the assistant messages, and an
honest player watches whoever plays: `contexts` of each assistant message holds

    task        the task id
    acceptable  the honest player's acceptable actions at this state, sorted; queries
                only as far as they really bring what is looked for
    admissible  what the environment would carry out (a free text as its form)
    phase       what the honest player is about
    honest      one acceptable action: the one played if it is acceptable, else drawn
    serving     lower-case ids of products, one of which a query should show on its
                first page (shop, phase search)
    needed      positions of passages, one of which a query should bring (search QA,
                phase search)
    answers     right answers (search QA)

so that any query is judged by what it brings, not by its words (see
`verifiers.shop_state` and `verifiers.evidence`).
"""

from __future__ import annotations

import random
from typing import Any

from pivotlab.environments import search_qa, shop
from pivotlab.environments.players import Player
from pivotlab.environments.search_qa.environment import SearchQA
from pivotlab.environments.search_qa.environment import read_action as read_turn
from pivotlab.environments.search_qa.players import HonestReader
from pivotlab.environments.shop import actions
from pivotlab.environments.shop.catalogue import Catalogue
from pivotlab.environments.shop.environment import Shop
from pivotlab.environments.shop.players import HonestShopper, Wants
from pivotlab.records import Trajectory
from pivotlab.trajectories.watched_play import play_watched

SHOP_SYSTEM = """You buy what an instruction asks for in a web shop. Answer every page \
with one action, nothing else:
search[words] on the search page | click[value] for anything the page shows: a product \
id, an option, back to search, < prev, next >, description, features, buy now
Choose every option the instruction names before you buy. You can buy once."""
SEARCH_SYSTEM = """You answer questions by searching an encyclopedia. Answer every \
message with one of:
<search>words</search> to see the three best passages
<answer>the answer</answer> when you know it, as short as possible
Look up one thing at a time. You can answer once."""


def play_shop(
    task: str,
    player: Player,
    rng: random.Random,
    *,
    catalogue: Catalogue | None = None,
    max_turns: int = shop.MAX_TURNS,
    system: str | None = None,
    uid: str | None = None,
) -> Trajectory:
    """One purchase, to its end or for `max_turns` actions; `reward` is WebShop's.

    Raises:
        ValueError: `task` names no task of the catalogue (default: the generated one).
    """
    env = Shop(catalogue)
    watcher = HonestShopper(Wants.of(env.catalogue.goal(task)))

    def label() -> tuple[tuple[str, ...], str, dict[str, Any]]:
        accepted, phase = watcher.acceptable()
        if phase != "search":
            return accepted, phase, {}
        serving = watcher.serving(env.catalogue)
        queries = {a: actions.read(a).value for a in accepted}
        good = [
            a for a, query in queries.items() if env.catalogue.shows(query, serving)
        ]
        return tuple(good) or accepted, phase, {"serving": list(serving)}

    own = uid or f"shop/{task}/{player.name}"
    return play_watched(
        env, task, player, watcher, label, rng, "shop", max_turns, system, own
    )


def play_search(
    task: str,
    player: Player,
    rng: random.Random,
    *,
    library: search_qa.Library | None = None,
    max_turns: int = search_qa.MAX_TURNS,
    system: str | None = None,
    uid: str | None = None,
) -> Trajectory:
    """One question, to its answer or for `max_turns` turns; `reward` is exact match.

    Raises:
        ValueError: `task` names no question of the library (default: the generated
            encyclopedia).
    """
    env = SearchQA(library) if library else SearchQA()
    corpus, question = env.library(task)
    watcher = HonestReader((corpus, question) if library else None)

    def label() -> tuple[tuple[str, ...], str, dict[str, Any]]:
        accepted, phase = watcher.acceptable()
        more: dict[str, Any] = {"answers": list(question.answers)}
        missing = env.missing()
        if phase != "search" or not missing:
            return accepted, phase, more
        more["needed"] = sorted(missing[0])
        queries = {a: read_turn(a).value for a in accepted}
        good = [
            a
            for a, query in queries.items()
            if missing[0] & set(corpus.search(query, search_qa.PER_SEARCH))
        ]
        return tuple(good) or accepted, phase, more

    own = uid or f"search/{task}/{player.name}"
    return play_watched(
        env, task, player, watcher, label, rng, "search", max_turns, system, own
    )
