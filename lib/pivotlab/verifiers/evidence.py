"""Functional verdict of search QA: does a query bring what the next hop needs?

Where the honest reader would search, any query is right that brings a needed passage
(`candidate.context["needed"]`) among its results, whatever its words: the search is
carried out. An answer there is not, even a right one: it was guessed. Where everything
was shown, any of `context["answers"]` is right, up to SQuAD's normalisation.
"""

from __future__ import annotations

from pivotlab.environments.search_qa import PER_SEARCH, Library, encyclopedia
from pivotlab.environments.search_qa.answers import exact_match
from pivotlab.environments.search_qa.environment import read_action
from pivotlab.records import Candidate, Message, Verdict

#: Longer queries and answers are broken output.
_LONGEST = 1_000


class EvidenceVerifier:
    """Categories: brings_evidence, right_answer (reward 1); no_step, too_long,
    no_evidence, wrong_answer, unsupported_answer, needless_search, and no_context for a
    candidate without a state or of another library.
    """

    name = "evidence"
    version = "1"

    def __init__(self, library: Library = encyclopedia.library):
        """
        Args:
            library: of the candidates' tasks; queries are carried out in its corpus.
        """
        self.library = library

    def verify(self, candidate: Candidate, action: Message) -> Verdict:
        """1.0 iff the turn brings the next evidence, or gives the supported answer."""
        context = candidate.context
        if "phase" not in context or "answers" not in context:
            return Verdict(0.0, "no_context", f"{candidate.uid} has no state")
        said = read_action(action.content)
        if said is None:
            return Verdict(0.0, "no_step", action.content[:200])
        detail = f"{said.kind}: {said.value}"[:300]
        if len(said.value) > _LONGEST:
            return Verdict(0.0, "too_long", detail)
        if said.kind == "answer":
            right = exact_match(said.value, context["answers"])
            if right and context["phase"] != "answer":
                return Verdict(0.0, "unsupported_answer", detail)
            return Verdict(
                float(right), "right_answer" if right else "wrong_answer", detail
            )
        if context["phase"] != "search":
            return Verdict(0.0, "needless_search", detail)
        return self._search(context, said.value, detail)

    def _search(self, context: dict, query: str, detail: str) -> Verdict:
        try:
            corpus, _ = self.library(context.get("task", ""))
        except ValueError as error:
            return Verdict(0.0, "no_context", str(error)[:300])
        needed = set(context.get("needed", ()))
        brings = not needed.isdisjoint(corpus.search(query, PER_SEARCH))
        return Verdict(
            float(brings), "brings_evidence" if brings else "no_evidence", detail
        )
