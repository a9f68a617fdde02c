"""ToolBench: search trees with old-style calls, and the linear runs of its evaluation.

A tree file keeps, for every decision on its final path, the messages the model saw then
(`train_messages`). Later lists usually extend earlier ones and form one trajectory; one
that does not (a retry note was added or dropped) starts another. In each list only the
last turn was decided from exactly that prefix: the other turns are `copied`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pivotlab import tool_schemas
from pivotlab.records import Trajectory
from pivotlab.trajectories import chat, fields
from pivotlab.trajectories.assembly import Draft, Origin

#: The start of a printed call, up to the end of its arguments.
_CALL = re.compile(r"\{'name': '[^'\\]*', 'arguments': '(?:[^'\\]|\\.)*'(?=[,}])")


def is_tree(record: Any) -> bool:
    """Is this the file of one search tree?"""
    return isinstance(record, dict) and isinstance(
        record.get("answer_generation"), dict
    )


def is_answer(row: Any) -> bool:
    """Is this one row of an evaluation results file?"""
    answer = row.get("answer") if isinstance(row, dict) else None
    return isinstance(answer, dict) and isinstance(answer.get("answer_details"), list)


def read_tree(record: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """The final path of a tree.

    Raises:
        FormatError: the search ended without an answer, so no path was kept.
    """
    answer = record["answer_generation"]
    chains = fields.sequence(answer.get("train_messages"), "train_messages")
    if not chains:
        raise fields.FormatError(
            "answer_generation.train_messages",
            "is missing: the search gave up and kept no path",
            "use a finished search",
        )
    lists = [fields.sequence(c, f"train_messages[{i}]") for i, c in enumerate(chains)]
    group: list[list[Any]] = []
    for i, chain in enumerate(lists):
        group.append(chain)
        following = lists[i + 1] if i + 1 < len(lists) else None
        if following is None or following[: len(chain)] != chain:
            yield _path(group, answer, record, origin)
            group = []


def read_answer(row: dict[str, Any], origin: Origin) -> Iterator[Trajectory]:
    """One linear run.

    Results files cut their printed calls: a turn whose call lost its arguments is
    `call_cut_off`, one after a result that was cut is `observation_not_recorded`.

    Raises:
        FormatError: the details branch (a tree is no trajectory).
    """
    run = _Run(Draft(origin))
    run.draft.set_tools(row.get("available_tools"))
    for where, node in _chain(row["answer"]["answer_details"]):
        text = fields.text(node.get("message"), where)
        run.add(node.get("role"), text)
    run.speak()
    query = fields.string(row.get("query"))
    yield run.draft.build(row, task=query, domain="tool")


class _Run:
    """The nodes of a linear run: a text and the call after it are one turn."""

    def __init__(self, draft: Draft):
        self.draft = draft
        self.said: str | None = None
        self.lost = False

    def add(self, role: Any, text: str) -> None:
        if role == "tool":
            self.call(text)
            return
        self.speak()
        if role == "assistant":
            self.said = text
        elif role == "user":
            self.draft.user(text)
        elif text:
            self.draft.system(text)

    def speak(self) -> None:
        """A text that no call followed."""
        if self.said is not None:
            skip = "observation_not_recorded" if self.lost else None
            self.draft.assistant(self.said, skip=skip)
        self.said = None

    def call(self, text: str) -> None:
        node = _printed_call(text)
        skip = "observation_not_recorded" if self.lost else None
        if node is None:
            node, skip = {"arguments": text}, skip or "call_cut_off"
        self.draft.assistant(self.said or "", (chat.call_of(node),), skip=skip)
        self.said = None
        if "response" in node:
            self.draft.result(fields.text(node["response"], "response"))
        elif node.get("name") != "Finish":
            self.lost = True


def _path(
    group: list[list[Any]],
    answer: dict[str, Any],
    record: dict[str, Any],
    origin: Origin,
) -> Trajectory:
    """One trajectory from lists that extend each other; the last holds all messages."""
    draft = Draft(origin)
    draft.set_tools(answer.get("function"))
    decided = {len(chain) - 1 for chain in group}
    for i, message in enumerate(group[-1]):
        skip = None if i in decided else "copied"
        chat.add_messages(draft, [message], f"train_messages[{i}]", skip=skip)
    reward = fields.reward(record.get("win"))
    query = fields.string(answer.get("query"))
    return draft.build(task=query, domain="tool", reward=reward)


def _chain(details: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    where, nodes = "answer_details", details
    while nodes:
        if len(nodes) > 1:
            raise fields.FormatError(
                where, f"branches into {len(nodes)}", "a tree is no line; use one path"
            )
        where = f"{where}[0]"
        node = fields.mapping(nodes[0], where)
        yield where, node
        where = f"{where}.next"
        nodes = fields.sequence(node.get("next"), where)


def _printed_call(text: str) -> dict[str, Any] | None:
    """The call of a printed dictionary, also where the print was cut after it."""
    cut = _CALL.match(text)
    for literal in (text, f"{cut[0]}}}" if cut else ""):
        try:
            node = tool_schemas.json_or_literal(literal)
        except ValueError:
            continue
        if isinstance(node, dict):
            return node
    return None
