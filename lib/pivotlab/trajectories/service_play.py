"""Episodes of tau2's customer service as conversations, from actions fixed beforehand.

Calls are the assistant messages' tool calls, what comes back stands in user messages,
as in `rollouts`; so a turn's prompt is the one that a policy gets in its own episode. A
turn whose call tau2 refused, and the last one, which only ends the conversation, are
marked in `skips`: nothing is to be learnt there.
"""

from __future__ import annotations

from collections.abc import Sequence

from pivotlab import tool_call_text
from pivotlab.environments import tau2
from pivotlab.records import Message, Trajectory

#: What tau2's refusals begin with.
REFUSED = "Error:"


def play(
    task: str,
    actions: Sequence[str] | None = None,
    system: str | None = None,
    name: str = "gold",
) -> Trajectory:
    """One conversation, to its end or to the last action; `reward` is tau2's own.

    Args:
        task: id of `environments.tau2`.
        actions: what the agent sends; None takes the task's own gold actions.
        system: rules put before the first observation, or None.
        name: of the player, for the uid.

    Raises:
        ValueError: `task` names no task.
        ImportError: tau2 is not installed.
    """
    env = tau2.CustomerService()
    first = env.reset(task)
    messages = [Message("system", system)] if system is not None else []
    messages.append(Message("user", first))
    skips: dict[int, str] = {}
    reward, done = 0.0, False
    for action in env.gold() if actions is None else actions:
        observation, reward, done = env.step(action)
        if done or observation.startswith(REFUSED):
            skips[len(messages)] = "end" if done else "refused"
        messages.append(tool_call_text.parse(action))
        messages.append(Message("user", observation))
        if done:
            break
    return Trajectory(
        uid=f"{task}/{name}",
        messages=tuple(messages),
        domain="tool",
        source=name,
        reward=reward,
        meta={"task": task, "ended": done},
        skips=skips,
    )
