"""Broken output against every verifier: none may raise, none may take long.

    python -m pivotlab.experiments.logs.fuzz --inputs 120000

An input is a row and an action, both made from good examples of every domain by
cutting, repeating, splicing and replacing, or from random characters and bytes; some
are long or deeply nested. Time is processor time of the thread, so that a busy machine
does not count. Verifiers that run commands, ask a judge or replay a database are no
part of it.

Writes `fuzz.csv`: room, target, inputs, exceptions, slow (over 50 ms), max_ms.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tqdm.auto import tqdm

from pivotlab import tool_call_text
from pivotlab.experiments import record_tables
from pivotlab.records import Candidate, Message, ToolCall
from pivotlab.verifiers.combine import CombinedVerifier
from pivotlab.verifiers.dispatch import DispatchVerifier, standard
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.gym_tool_call import GymToolCallVerifier
from pivotlab.verifiers.message import MessageVerifier
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.search import SearchVerifier
from pivotlab.verifiers.shell import ShellVerifier
from pivotlab.verifiers.shop import ShopVerifier
from pivotlab.verifiers.terminus import TerminusVerifier
from pivotlab.verifiers.text_game import TextGameVerifier
from pivotlab.verifiers.tool_call import ToolCallVerifier
from pivotlab.verifiers.tool_name import ToolNameVerifier

#: A verdict may take this long, in milliseconds of processor time.
LIMIT_MS = 50.0
_REPLY = {"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls -la\n"}]}
_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "bash",
            "parameters": {
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"type": "string"},
                    "timeout": {"type": "integer", "default": 5},
                    "files": {"type": "array", "uniqueItems": True},
                },
            },
        },
    },
)
#: Good turns of every domain, from which the broken ones are made.
EXAMPLES = (
    '<tool_call>{"name": "bash", "arguments": {"command": "ls -la"}}</tool_call>',
    "<function=bash><parameter=command>find . -name '*.c'</parameter></function>",
    "I look around.\n```bash\nfind . -type f | xargs grep -n foo > out 2>&1\n```",
    "cat <<EOF | sort -k2 -rn\n$(date) ${x:-y} `pwd`\nEOF",
    "for i in $(seq 9); do [[ -f $i ]] && rm -rf \"$i\" || echo 'no'; done",
    json.dumps(_REPLY),
    "<think>hm</think><search>population of Seoul 2020</search>",
    "<information>x</information><answer>9.7 million</answer>",
    "Thought: done\nAction: click[Buy Now]\nObservation: thanks",
    "Could you please give me your user ID, so that I can find the booking?",
    "put mug 1 in/on desk 2",
    '{"command": "ls", "files": ["a", "b"], "timeout": 5, "n": 1.0, "deep": {"a": []}}',
)
_PIECES = ("{", "}", "[", "]", '"', "'", "`", "$(", "\\", "\n", "\x00", "\ud800", "é")
_PIECES += ("```", "<tool_call>", "</think>", "null", "1e999", "NaN", "-", " ", "\t")
_DOMAINS = ("tool", "chat", "swe", "terminal", "search", "shop", "textgame", "none")


@dataclass
class Tally:
    """What one target did."""

    inputs: int = 0
    exceptions: Counter[str] = field(default_factory=Counter)
    slow: int = 0
    max_ms: float = 0.0

    def row(self, target: str) -> dict[str, Any]:
        """One row of `fuzz.csv`."""
        return {
            "room": "verifiers",
            "target": target,
            "inputs": self.inputs,
            "exceptions": sum(self.exceptions.values()),
            "slow": self.slow,
            "max_ms": round(self.max_ms, 1),
        }


def targets() -> dict[str, Verifier]:
    """Every verifier that decides without running anything, in every mode."""
    found: dict[str, Verifier] = {
        "exact": ExactVerifier(),
        "tool_name": ToolNameVerifier(namespaces=True),
        "tool_call": ToolCallVerifier(),
        "tool_call paper": ToolCallVerifier("paper"),
        "gym_tool_call": GymToolCallVerifier(),
        "gym_tool_call f1": GymToolCallVerifier(0.3, "f1"),
        "message": MessageVerifier(),
        "shell": ShellVerifier(),
        "shell paper": ShellVerifier("paper"),
        "terminus": TerminusVerifier(),
        "terminus paper": TerminusVerifier("paper"),
        "terminus gym": TerminusVerifier("gym"),
        "search": SearchVerifier(),
        "shop": ShopVerifier(),
        "text_game": TextGameVerifier(),
        "dispatch": DispatchVerifier(standard()),
    }
    parts = {"tool": (ToolCallVerifier(), 2.0), "text": (MessageVerifier(), 1.0)}
    found["combined"] = CombinedVerifier(parts, {"name": ToolNameVerifier()})
    return found


def make(rng: random.Random) -> tuple[Candidate, Message]:
    """One row and one action, each good or broken."""
    gold = _message(rng, broken=rng.random() < 0.5)
    said = gold if rng.random() < 0.05 else _message(rng, broken=rng.random() < 0.9)
    context: dict[str, Any] = {"acceptable": ["look"], "ordered": rng.random() < 0.2}
    if rng.random() < 0.1:
        context |= {"harness": _broken("terminus_1", rng), "threshold": "x"}
    prefix = (Message("user", "please"), _message(rng, broken=True))
    domain = rng.choice(_DOMAINS)
    row = Candidate("f:0", "f", 0, prefix, gold, _TOOLS, domain, context)
    return row, said


def fuzz(inputs: int, seed: int = 0) -> dict[str, Tally]:
    """Tally per target after at least `inputs` verdicts in all.

    An exception is counted, never passed on.
    """
    rng = random.Random(seed)
    judges = targets()
    tallies = {name: Tally() for name in judges}
    for _ in tqdm(range(-(-inputs // len(judges))), desc="rows", disable=None):
        row, said = make(rng)
        for name, judge in judges.items():
            _count(tallies[name], judge, row, said)
    return tallies


def _count(tally: Tally, judge: Verifier, row: Candidate, said: Message) -> None:
    tally.inputs += 1
    gc.disable()
    began = time.thread_time()
    try:
        verdict = judge.verify(row, said)
        if not 0.0 <= verdict.reward <= 1.0 or not verdict.category:
            raise ValueError(f"no verdict: {verdict}")
    # The point of the exercise is to find whatever a verifier may raise.
    except Exception as error:
        tally.exceptions[f"{type(error).__name__}: {error}"[:200]] += 1
    spent = 1000 * (time.thread_time() - began)
    gc.enable()
    tally.slow += spent > LIMIT_MS
    tally.max_ms = max(tally.max_ms, spent)


def _message(rng: random.Random, broken: bool) -> Message:
    text = rng.choice(EXAMPLES)
    if broken:
        text = _broken(text, rng)
    if rng.random() < 0.5:
        return tool_call_text.parse(text, _TOOLS)
    if rng.random() < 0.5:
        return Message("assistant", text)
    calls = [_call(rng, text) for _ in range(rng.choice((1, 1, 1, 2, 3, 30, 70)))]
    return Message("assistant", rng.choice(("", text)), tuple(calls))


def _call(rng: random.Random, text: str) -> ToolCall:
    name = rng.choice(("bash", "bash", "edit", "search", "mcp__bash", "", text[:40]))
    given: Any = text
    if rng.random() < 0.7:
        given = {
            rng.choice(("command", "files", "timeout", "query", "x")): _value(rng, text)
            for _ in range(rng.randint(0, 4))
        }
    return ToolCall(name, given)


def _value(rng: random.Random, text: str, depth: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.2 and depth < 3:
        return [_value(rng, text, depth + 1) for _ in range(rng.randint(0, 4))]
    if kind < 0.4 and depth < 3:
        return {
            text[:i]: _value(rng, text, depth + 1) for i in range(rng.randint(0, 3))
        }
    if kind < 0.45:
        return _nested(rng.randint(10, 200))
    atoms = (None, True, 0, 1, 1.0, 10**400, float("nan"), float("inf"), "", text)
    return rng.choice(atoms)


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


def _broken(text: str, rng: random.Random) -> str:
    """A text cut, repeated, spliced, or replaced by noise."""
    for _ in range(rng.randint(1, 4)):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        kind = rng.randrange(8)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:at] + rng.choice(_PIECES) * rng.randint(1, 9) + text[at:]
        elif kind == 2:
            text = text[:to] + rng.choice(EXAMPLES)[at:]
        elif kind == 3:
            text = text[:at]
        elif kind == 4:
            text = rng.randbytes(rng.randint(0, 60)).decode("utf-8", "surrogateescape")
        elif kind == 5:
            text = "".join(
                chr(rng.randrange(0x11000)) for _ in range(rng.randint(0, 40))
            )
        elif kind == 6 and rng.random() < 0.1:
            text = (text[at:to] or rng.choice(_PIECES)) * rng.randint(1, 3000)
        else:
            text = text[:at] + text[at:to][::-1] + text[to:]
        text = text[:300_000]
    return text


def main(arguments: list[str] | None = None) -> int:
    """Fuzz and write the record; 1 if something raised or was slow."""
    parser = argparse.ArgumentParser(prog="python -m pivotlab.experiments.logs.fuzz")
    parser.add_argument("--inputs", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tallies = fuzz(given.inputs, given.seed)
    rows = [tally.row(name) for name, tally in tallies.items()]
    print(record_tables.merge_records("fuzz", rows, ["room", "target"]))
    for name, tally in tallies.items():
        for what, times in tally.exceptions.most_common(3):
            print(f"{name}: {times} x {what}")
    return int(any(row["exceptions"] or row["slow"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
