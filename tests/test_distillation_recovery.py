"""Recoveries: chosen fairly, counted with reasons, free of the hint."""

from collections import Counter

import pytest
from episode_toys import (
    BACK,
    FORWARD,
    IDLE,
    RENDERER,
    TASKS,
    Forgetful,
    Stairs,
    follower,
    log_prob,
    talker,
    teacher,
)
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.distillation import hints
from pivotlab.distillation.recovery import (
    Repairer,
    Tally,
    check_unprivileged,
    enter,
    fair_choice,
    hinted_prompt,
)
from pivotlab.distillation.self_teacher import SelfTeacher
from pivotlab.distillation.teachers import Report
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.records import Message, PivotalTurn
from pivotlab.rollouts import Settings, Start, play, resume
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.rollouts.prompts import PromptGrower

SAMPLING = Sampling(6, 1.0, (RENDERER.end_of_turn,))
GROWER = PromptGrower(RENDERER)


def scene(model, world=Stairs, turns=4):
    player = RememberingPlayer(model)
    starts = [Start(task, seed) for seed, task in enumerate(TASKS)]
    rollouts = play(
        player, RENDERER, world, starts, Settings(max_turns=turns, sampling=SAMPLING)
    )
    return player, rollouts


def follow(player, rollouts, pivots, world=Stairs, named=None, **changes):
    repairer = Repairer(
        named or teacher(world),
        SelfTeacher(player),
        GROWER,
        world,
        SAMPLING,
        **{"turns": 2, **changes},
    )
    tally = Tally()
    return repairer.follow(rollouts, pivots, range(len(rollouts)), tally), tally


@given(
    st.lists(st.integers(0, 5), max_size=9), st.integers(0, 30), st.integers(0, 2**40)
)
def test_fair_choice_is_fair_and_counts_right(counts, limit, seed):
    chosen = fair_choice(counts, limit, seed)
    assert len(chosen) == min(limit, sum(counts)) == len(set(chosen))
    assert all(0 <= place < counts[t] for t, place in chosen)
    given_ = Counter(t for t, _ in chosen)
    for t, place in chosen:
        assert place < given_[t]  # the earliest pivots of a trajectory come first
    for a in range(len(counts)):
        for b in range(len(counts)):
            if given_[a] < min(counts[a], given_[b]):
                assert given_[b] - given_[a] <= 1


def test_a_tight_limit_does_not_always_serve_the_same_trajectories():
    served = {fair_choice([1] * 8, 1, seed)[0][0] for seed in range(60)}
    assert served == set(range(8))


def test_hinted_prompt_is_the_recorded_one_with_the_hint_before_the_turn():
    _, rollouts = scene(talker())
    rollout = rollouts[0]
    for turn in range(len(rollout.turns)):
        found = list(hinted_prompt(GROWER, rollout, turn, FORWARD))
        messages = hints.hinted(resume(rollout, turn).messages, FORWARD)
        assert found == RENDERER.prompt_ids(messages)
        start = rollout.turns[turn].span[0]
        assert tuple(found) != rollout.token_ids[:start]


def test_recovery_goes_on_from_the_state_after_the_mistake():
    player, rollouts = scene(follower())
    pivots = [(i, PivotalTurn(0, FORWARD)) for i in range(len(rollouts))]
    found, tally = follow(player, rollouts, pivots)
    assert {r.k for r in found} == {1, 2} and tally["recovery/rows"] == len(found)
    for recovery in found:
        rollout = rollouts[recovery.rollout]
        world = Stairs()
        assert enter(world, rollout, 1)
        if recovery.k == 1:
            assert recovery.prompt == rollout.token_ids[: rollout.turns[1].span[0]]
        else:
            (first,) = [r for r in found if r.rollout == recovery.rollout and r.k == 1]
            seen = world.step(first.said).observation
            head = (*first.prompt, *first.response)
            assert recovery.prompt[: len(head)] == head
            tail = RENDERER.tokenizer.decode(recovery.prompt[len(head) :])
            assert seen in tail
        assert recovery.action in world.optimal_actions()
        assert recovery.said == FORWARD  # the follower does as the hint says


def test_distill_is_hinted_minus_plain():
    model = follower()
    player, rollouts = scene(model)
    pivots = [(i, PivotalTurn(0, FORWARD)) for i in range(3)]
    for changes in ({}, {"from_student": True}, {"nameless": True}):
        found, _ = follow(player, rollouts, pivots, **changes)
        for r in found:
            gap = log_prob(model, r.hinted, r.response)
            gap = gap - log_prob(model, r.prompt, r.response)
            assert r.distill == pytest.approx(gap.tolist(), abs=2e-5)
    assert any(hints.template("reflection") in text(r.hinted) for r in found)


def text(ids):
    return RENDERER.tokenizer.decode(list(ids))


def test_no_prompt_holds_the_hint_and_every_hinted_one_does():
    player, rollouts = scene(talker())
    pivots = [(i, PivotalTurn(0, FORWARD)) for i in range(len(rollouts))]
    found, _ = follow(player, rollouts, pivots)
    assert found
    for recovery in found:
        hints.assert_unprivileged(text(recovery.prompt))
        hints.assert_unprivileged(text(recovery.response))
        with pytest.raises(AssertionError):
            hints.assert_unprivileged(text(recovery.hinted))


def test_privileged_messages_are_caught():
    shown = hints.taught([Message("user", "you see a box 1")], "be quick")
    for messages in (shown, hints.hinted([Message("user", "a")], None)):
        with pytest.raises(AssertionError, match="privileged"):
            check_unprivileged(messages)


class Says:
    """A teacher that gives one answer to everything."""

    counts = Counter()

    def __init__(self, answer):
        self.answer = answer

    def report(self, rollout, limit):
        return Report()

    def recover(self, rollout, messages, state):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(None, "no action named"), ("fly to the moon at once", "unresolved")],
)
def test_unusable_teachers_are_counted(answer, reason):
    player, rollouts = scene(talker())
    pivots = [(0, PivotalTurn(0, FORWARD)), (1, PivotalTurn(1, FORWARD))]
    found, tally = follow(player, rollouts, pivots, named=Says(answer))
    assert found == [] and tally[f"recovery/dropped/{reason}"] == 2


@pytest.mark.parametrize(
    ("said", "reason"),
    [("My own idea: look", "leak"), ("  ", "no action"), (None, "truncated")],
)
def test_unfit_responses_are_counted(monkeypatch, said, reason):
    player, rollouts = scene(talker())

    def write(self, requests, seeds, sampling):
        end = () if said is None else (RENDERER.end_of_turn,)
        ids = (*RENDERER.encode(said or "go to bed 1"), *end)
        return [Sample(ids, said is None, (-1.0,) * len(ids)) for _ in requests]

    monkeypatch.setattr(SelfTeacher, "write", write)
    found, tally = follow(player, rollouts, [(0, PivotalTurn(0, FORWARD))])
    assert found == [] and tally[f"recovery/dropped/{reason}"] == 1


def test_a_failed_turn_ends_its_chain_and_no_other():
    player, rollouts = scene(follower())

    class OnceOnly(Says):
        def recover(self, rollout, messages, state):
            acted = sum(m.role == "assistant" for m in messages)
            return FORWARD if acted < 2 or rollout is rollouts[0] else None

    pivots = [(i, PivotalTurn(0, FORWARD)) for i in range(3)]
    found, tally = follow(player, rollouts, pivots, named=OnceOnly(FORWARD))
    assert sorted((r.rollout, r.k) for r in found) == [(0, 1), (0, 2), (1, 1), (2, 1)]
    assert tally["recovery/dropped/no action named"] == 2


def test_without_snapshots_the_prefix_is_replayed_and_checked():
    player, rollouts = scene(talker(), Forgetful)
    assert rollouts[0].turns[1].snapshot is None
    pivots = [(i, PivotalTurn(1, FORWARD)) for i in range(len(rollouts))]
    pivots = [(i, p) for i, p in pivots if len(rollouts[i].turns) > 2]
    says = {"named": Says(FORWARD), "turns": 1}
    found, tally = follow(player, rollouts, pivots, Forgetful, **says)
    assert found and not tally["recovery/dropped/replay differs"]

    class Changed(Forgetful):
        def step(self, action):
            return super().step(IDLE if action == BACK else BACK)

    found, tally = follow(player, rollouts, pivots, Changed, **says)
    assert tally["recovery/dropped/replay differs"] + len(found) <= len(pivots)
    assert tally["recovery/dropped/replay differs"] > 0
