"""Recovery turns: what to do after a mistake, written by the hinted student (Eq. 2).

The environment is set to the state right after a pivotal turn, the teacher names an
action, the student says it in its own words with the hint before it, and that response
becomes a training sequence after the *unhinted* context. With K > 1 its action is
carried out and the teacher is asked again.

Departures from the paper: (1) states come from snapshots; only an environment whose
snapshot is None is replayed, with every observation checked; (2) a mistake on the last
turn of an episode has no recorded context after it and is counted, not followed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from pivotlab.distillation import hints
from pivotlab.distillation.resolution import resolve
from pivotlab.distillation.self_teacher import Ids, Request, SelfTeacher
from pivotlab.distillation.teachers import Teacher
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.environments.protocol import Environment
from pivotlab.records import Message, PivotalTurn, Rollout
from pivotlab.rollouts import resume
from pivotlab.rollouts.prompts import PromptGrower


class Tally(Counter):
    """Counts and seconds of one step, by name."""

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Adds the seconds spent inside to `name`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self[name] += time.perf_counter() - began


@dataclass(frozen=True)
class Recovery:
    """One recovery turn as a training sequence.

    Attributes:
        rollout: index of the rollout whose mistake it follows.
        turn: the pivotal turn.
        k: which recovery turn after it, from 1.
        prompt: unhinted context, token ids.
        response: tokens written, the trained part.
        distill: A_distill of every response token, unclipped.
        hinted: the context as the self-teacher saw it; never trained on.
        action: what the teacher named, resolved.
        said: what the response committed to.
        distribution: the hinted student's log-probs of the whole vocabulary at the
            response, where they are asked for.
    """

    rollout: int
    turn: int
    k: int
    prompt: Ids
    response: Ids
    distill: tuple[float, ...]
    hinted: Ids
    action: str
    said: str
    distribution: Float[Tensor, "response vocab"] | None = None


def fair_choice(counts: Sequence[int], limit: int, seed: int) -> list[tuple[int, int]]:
    """At most `limit` of many trajectories' pivots, one trajectory after another.

    Every trajectory gives its first pivot before any gives its second, and so on. The
    order of the trajectories is drawn from the seed, so that a tight limit does not
    always leave out the same ones.

    Args:
        counts: pivots of each trajectory.

    Returns:
        (trajectory, which of its pivots), in the order of processing.
    """
    order = np.random.default_rng(seed).permutation(len(counts)).tolist()
    rounds = range(max(counts, default=0))
    chosen = [(t, place) for place in rounds for t in order if place < counts[t]]
    return chosen[:limit]


def hinted_prompt(
    grower: PromptGrower, rollout: Rollout, turn: int, action: str | None
) -> Ids:
    """Prompt of a recorded turn with a hint at the end of the last observation.

    Args:
        action: what the hint names; None for a general reminder that names nothing.
    """
    start = resume(rollout, turn)
    messages = hints.hinted(start.messages, action)
    if turn == 0:
        return tuple(grower.first(messages))
    before = rollout.turns[turn - 1]
    prompt = list(rollout.token_ids[before.prompt_start : before.span[0]])
    taken = rollout.token_ids[slice(*before.span)]
    return tuple(grower.following(prompt, taken, messages))


def enter(environment: Environment, rollout: Rollout, turn: int) -> bool:
    """Put the environment before a recorded turn; False if a replay goes astray."""
    environment.reset(rollout.task)
    snapshot = rollout.turns[turn].snapshot
    if snapshot is not None:
        environment.restore(snapshot)
        return True
    return all(
        environment.step(taken.action).observation == taken.observation
        for taken in rollout.turns[:turn]
    )


@dataclass
class _Chain:
    """A pivot being followed: where the student stands now."""

    rollout: int
    turn: int
    environment: Environment
    messages: tuple[Message, ...]
    prompt: list[int]
    #: Prompt and tokens of the turn before this one.
    before: tuple[list[int], Ids]
    seed: int
    action: str = ""

    def hinted(self, grower: PromptGrower, nameless: bool) -> list[int]:
        messages = hints.hinted(self.messages, None if nameless else self.action)
        return grower.following(*self.before, messages)


@dataclass(frozen=True)
class Repairer:
    """What it takes to follow pivots.

    Attributes:
        teacher: names actions.
        writer: the hinted student.
        grower: of the student's prompts.
        environment: makes a fresh environment.
        sampling: of the responses, `stop_ids` included.
        turns: recovery turns per pivot [K].
        from_student: ablation "reverse-KL recovery": the response is drawn from the
            student without the hint, and the hinted student only scores it.
        nameless: ablation: the hint names no action.
        concurrency: questions put to the teacher at once.
    """

    teacher: Teacher
    writer: SelfTeacher
    grower: PromptGrower
    environment: Callable[[], Environment]
    sampling: Sampling
    turns: int = 1
    from_student: bool = False
    nameless: bool = False
    concurrency: int = 1

    def follow(
        self,
        rollouts: Sequence[Rollout],
        pivots: Sequence[tuple[int, PivotalTurn]],
        seeds: Sequence[int],
        tally: Tally,
    ) -> list[Recovery]:
        """Recovery turns after pivots, all pivots in lock-step.

        Args:
            rollouts: the step's.
            pivots: (index of the rollout, its pivotal turn), none on a last turn.
            seeds: of the noise, one per rollout.
            tally: gets `recovery/...` counts with reasons, and seconds.
        """
        chains = [self._start(rollouts, i, p.turn, seeds[i], tally) for i, p in pivots]
        chains = [c for c in chains if c is not None]
        found: list[Recovery] = []
        for k in range(1, self.turns + 1):
            chains = self._named(chains, rollouts, tally)
            if not chains:
                break
            with tally.timed("seconds/recovery"):
                written = self._write(chains, k)
                pairs = list(zip(chains, written, strict=True))
                pairs = [(c, r) for c, r in pairs if self._fit(r, tally)]
                found += [recovery for _, recovery in pairs]
                if k < self.turns:
                    chains = [c for c, r in pairs if self._advance(c, r, tally)]
        tally["recovery/rows"] += len(found)
        return found

    def _start(
        self, rollouts, index: int, turn: int, seed: int, tally: Tally
    ) -> _Chain | None:
        rollout, environment = rollouts[index], self.environment()
        if not enter(environment, rollout, turn + 1):
            tally["recovery/dropped/replay differs"] += 1
            return None
        start, taken = resume(rollout, turn + 1), rollout.turns[turn]
        before = list(rollout.token_ids[taken.prompt_start : taken.span[0]])
        own = derive_seed(seed, 1, turn)
        response = rollout.token_ids[slice(*taken.span)]
        prompt = list(start.prompt)
        messages = start.messages
        return _Chain(
            index, turn, environment, messages, prompt, (before, response), own
        )

    def _named(self, chains: list[_Chain], rollouts, tally: Tally) -> list[_Chain]:
        """The chains for which the teacher names an action that can be taken."""
        states = [c.environment.snapshot() for c in chains]

        def ask(chain: _Chain, state: Hashable) -> str | None:
            return self.teacher.recover(rollouts[chain.rollout], chain.messages, state)

        with tally.timed("seconds/teacher"):
            answers = at_once(ask, self.concurrency, chains, states)
        tally["teacher/recovery_queries"] += len(chains)
        going = []
        for chain, named in zip(chains, answers, strict=True):
            admissible = chain.environment.admissible()
            action = resolve(named, admissible) if named and admissible else named
            if action is None:
                reason = "no action named" if named is None else "unresolved"
                tally[f"recovery/dropped/{reason}"] += 1
                continue
            chain.action = action
            going.append(chain)
        return going

    def _write(self, chains: list[_Chain], k: int) -> list[Recovery]:
        hinted = [c.hinted(self.grower, self.nameless) for c in chains]
        plain = [c.prompt for c in chains]
        seeds = [derive_seed(c.seed, k) for c in chains]
        drawn_after, scored_after = (
            (plain, hinted) if self.from_student else (hinted, plain)
        )
        asked = self._requests(chains, drawn_after)
        samples = self.writer.write(asked, seeds, self.sampling)
        scores = self.writer.score(self._requests(chains, scored_after, samples))
        rows = zip(chains, hinted, samples, scores, strict=True)
        return [self._recovery(*row, k) for row in rows]

    def _requests(self, chains, prompts, samples: Sequence[Sample] = ()):
        said = [s.token_ids for s in samples] or [()] * len(chains)
        return [
            Request(c.rollout, tuple(p), ids)
            for c, p, ids in zip(chains, prompts, said, strict=True)
        ]

    def _recovery(
        self,
        chain: _Chain,
        hinted: list[int],
        sample: Sample,
        scores: Tensor,
        k: int,
    ) -> Recovery:
        check_unprivileged(chain.messages)
        gap = torch.tensor(sample.log_probs) - scores
        message = self.grower.renderer.action(sample.token_ids)
        return Recovery(
            rollout=chain.rollout,
            turn=chain.turn,
            k=k,
            prompt=tuple(chain.prompt),
            response=sample.token_ids,
            distill=tuple((-gap if self.from_student else gap).tolist()),
            hinted=tuple(hinted),
            action=chain.action,
            said=message.content,
        )

    def _fit(self, recovery: Recovery, tally: Tally) -> bool:
        """Whether a response may be trained on; if not, the reason is counted."""
        text = self.grower.renderer.tokenizer.decode(list(recovery.response))
        if not self.grower.is_ended(recovery.response):
            reason = "truncated"
        elif not recovery.said.strip():
            reason = "no action"
        elif hints.leak(text) is not None:
            reason = "leak"
        else:
            return True
        tally[f"recovery/dropped/{reason}"] += 1
        return False

    def _advance(self, chain: _Chain, recovery: Recovery, tally: Tally) -> bool:
        """Carry out a response; False if the episode ends with it."""
        step = chain.environment.step(recovery.said)
        if step.done:
            tally["recovery/solved"] += 1
            return False
        said = self.grower.renderer.action(recovery.response)
        chain.messages = (*chain.messages, said, Message("user", step.observation))
        chain.before = (chain.prompt, recovery.response)
        chain.prompt = self.grower.following(*chain.before, chain.messages)
        return True


def at_once(ask: Callable, number: int, *arguments: Sequence) -> list:
    """`ask` on every set of arguments, in order, up to `number` of them in threads."""
    if number == 1:
        return list(map(ask, *arguments))
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(ask, *arguments))


def check_unprivileged(messages: Sequence[Message]) -> None:
    """Check what a training prompt was given; see `hints.assert_unprivileged`."""
    given = (m.content for m in messages if m.role != "assistant")
    hints.assert_unprivileged("\n".join(given))
