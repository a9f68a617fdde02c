"""Candidate turns of agent logs: which files, which turns, and why not the others.

Every assistant turn read is a candidate or a skip with its reason. Beyond the reader's
own reasons and the length of the prompt, a turn is skipped where its episode earned too
little to demonstrate anything, where it was named as wrong, and where the verifier
rejects the demonstration itself: its verdicts could not be trusted there.

A recorded reward is that of an episode, no truth about its turns: a reward of 1 can
stand beside a required call that was never made. Where a log holds checks of single
actions, `checked` asks for those too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from pivotlab.pivots.candidates import collect
from pivotlab.records import Candidate, Message, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.trajectories import tau2, terminal
from pivotlab.trajectories.loading import LoadReport, stream
from pivotlab.verifiers.protocol import Verifier, judged


@dataclass
class Turns:
    """D_cand of some logs with its account: `turns` = len(candidates) + skips.

    `unread` names the files whose rest was not read because the limit was reached.
    `observed` holds the characters of all observations before and after cleaning.
    """

    trajectories: list[Trajectory] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    skips: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    reports: list[LoadReport] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    observed: tuple[int, int] = (0, 0)

    def files(self) -> pd.DataFrame:
        """One row a file: format, trajectories, turns, candidates, skips by reason.

        These are the reader's counts; `skips` of this object has the rest.
        """
        return pd.DataFrame([report.row() for report in self.reports])


def read_turns(
    files: Sequence[Path],
    verifier: Verifier,
    renderer: Renderer | None = None,
    *,
    max_prompt_tokens: int | None = None,
    limit: int | None = None,
    min_reward: float | None = None,
    system: str | None = None,
    exclude: Collection[str] = (),
    checked: bool = False,
    clean: bool = False,
) -> Turns:
    """Candidates of some files, every assistant turn that was read accounted for.

    Args:
        files: of any known format.
        verifier: turns whose demonstration it rejects are skipped.
        renderer: skips turns that its template refuses.
        max_prompt_tokens: longest prompt, tool schemas included.
        limit: most candidates a file; the rest of the file is not read.
        min_reward: turns of episodes that earned less, or of unknown reward, are
            skipped: they demonstrate nothing.
        system: rules put before conversations that have none; many logs do not hold
            what told their agent which form its answers must have.
        exclude: uids of trajectories or turns to skip, such as known wrong labels.
        checked: turns of episodes whose recorded checks of single actions did not all
            pass, or that have none, are skipped (tau2 has them).
        clean: observations lose terminal control codes and what was drawn over.

    Raises:
        ValueError: nothing read is called what `exclude` names.
    """
    found, seen = Turns(), set()
    rules = _Rules(
        verifier, renderer, max_prompt_tokens, min_reward, frozenset(exclude), checked
    )
    for path in files:
        report = LoadReport(str(path))
        found.reports.append(report)
        room = limit
        for trajectory in stream(path, report):
            trajectory = _with_rules(_named_apart(trajectory, seen), system)
            trajectory = _cleaned(trajectory, found) if clean else trajectory
            room = _add(found, trajectory, rules, room)
            if room == 0:
                found.unread.append(str(path))
                break
    _check_excluded(exclude, found)
    return found


@dataclass(frozen=True)
class _Rules:
    """What makes a turn a candidate."""

    verifier: Verifier
    renderer: Renderer | None
    max_prompt_tokens: int | None
    min_reward: float | None
    exclude: frozenset[str]
    checked: bool

    def unearned(self, trajectory: Trajectory) -> str | None:
        """Why an episode demonstrates nothing, or None."""
        if trajectory.uid in self.exclude:
            return "excluded"
        if self.checked:
            passed = tau2.passed_action_checks(trajectory)
            if not passed:
                return "no_action_checks" if passed is None else "action_check_failed"
        if self.min_reward is None:
            return None
        if trajectory.reward is None:
            return "reward_unknown"
        return "reward_too_low" if trajectory.reward < self.min_reward else None

    def rejection(self, candidate: Candidate) -> str | None:
        """Why a turn is left out or the verifier cannot judge there, or None."""
        if candidate.uid in self.exclude:
            return "excluded"
        verdict = judged(self.verifier, candidate, candidate.expert)
        if verdict.reward >= 1.0:
            return None
        return f"demonstration_rejected: {verdict.category}"


def _with_rules(trajectory: Trajectory, system: str | None) -> Trajectory:
    """The trajectory with a system message in front, if it has none."""
    if not system or any(m.role == "system" for m in trajectory.messages):
        return trajectory
    return replace(
        trajectory,
        messages=(Message("system", system), *trajectory.messages),
        skips={i + 1: reason for i, reason in trajectory.skips.items()},
        contexts={i + 1: known for i, known in trajectory.contexts.items()},
    )


def _cleaned(trajectory: Trajectory, found: Turns) -> Trajectory:
    """The trajectory with cleaned observations; adds both lengths to the account."""
    messages = tuple(
        replace(m, content=terminal.clean(m.content)) if _is_observed(m) else m
        for m in trajectory.messages
    )
    lengths = (
        sum(len(m.content) for m in version if _is_observed(m))
        for version in (trajectory.messages, messages)
    )
    found.observed = tuple(map(sum, zip(found.observed, lengths, strict=True)))
    return replace(trajectory, messages=messages)


def _is_observed(message: Message) -> bool:
    return message.role in ("tool", "user")


def _check_excluded(exclude: Collection[str], found: Turns) -> None:
    """Refuses names that nothing has; what was not read cannot be told."""
    known = {t.uid for t in found.trajectories}
    unknown = [u for u in sorted(exclude) if not {u, u.rpartition("#")[0]} & known]
    if unknown and not found.unread:
        raise ValueError(
            f"nothing read is called {', '.join(unknown)}; uids are in turns.csv "
            "(a turn is TRAJECTORY#NUMBER)"
        )


def _named_apart(trajectory: Trajectory, seen: set[str]) -> Trajectory:
    """The trajectory under a uid that no file before it used."""
    uid, copies = trajectory.uid, 1
    while uid in seen:
        copies += 1
        uid = f"{trajectory.uid}@{copies}"
    seen.add(uid)
    return replace(trajectory, uid=uid)


def _add(
    found: Turns,
    trajectory: Trajectory,
    rules: _Rules,
    room: int | None,
) -> int | None:
    """Add the turns of one trajectory; returns how many more may come (None: any)."""
    own = collect([trajectory], rules.renderer, rules.max_prompt_tokens)
    found.trajectories.append(trajectory)
    found.turns += own.turns
    found.skips.update(own.skips)
    unearned = rules.unearned(trajectory)
    for candidate in own.candidates:
        reason = unearned or rules.rejection(candidate)
        if reason is not None:
            found.skips[reason] += 1
        elif room == 0:
            found.skips["over_limit"] += 1
        else:
            found.candidates.append(candidate)
            room = None if room is None else room - 1
    return room
