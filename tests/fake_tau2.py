"""A stand-in for tau2: one tool that reads, one that writes, two tasks."""

import hashlib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from pivotlab.environments import tau2


@dataclass
class ToolCall:
    id: str
    name: str
    arguments: dict


@dataclass
class AssistantMessage:
    role: str
    content: str | None
    tool_calls: list | None


@dataclass
class Tools:
    seats: dict = field(default_factory=lambda: {"a1": "free", "a2": "free"})

    def has_tool(self, name: str) -> bool:
        return name in ("look", "book")

    def tool_type(self, name: str) -> Any:
        return SimpleNamespace(value={"look": "read", "book": "write"}[name])


class World:
    """Seats that can be looked at and booked; counts how often it was copied."""

    copies = 0

    def __init__(self):
        self.tools = Tools()

    def __deepcopy__(self, memo):
        World.copies += 1
        fresh = World()
        fresh.tools.seats = dict(self.tools.seats)
        return fresh

    def get_policy(self) -> str:
        return "Be kind.\n"

    def get_tools(self) -> list:
        return [
            SimpleNamespace(name=n, openai_schema=schema(n)) for n in ("look", "book")
        ]

    def get_response(self, call: ToolCall) -> Any:
        seats, seat = self.tools.seats, call.arguments.get("seat")
        if seat not in seats:
            return SimpleNamespace(content=f"Error: no seat {seat}")
        if call.name == "book":
            seats[seat] = "taken"
        return SimpleNamespace(content=f"{seat} {seats[seat]}")

    def digest(self) -> str:
        return hashlib.sha256(repr(self.tools.seats).encode()).hexdigest()


def schema(name: str) -> dict:
    properties = {"seat": {"type": "string"}}
    about = f"{name.title()} a seat.\nMore words."
    function = {"name": name, "description": about}
    return {"function": {**function, "parameters": {"properties": properties}}}


def task(number: str, seat: str) -> Any:
    actions = [SimpleNamespace(name="book", arguments={"seat": seat})]
    basis = [SimpleNamespace(value="DB"), SimpleNamespace(value="COMMUNICATE")]
    return SimpleNamespace(
        id=number,
        user_scenario=SimpleNamespace(instructions=f"You want seat {seat}."),
        evaluation_criteria=SimpleNamespace(
            actions=actions, communicate_info=["Done"], reward_basis=basis
        ),
    )


class DatabaseCheck:
    """Runs the recorded calls and the gold calls, each in a world of its own."""

    @staticmethod
    def calculate_reward(start, task, messages):
        found, gold = start(), start()
        for message in messages:
            for call in getattr(message, "tool_calls", None) or ():
                found.get_response(call)
        for action in task.evaluation_criteria.actions:
            gold.get_response(ToolCall("", action.name, action.arguments))
        return SimpleNamespace(reward=float(found.digest() == gold.digest()))


class SpokenCheck:
    @staticmethod
    def calculate_reward(task, messages):
        texts = [getattr(m, "content", None) or "" for m in messages]
        wanted = task.evaluation_criteria.communicate_info
        return SimpleNamespace(reward=float(any(wanted[0] in t for t in texts)))


def module(name: str) -> Any:
    """What stands in for `tau2.<name>`."""
    if name.startswith("domains."):
        tasks = [task("0", "a1"), task("1", "a2")]
        return SimpleNamespace(get_environment=World, get_tasks=lambda: tasks)
    return SimpleNamespace(
        ToolCall=ToolCall,
        AssistantMessage=AssistantMessage,
        EnvironmentEvaluator=DatabaseCheck,
        CommunicateEvaluator=SpokenCheck,
    )


@pytest.fixture
def fake_tau2(monkeypatch):
    """`environments.tau2` on the stand-in; nothing is kept between tests."""
    tau2._world.cache_clear()
    tau2._tasks.cache_clear()
    monkeypatch.setattr(tau2, "package", module)
    World.copies = 0
    yield World
    tau2._world.cache_clear()
    tau2._tasks.cache_clear()
