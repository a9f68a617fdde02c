"""A reader who answers only from passages that were shown.

The honest reader takes a question apart, searches for the thing whose passage tells
the next hop, reads its value there, and answers when the last hop is told. A question
that is not worded like the generated ones is read with its evidence given: the titles
to look up, in order, and the answer (a gold path rather than an honest one).

Phases: search, answer, over.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from pivotlab.environments.players import Advice, Slipping
from pivotlab.environments.search_qa import encyclopedia
from pivotlab.environments.search_qa.environment import END, answer, search
from pivotlab.environments.search_qa.library import Corpus, Question

PHASES = ("search", "answer", "over")
_ASKED = "Question: "
_DOC = re.compile(
    r"^(?:<information>)?Doc \d+\(Title: (.*?)\) (.*?)(?:</information>)?$"
)


class HonestReader:
    """Searches hop by hop and answers, using nothing it has not been shown."""

    name = "honest"

    def __init__(self, gold: tuple[Corpus, Question] | None = None):
        """
        Args:
            gold: corpus and question whose evidence is to be followed; by default the
                question is taken apart, which works for generated ones only.
        """
        self._gold = gold

    def start(self, observation: str) -> None:
        """Begin with the question.

        Raises:
            ValueError: it is not worded like the generated ones and no gold is given.
        """
        self.notes: dict[str, str] = {}
        self.over = False
        if self._gold is None:
            asked = observation.removeprefix(_ASKED)
            self.about, self.nouns = encyclopedia.read(asked)

    def observe(self, observation: str) -> None:
        """Take in the answer to the last turn."""
        self.over = observation == END
        for line in observation.split("\n"):
            found = _DOC.match(line)
            if found:
                self.notes[found[1]] = found[2]

    def acceptable(self) -> Advice:
        """Sorted turns a sensible reader might take now, and the phase."""
        if self.over:
            return (), "over"
        name, noun, value = self._state()
        if value is not None:
            return (answer(value),), "answer"
        queries = {name} | ({f"{noun} of {name}", f"{name} {noun}"} if noun else set())
        return tuple(sorted(map(search, queries))), "search"

    def act(self, admissible: Sequence[str], rng: random.Random) -> str:
        """One acceptable turn, each equally likely."""
        return rng.choice(self.acceptable()[0])

    def _state(self) -> tuple[str, str, str | None]:
        """What to look up, for which relation; or, as the third, the answer."""
        if self._gold is not None:
            return self._gold_state(*self._gold)
        name = self.about
        for noun in self.nouns:
            value = encyclopedia.told(name, noun, self.notes.get(name, ""))
            if value is None:
                return name, noun, None
            name = value
        return "", "", name

    def _gold_state(
        self, corpus: Corpus, question: Question
    ) -> tuple[str, str, str | None]:
        for hop in question.evidence:
            titles = [corpus.passages[place].title for place in sorted(hop)]
            if titles and not any(title in self.notes for title in titles):
                return titles[0], "", None
        return "", "", question.answers[0]


class NoisyReader(Slipping, HonestReader):
    """Honest, but with probability `eps` a turn it slips."""

    def slip(self, admissible: Sequence[str], rng: random.Random) -> str:
        """A search for something else, an answer before the evidence, or no tags."""
        things = sorted(self.notes) or [self._state()[0]]
        thing = rng.choice(things)
        wrong = search(f"{rng.choice(_IDLE)} {thing}")
        return rng.choice([wrong, wrong, answer(thing), f"search {thing}"])


#: Words in front of a name that make a search for something else.
_IDLE = ("map of", "history of", "friend of")
