"""D_cand: every assistant turn of every trajectory, or the reason why not (Eq. 3).

For each trajectory candidates + skips = assistant turns. A turn that is in the log but
not a decision (canned, copied, demonstration, empty) was marked by its reader; a prompt
that leaves no room for an action is skipped here.

Departure from the paper: where a context names an `honest` action, it is the
demonstrated one and the prefix stays what really happened, so that states reached by a
noisy player or by the model itself carry the expert's answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pivotlab.records import Candidate, Message, Trajectory
from pivotlab.rendering import Renderer


@dataclass
class CandidateSet:
    """D_cand with its account: `turns` = len(candidates) + skips.total()."""

    candidates: list[Candidate] = field(default_factory=list)
    skips: Counter[str] = field(default_factory=Counter)
    turns: int = 0


def collect(
    trajectories: Iterable[Trajectory],
    renderer: Renderer | None = None,
    max_prompt_tokens: int | None = None,
) -> CandidateSet:
    """Candidates of all trajectories, in order.

    Args:
        trajectories: from a reader or a player.
        renderer: skips turns whose prompt its template refuses (`template_refuses`);
            needed with `max_prompt_tokens`.
        max_prompt_tokens: longest prompt, tool schemas included; longer ones are
            counted as `prompt_too_long`.

    Raises:
        ValueError: a limit without a renderer, or two turns with the same uid.
    """
    if max_prompt_tokens is not None and renderer is None:
        raise ValueError("max_prompt_tokens needs a renderer to measure prompts with")
    found, seen = CandidateSet(), set()
    for trajectory in trajectories:
        for index, candidate in enumerate_turns(trajectory):
            found.turns += 1
            reason = trajectory.skips.get(index)
            reason = reason or _unusable(candidate, renderer, max_prompt_tokens)
            if reason is not None:
                found.skips[reason] += 1
                continue
            if candidate.uid in seen:
                raise ValueError(
                    f"two turns are called {candidate.uid!r}; give trajectories "
                    "distinct uids before collecting their turns"
                )
            seen.add(candidate.uid)
            found.candidates.append(candidate)
    return found


def _unusable(
    candidate: Candidate, renderer: Renderer | None, most: int | None
) -> str | None:
    """Why nothing can be sampled or learnt at this turn, or None."""
    if not (candidate.expert.content.strip() or candidate.expert.tool_calls):
        return "empty"
    if renderer is None:
        return None
    try:
        length = renderer.length(candidate.prefix, candidate.tools)
    except ValueError:
        return "template_refuses"
    return "prompt_too_long" if most is not None and length > most else None


def enumerate_turns(trajectory: Trajectory) -> Iterator[tuple[int, Candidate]]:
    """(message index, candidate) of every assistant turn, skipped ones included."""
    for turn, index in enumerate(trajectory.assistant_turns()):
        context = trajectory.contexts.get(index, {})
        honest = context.get("honest")
        expert = trajectory.messages[index]
        yield (
            index,
            Candidate(
                uid=f"{trajectory.uid}#{turn}",
                trajectory_uid=trajectory.uid,
                turn=turn,
                prefix=trajectory.messages[:index],
                expert=expert if honest is None else Message("assistant", honest),
                tools=trajectory.tools,
                domain=trajectory.domain,
                context=context,
            ),
        )
