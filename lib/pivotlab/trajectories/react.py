"""ReAct-style flat text: games with `> ` lines, numbered steps, and prompt rows.

- Games (ALFWorld): model lines start with `> `, the environment's text follows. A
  `think:` line that is answered is a turn of its own without an action
  (`thought_only`); one that is not answered, and KnowAgent's `> Think:` and
  `> ActionPath:` lines, are the reasoning of the next action.
- Steps (HotpotQA, WebShop): `Thought 1:`, `Action 1:`, `Observation 1:`. WebShop's
  opening `Action: reset` is `canned`, its `think[...]` a thought.
- Printed logs (also inside notebooks): episodes between dashed lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pivotlab.records import Trajectory
from pivotlab.trajectories import fields
from pivotlab.trajectories.assembly import Draft, Origin

_MODEL_LINE = re.compile(r"^>(?: |$)", re.MULTILINE)
_THOUGHT = re.compile(r"(?:think|actionpath) ?:", re.IGNORECASE)
_MARKER = re.compile(
    r"^(ActionPath|Thought|Action|Observation)(?: \d+)?:", re.MULTILINE
)
_STEP = re.compile(r"^Action(?: \d+)?: *\w+\[", re.MULTILINE)
_NO_ACTION = re.compile(r"Action(?: \d+)?: *think\[", re.IGNORECASE)
_SHOP = re.compile(r"^Action: click\[|^Webshop", re.MULTILINE)
_EPISODE = re.compile(r"^-{5,}[ \t]*\n(\d+)[ \t]*\n(?=Action:)", re.MULTILINE)
_RUNNING_SCORES = re.compile(
    r"^\d+(?: \d+\.\d+){3}[ \t]*$\n?(?:-{5,}\s*$)?", re.MULTILINE
)
_RAN_ON = re.compile(r"^Observation(?: \d+)?:", re.MULTILINE)
_ACTION = re.compile(r"^Action(?: \d+)?:", re.MULTILINE | re.IGNORECASE)


def is_game(text: Any) -> bool:
    """Is this a flat game with `> ` lines?"""
    return isinstance(text, str) and _MODEL_LINE.search(text) is not None


def is_steps(text: Any) -> bool:
    """Is this flat text with Thought, Action and Observation lines?"""
    return isinstance(text, str) and _ACTION.search(text) is not None


def is_step(text: str) -> bool:
    """Is this one turn that ends in `Action: name[...]`?"""
    return _STEP.search(text) is not None


def cut_run_on(text: str) -> tuple[str, bool]:
    """Text before an observation that the model wrote itself, and whether it did."""
    action = _ACTION.search(text)
    found = _RAN_ON.search(text, action.end()) if action else None
    return (text[: found.start()].rstrip(), True) if found else (text, False)


def read(row: Any, origin: Origin) -> Iterator[Trajectory]:
    """One flat trajectory: the bare text, or a row that holds it."""
    if isinstance(row, str):
        yield from _read_log(row, origin)
        return
    draft = Draft(origin)
    text = _add_row(draft, row)
    yield draft.build(row, task=_task(row), domain=_domain(text))


def is_log(text: Any) -> bool:
    """Is this a printed log of several episodes?"""
    return isinstance(text, str) and _EPISODE.search(text) is not None


def is_notebook(record: Any) -> bool:
    """Is this a notebook that printed a log?"""
    return any(is_log(text) for text in _printed(record))


def read_notebook(record: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """The episodes that a notebook's cells printed."""
    for text in _printed(record):
        if is_log(text):
            yield from _read_log(text, origin)


def read_lines(lines: list[str], origin: Origin) -> Iterator[Trajectory]:
    """A list of texts that alternate: observation, action, observation, ...

    An "OK." right after an observation answers a thought that was taken out.
    """
    draft = Draft(origin)
    agent_next = False
    for line in lines:
        text = line.strip()
        if agent_next and text == "OK.":
            draft.notes["orphan_observation"] += 1
        elif agent_next:
            draft.assistant(text)
            agent_next = False
        else:
            draft.user(text)
            agent_next = True
    yield draft.build(domain="textgame")


def add_flat(draft: Draft, text: str) -> None:
    """Append a flat game or flat steps, whichever the text is."""
    add_game(draft, text) if is_game(text) else add_steps(draft, text)


def add_game(draft: Draft, text: str) -> None:
    """Append a game: opening text, then commands and answers."""
    opening, *chunks = _MODEL_LINE.split(text)
    if opening.strip():
        draft.user(opening.strip())
    thoughts: list[str] = []
    for chunk in chunks:
        command, _, answer = chunk.partition("\n")
        command, answer = command.strip(), answer.strip()
        thought = _THOUGHT.match(command) is not None
        if thought and not answer:
            thoughts.append(command)
        elif command:
            skip = "thought_only" if thought else None
            draft.assistant(command, (), "\n".join(thoughts), skip=skip)
            thoughts = []
        else:
            draft.notes["truncated"] += 1
        if answer:
            draft.user(answer)
    if thoughts:
        draft.assistant("", (), "\n".join(thoughts))


def add_steps(draft: Draft, text: str) -> None:
    """Append Thought/Action turns and the observations between them."""
    found = list(_MARKER.finditer(text))
    opening = text[: found[0].start()] if found else text
    if opening.strip():
        draft.user(opening.strip())
    turn: list[str] = []
    acted = False
    for this, following in zip(found, [*found[1:], None], strict=False):
        end = following.start() if following else len(text)
        section = text[this.start() : end].strip()
        if this[1] == "Observation" or acted:
            _flush(draft, turn)
            turn, acted = [], False
        if this[1] == "Observation":
            draft.user(section)
        else:
            turn.append(section)
            acted = this[1] == "Action"
    _flush(draft, turn)


def _flush(draft: Draft, turn: list[str]) -> None:
    if not turn:
        return
    actions = [section for section in turn if _ACTION.match(section)]
    skip = None
    if not actions or _NO_ACTION.match(actions[-1]):
        skip = "thought_only"
    elif actions[-1] == "Action: reset":
        skip = "canned"
    draft.assistant("\n".join(turn), skip=skip)


def _read_log(text: str, origin: Origin) -> Iterator[Trajectory]:
    """One episode, or each episode of a printed log."""
    if not is_log(text):
        draft = Draft(origin)
        add_flat(draft, text)
        yield draft.build(domain=_domain(text))
        return
    parts = _EPISODE.split(text)
    for number, episode in zip(parts[1::2], parts[2::2], strict=True):
        draft = Draft(origin)
        add_steps(draft, _RUNNING_SCORES.sub("", episode))
        yield draft.build(ident=number, task=number, domain=_domain(episode))


def _printed(record: Any) -> Iterator[str]:
    """What each cell of a notebook printed."""
    cells = record.get("cells") if isinstance(record, dict) else None
    for cell in cells if isinstance(cells, list) else []:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        shown = [
            fields.text(output.get("text"), "outputs")
            for output in (outputs if isinstance(outputs, list) else [])
            if isinstance(output, dict)
        ]
        yield "".join(shown)


def _add_row(draft: Draft, row: dict[str, Any]) -> str:
    """Append the flat text of a row with a prompt; returns that text."""
    if isinstance(row.get("traj"), str):
        text = row["traj"]
        head, cut, tail = text.partition("### Response:\n")
        if cut:
            draft.user(head.strip())
        add_flat(draft, tail if cut else text)
        return text
    if isinstance(row.get("output"), str):
        asked = [row.get("instruction"), row.get("input")]
        draft.user("\n".join(t for t in asked if isinstance(t, str) and t.strip()))
        add_flat(draft, row["output"])
        return row["output"]
    prompt = fields.string(row.get("prompt")) or ""
    question = f"Question: {row.get('question')}"
    head, found, tail = prompt.rpartition(question)
    if found:
        draft.user((head + question).strip())
    add_steps(draft, tail if found else prompt)
    return tail


def _task(row: dict[str, Any]) -> str | None:
    return fields.string(row.get("question")) or fields.string(row.get("name"))


def _domain(text: str) -> str:
    if is_game(text):
        return "textgame"
    return "shop" if _SHOP.search(text) else "search"
