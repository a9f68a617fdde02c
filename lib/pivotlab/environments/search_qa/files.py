"""Questions and passages from JSONL files: HotpotQA, NQ as in Search-R1, any corpus.

    corpus      {"id"?, "contents": "\\"Title\\"\\ntext"} (Search-R1's wiki-18), or
                {"title", "text"}; one passage a line
    HotpotQA    {"_id" or "id", "question", "answer", "supporting_facts", "context"?};
                supporting facts as [[title, sentence], ...] or {"title": [...], ...}
    NQ          {"id"?, "question", "golden_answers" or "answer": [...]}

Evidence of a HotpotQA question is any passage with the title of a supporting fact, one
hop a title. Where the file names none, one hop: any passage whose normalised text holds
a right answer as whole words. Questions whose evidence is not in the corpus are kept,
counted, and have an infinite L.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pivotlab.environments.search_qa.answers import answer_form
from pivotlab.environments.search_qa.library import Corpus, Passage, Question


class FileLibrary:
    """A library of files; calling it with a task id gives corpus and question.

    Attributes:
        tasks: ids in the order of the file.
        skips: `evidence_not_in_corpus`, counted in questions.
    """

    def __init__(self, questions: Path, corpus: Path):
        """
        Raises:
            ValueError: a line is not of the known forms; the message names file, line
                and field.
        """
        self.corpus = Corpus(read_corpus(corpus))
        self.skips: Counter[str] = Counter()
        self._evidence = _Evidence(self.corpus)
        self._questions: dict[str, Question] = {}
        for line, row in _lines(questions):
            task = str(row.get("_id") or row.get("id") or f"line-{line}")
            if task in self._questions:
                raise ValueError(f"{questions}, line {line}: id {task!r} occurs twice")
            question = self._question(f"{questions}, line {line}", row)
            self.skips["evidence_not_in_corpus"] += not all(question.evidence)
            self._questions[task] = question
        self.tasks = list(self._questions)

    def __call__(self, task: str) -> tuple[Corpus, Question]:
        """Corpus and question of a task.

        Raises:
            ValueError: the id names no task.
        """
        if task not in self._questions:
            known = next(iter(self.tasks), "none")
            raise ValueError(f"no question {task!r}; ids look like {known!r}")
        return self.corpus, self._questions[task]

    def _question(self, where: str, row: dict[str, Any]) -> Question:
        text = _text(where, row, "question")
        given = row.get("golden_answers", row.get("answer"))
        answers = [given] if isinstance(given, str) else given
        if not isinstance(answers, list) or not answers:
            raise ValueError(
                f"{where}, field 'answer': {given!r}; needs a text or a list of texts "
                "(also as 'golden_answers')"
            )
        facts = row.get("supporting_facts")
        titles = _titles(where, facts) if facts else []
        evidence = (
            self._evidence.of_titles(titles)
            if titles
            else (self._evidence.of_answers(answers),)
        )
        return Question(text, tuple(map(str, answers)), evidence)


class _Evidence:
    """Where in a corpus the evidence of a question is."""

    def __init__(self, corpus: Corpus):
        self._titles: dict[str, set[int]] = defaultdict(set)
        self._texts = []
        for place, passage in enumerate(corpus.passages):
            self._titles[passage.title].add(place)
            self._texts.append(f" {answer_form(passage.text)} ")

    def of_titles(self, titles: Sequence[str]) -> tuple[frozenset[int], ...]:
        return tuple(frozenset(self._titles.get(title, ())) for title in titles)

    def of_answers(self, answers: Sequence[str]) -> frozenset[int]:
        forms = [form for a in answers if (form := answer_form(str(a)))]
        return frozenset(
            place
            for place, text in enumerate(self._texts)
            if any(f" {form} " in text for form in forms)
        )


def read_corpus(path: Path) -> list[Passage]:
    """Passages of a corpus file.

    Raises:
        ValueError: a line has neither `contents` nor `title` and `text`.
    """
    found = []
    for line, row in _lines(path):
        where = f"{path}, line {line}"
        if "contents" in row:
            title, _, text = _text(where, row, "contents").partition("\n")
            found.append(Passage(title.strip().strip('"'), text))
        else:
            title, text = _text(where, row, "title"), _text(where, row, "text")
            found.append(Passage(title, text))
    return found


def _titles(where: str, facts: Any) -> list[str]:
    """Titles of supporting facts, without repetition, in order."""
    names = facts.get("title") if isinstance(facts, dict) else facts
    if not isinstance(names, list):
        raise ValueError(
            f"{where}, field 'supporting_facts': needs [[title, sentence], ...] or "
            f"{{'title': [...]}}, not {facts!r}"
        )
    return list(dict.fromkeys(n if isinstance(n, str) else str(n[0]) for n in names))


def _text(where: str, row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        shown = "missing" if name not in row else repr(value)[:60]
        raise ValueError(f"{where}, field {name!r}: {shown}; needs a text")
    return value


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) of a JSONL file; blank lines are passed over."""
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"{path}, line {number}: no JSON ({error.msg})"
                ) from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: needs an object, not {row!r}")
            yield number, row
