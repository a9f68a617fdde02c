"""What worked before: a bank of skills taken from the student's own earlier rollouts.

A skill is one step of a won episode: the task, what was seen, what was done. Methods
that need privileged text get it from here, as a hint before a turn: the action that
worked in the most similar situation, carried over to the task at hand. Every number of
such a method depends on the bank, so a bank has a digest, to be printed beside the
number, and a file, to be published with it.

Departures from the papers: (1) their banks hold paragraphs that a language model wrote
about its rollouts (47, 200 and 75 entries); ours hold single steps, since the embedded
student follows a hint before the turn but cannot live with text that stays in its
history (a hint left in the first observation: 4 of 36 games won, 14 without);
(2) retrieval is by word overlap.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from pivotlab.distillation.resolution import resolve
from pivotlab.records import Message, Rollout
from pivotlab.rollouts import resume
from pivotlab.whole_files import write_text

#: Entries of a bank unless another number is given.
SIZE = 300
#: How many of the nearest skills are tried before a situation goes without.
TRIED = 5
#: Word overlaps of task and situation must add up to more than this, of 2.
NEAR = 1.0


@dataclass(frozen=True)
class Skill:
    """In a task like this, after seeing this, that action led on to success."""

    task: str
    situation: str
    action: str

    def carried_over(self, task: str) -> Skill:
        """The same skill in the words of another task of the same form.

        Tasks of equally many words are compared word by word; where they differ, the
        other task's word replaces this one's in situation and action.
        """
        pairs = list(zip(_split(self.task), _split(task), strict=False))
        if len(_split(self.task)) != len(_split(task)):
            return self
        swap = {old: new for old, new in pairs if old != new}

        def swapped(text: str) -> str:
            return re.sub(r"\w+", lambda m: swap.get(m.group(), m.group()), text)

        return Skill(task, swapped(self.situation), swapped(self.action))


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

    def search(
        self, task: str, situation: str, limit: int = 1, near: float = 0.0
    ) -> list[Skill]:
        """The skills nearest to a task and a situation, carried over to it.

        Nearness is the word overlap (intersection over union) of the tasks plus that of
        the situations after carrying over; ties keep the bank's order.

        Args:
            limit: most skills, nearest first.
            near: skills must be nearer than this, at most 2.
        """
        asked = _words(situation)
        scored = [
            (likeness + _overlap(asked, words), skill)
            for likeness, words, skill in self._for(task)
        ]
        ranked = sorted((s for s in scored if s[0] > near), key=lambda s: -s[0])
        return [skill for _, skill in ranked[:limit]]

    def _for(self, task: str) -> list[tuple[float, frozenset[str], Skill]]:
        """(likeness of the tasks, words of the situation, skill) in a task's words."""
        if task not in self._carried:
            wanted = _words(task)
            moved = [(s, s.carried_over(task)) for s in self.skills]
            self._carried[task] = [
                (_overlap(wanted, _words(old.task)), _words(new.situation), new)
                for old, new in moved
            ]
        return self._carried[task]

    @cached_property
    def _carried(self) -> dict[str, list[tuple[float, frozenset[str], Skill]]]:
        return {}

    def hint(self, task: str, situation: str, admissible: Sequence[str]) -> str | None:
        """What to do here by the nearest skill that can be followed, or None.

        Args:
            task: in words.
            situation: what the agent has just read.
            admissible: actions the environment would carry out; empty where all text is
                allowed.
        """
        for skill in self.search(task, situation, TRIED, NEAR):
            action = resolve(skill.action, admissible) if admissible else skill.action
            if action is not None:
                return action
        return None

    def digest(self) -> str:
        """Twelve hexadecimal digits that name exactly these skills in this order."""
        return hashlib.sha256(self._json().encode()).hexdigest()[:12]

    def save(self, path: Path) -> Path:
        """Write the bank as JSON, one object a skill."""
        write_text(path, self._json())
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
    """The task in words: the last line of the first observation, which states it."""
    first = next(m.content for m in messages if m.role == "user")
    return first.strip().splitlines()[-1].strip()


def situation(rollout: Rollout, turn: int) -> str:
    """What the agent read right before a turn, the statement of the task aside."""
    return last_seen(resume(rollout, turn).messages)


def last_seen(messages: Sequence[Message]) -> str:
    """The last observation of a conversation, the statement of the task aside."""
    return messages[-1].content.strip().removesuffix(goal(messages)).strip()


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _words(text: str) -> frozenset[str]:
    return frozenset(_split(text))


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two) if one or two else 1.0
