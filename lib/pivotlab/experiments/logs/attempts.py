"""Several attempts at one task: two next actions at one state, without any model.

Attempts that have done the same so far stand before the same state, so their next
actions are a (demonstrated, other) pair; the earlier attempt's counts as demonstrated.
"Done the same" means: equal calls in trajectories that call tools (their texts change
no state, and turns of text alone are not paired), equal texts elsewhere. Tasks are the
same if they are called the same in one file, or in any file if the first message of the
user is the same too (a simulated user words it anew each time).

Departure from the paper, which compares samples of a policy: the others here are
actions of whoever made the log. Equal pairs count once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from pivotlab.intervals import bootstrap_mean
from pivotlab.pivots.candidates import enumerate_turns
from pivotlab.records import Candidate, Message, Trajectory, Verdict
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.protocol import Verifier

#: Recorded rewards are sums of rounded thirds; this is full marks.
FULL = 0.995


@dataclass(frozen=True)
class Pair:
    """The same state in two attempts, each with the action taken there."""

    task: str
    candidate: Candidate
    other: Candidate


@dataclass(frozen=True)
class Judged:
    """A pair under the strict and the functional verdict."""

    pair: Pair
    strict: Verdict
    functional: Verdict


def same_state_pairs(trajectories: Iterable[Trajectory]) -> list[Pair]:
    """Distinct pairs of next actions at equal states of equal tasks, in file order."""
    by_task: dict[tuple[str, str], list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        task = str(trajectory.meta.get("task", trajectory.uid))
        by_task[task, _origin(trajectory)].append(trajectory)
    found: dict[tuple[str, ...], Pair] = {}
    for (task, origin), attempts in by_task.items():
        name = f"{task} ({origin})"
        turns = [dict(_turns(attempt)) for attempt in attempts]
        for first, second in combinations(turns, 2):
            for state in (s for s in first if s in second):
                gold, other = first[state], second[state]
                key = (name, state, action_key(gold.expert), action_key(other.expert))
                found.setdefault(key, Pair(name, gold, other))
    return list(found.values())


def judge(pairs: Sequence[Pair], verifier: Verifier) -> list[Judged]:
    """Both verdicts on every pair whose demonstration the verifier itself accepts."""
    strict = ExactVerifier()
    return [
        Judged(
            pair,
            strict.verify(pair.candidate, pair.other.expert),
            verifier.verify(pair.candidate, pair.other.expert),
        )
        for pair in pairs
        if verifier.verify(pair.candidate, pair.candidate.expert).reward >= 1.0
    ]


def acceptance(judged: Sequence[Judged]) -> pd.DataFrame:
    """One row a domain (and `all`): n, tasks, shares accepted, and the miss rate.

    `miss_rate` is Pr[strict = 0 | functional = 1], NaN where nothing was accepted, with
    95 % bootstrap limits over tasks in `miss_rate_lo` and `miss_rate_hi`.
    """
    domains = list(dict.fromkeys(j.pair.candidate.domain for j in judged))
    groups = {d: [j for j in judged if j.pair.candidate.domain == d] for d in domains}
    if len(domains) > 1:
        groups["all"] = list(judged)
    return pd.DataFrame([_row(name, rows) for name, rows in groups.items()])


def against_reward(judged: Sequence[Judged]) -> pd.DataFrame:
    """Verdicts against rewards that a log recorded for every single action.

    Only pairs whose demonstrated action earned full reward count; the other action is
    right iff it did, too. Verdicts that differ from that are not all wrong: an action
    may earn nothing yet and still be on the way.

    Returns:
        One row a verdict: verdict, n, tasks, rewarded, accepted, precision and recall
        with 95 % bootstrap limits over tasks; empty where no log records rewards.
    """
    known = [j for j in judged if _reward(j.pair.candidate) >= FULL]
    truth = [_reward(j.pair.other) >= FULL for j in known]
    rows = []
    for name in ("strict", "functional") if known else ():
        said = [getattr(j, name).reward >= 1.0 for j in known]
        tasks = [j.pair.task for j in known]
        rows.append(
            {
                "verdict": name,
                "n": len(known),
                "tasks": len(set(tasks)),
                "rewarded": sum(truth),
                "accepted": sum(said),
                **_share("precision", truth, said, tasks),
                **_share("recall", said, truth, tasks),
            }
        )
    return pd.DataFrame(rows)


def disagreements(judged: Sequence[Judged], most: int = 3) -> pd.DataFrame:
    """Pairs that only the functional verdict accepts, at most `most` a domain."""
    rows = [
        {
            "domain": j.pair.candidate.domain,
            "demonstrated": action_text(j.pair.candidate.expert),
            "other": action_text(j.pair.other.expert),
            "strict": j.strict.category,
            "functional": j.functional.category,
        }
        for j in judged
        if j.functional.reward >= 1.0 > j.strict.reward
    ]
    table = pd.DataFrame(rows, columns=list(_DISAGREEMENT))
    return table.groupby("domain", sort=False).head(most).reset_index(drop=True)


_DISAGREEMENT = ("domain", "demonstrated", "other", "strict", "functional")


def action_text(message: Message) -> str:
    """An action as one reads it: its text, then its calls."""
    calls = [
        f"{call.name}({_arguments(call.arguments)})" for call in message.tool_calls
    ]
    return "\n".join(part for part in (message.content.strip(), *calls) if part)


def action_key(message: Message) -> str:
    """One spelling of equal actions: keys sorted, white space collapsed."""
    calls = [[c.name, _arguments(c.arguments, sort=True)] for c in message.tool_calls]
    return json.dumps([" ".join(message.content.split()), calls])


def _arguments(given: object, sort: bool = False) -> str:
    if isinstance(given, str):
        return given
    return json.dumps(given, ensure_ascii=False, sort_keys=sort, default=repr)


def _calls_tools(trajectory: Trajectory) -> bool:
    return any(m.tool_calls for m in trajectory.messages)


def _origin(trajectory: Trajectory) -> str:
    """What tells tasks of one name apart: the file, or the opening of a text world."""
    if _calls_tools(trajectory):
        return trajectory.source
    return next((m.content for m in trajectory.messages if m.role == "user"), "")


def _turns(trajectory: Trajectory) -> Iterator[tuple[str, Candidate]]:
    """(state, turn) of every decision; the first turn at a state counts."""
    calls = _calls_tools(trajectory)
    done: list[str] = []
    seen: set[str] = set()
    for index, turn in enumerate_turns(trajectory):
        action = trajectory.messages[index]
        if index in trajectory.skips or (calls and not action.tool_calls):
            continue
        state = json.dumps(done)
        if state not in seen:
            seen.add(state)
            yield state, turn
        made = Message("assistant", "", action.tool_calls) if calls else action
        done.append(action_key(made))


def _reward(turn: Candidate) -> float:
    """The reward recorded for this action, -1 where there is none."""
    found = turn.context.get("reward")
    return float(found) if isinstance(found, int | float) else -1.0


def _share(
    name: str, values: Sequence[bool], among: Sequence[bool], tasks: Sequence[str]
) -> dict[str, float]:
    """Share of true values among some, with its limits; NaN for none."""
    kept = [(float(v), t) for v, a, t in zip(values, among, tasks, strict=True) if a]
    found = (float("nan"),) * 3
    if kept:
        found = bootstrap_mean([v for v, _ in kept], [t for _, t in kept])
    return dict(zip((name, f"{name}_lo", f"{name}_hi"), found, strict=True))


def _row(name: str, rows: Sequence[Judged]) -> dict[str, object]:
    right = [j.functional.reward >= 1.0 for j in rows]
    missed = [j.strict.reward < 1.0 for j in rows]
    miss = _share("miss_rate", missed, right, [j.pair.task for j in rows])
    return {
        "domain": name,
        "n": len(rows),
        "tasks": len({j.pair.task for j in rows}),
        "strict": sum(j.strict.reward >= 1.0 for j in rows) / len(rows),
        "functional": sum(right) / len(rows),
        "accepted": sum(right),
        **miss,
    }
