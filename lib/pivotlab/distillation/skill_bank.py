"""What worked before: a bank of skills taken from the student's own earlier rollouts.

A skill is one step of a won episode: the task, what was seen, what was done. Methods
that need privileged text get it from here: as a hint before a turn (the action that
worked in the most similar situation), or as a list in the first observation. Every
number of such a method depends on the bank, so a bank has a digest, to be printed
beside the number, and a file, to be published with it.

Departures from the papers: (1) their banks hold paragraphs that a language model wrote
about its rollouts (47, 200 and 75 entries); ours hold single steps, since the embedded
student follows a hint and reads no advice; (2) retrieval is by word overlap.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from pivotlab.distillation import hints
from pivotlab.records import Message, Rollout
from pivotlab.rollouts import resume

#: Entries of a bank unless another number is given.
SIZE = 300


@dataclass(frozen=True)
class Skill:
    """In a task like this, after seeing this, that action led on to success."""

    task: str
    situation: str
    action: str

    def text(self) -> str:
        """One line to be read."""
        return f"{self.action} ({self.task})"

    @cached_property
    def words(self) -> tuple[frozenset[str], frozenset[str]]:
        """Of the task and of the situation."""
        return _words(self.task), _words(self.situation)


@dataclass(frozen=True)
class SkillBank:
    """Skills in a fixed order."""

    skills: tuple[Skill, ...]

    @classmethod
    def build(cls, rollouts: Sequence[Rollout], size: int = SIZE) -> SkillBank:
        """The steps of won episodes that changed the state, episode after episode.

        Args:
            rollouts: of the student itself; lost ones are left out.
            size: most entries; equal skills count once.
        """
        won = [r for r in rollouts if r.reward >= 1]
        found = (skill for rollout in won for skill in skills_of(rollout))
        return cls(tuple(dict.fromkeys(found))[:size])

    def search(self, task: str, situation: str, limit: int = 1) -> list[Skill]:
        """The skills nearest to a task and a situation, nearest first.

        Nearness is the word overlap (intersection over union) of the tasks plus that of
        the situations; ties keep the bank's order, skills without overlap are left out.
        """
        asked = _words(task), _words(situation)

        def nearness(skill: Skill) -> float:
            pairs = zip(asked, skill.words, strict=True)
            return sum(len(a & b) / max(1, len(a | b)) for a, b in pairs)

        scored = [(nearness(skill), skill) for skill in self.skills]
        ranked = sorted((s for s in scored if s[0] > 0), key=lambda s: -s[0])
        return [skill for _, skill in ranked[:limit]]

    def shown(self, messages: Sequence[Message], limit: int) -> tuple[Message, ...]:
        """The conversation with the task's nearest skills in its first observation."""
        task = goal(messages)
        found = self.search(task, "", limit)
        if not found:
            return tuple(messages)
        return hints.taught(messages, "; ".join(s.text() for s in found) + ".")

    def digest(self) -> str:
        """Twelve hexadecimal digits that name exactly these skills in this order."""
        return hashlib.sha256(self._json().encode()).hexdigest()[:12]

    def save(self, path: Path) -> Path:
        """Write the bank as JSON, one object a skill."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.write_text(self._json(), encoding="utf-8")
        os.replace(part, path)
        return path

    @classmethod
    def load(cls, path: Path) -> SkillBank:
        """Read a bank that `save` wrote.

        Raises:
            ValueError: the file holds something else.
        """
        try:
            return cls(tuple(Skill(**row) for row in json.loads(path.read_text())))
        except (TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} is no skill bank: {error}") from None

    def _json(self) -> str:
        rows = [asdict(skill) for skill in self.skills]
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def skills_of(rollout: Rollout) -> list[Skill]:
    """One skill per turn that changed the state (any turn, without snapshots)."""
    task = goal(rollout.messages)
    found = []
    for index, turn in enumerate(rollout.turns):
        states = [t.snapshot for t in rollout.turns[index : index + 2]]
        changed = len(states) == 1 or None in states or states[0] != states[1]
        if changed:
            found.append(Skill(task, situation(rollout, index), turn.action))
    return found


def goal(messages: Sequence[Message]) -> str:
    """The task in words: the last line of the first observation, where it is stated."""
    first = next(m.content for m in messages if m.role == "user")
    return first.strip().splitlines()[-1].strip()


def situation(rollout: Rollout, turn: int) -> str:
    """What the agent read right before a turn, the statement of the task aside."""
    messages = resume(rollout, turn).messages
    seen = messages[-1].content.strip()
    return seen.removesuffix(goal(messages)).strip() if turn == 0 else seen


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))
