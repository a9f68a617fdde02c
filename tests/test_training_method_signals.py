"""What each method asks, of whom, and how it is counted."""

from dataclasses import replace

import pytest
from episode_toys import BACK, FORWARD, RENDERER, TASKS, TOKENIZER, Stairs, talker
from multiturn_toys import SETTINGS, STOP, Advising, built
from test_training_method_batch import BANK, method_trainer

from pivotlab.distillation.methods import METHODS
from pivotlab.distillation.skill_bank import Skill, SkillBank
from pivotlab.engines.protocol import Sampling
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.training.method_signals import (
    MethodDistiller,
    as_distillation,
)
from pivotlab.training.multiturn import train_multiturn

SAMPLING = Sampling(6, 1.0, STOP)
TASK = TASKS[1]


@pytest.fixture(scope="module")
def scene():
    """Two groups of four on one task each."""
    player = RememberingPlayer(talker())
    starts = [Start(t, 20 + i) for i, t in enumerate([TASKS[0]] * 4 + [TASK] * 4)]
    rules = Settings(max_turns=4, sampling=SAMPLING)
    return player, play(player, RENDERER, Stairs, starts, rules)


def signals(scene, name, bank=None, rollouts=None, judge=None):
    player, played = scene
    rollouts = rollouts or played
    own = MethodDistiller(
        as_distillation(METHODS[name]), Advising(Stairs()), RENDERER, Stairs, SAMPLING,
        4, bank=bank, judge=judge,
    )  # fmt: skip
    return own.signals(rollouts, player, range(8), 5, 0, lambda items: items)


def prompts(marks):
    return [RENDERER.tokenizer.decode(list(m.request.prompt)) for m in marks]


def test_skills_are_hinted_before_every_turn(scene):
    found = signals(scene, "rlsd", BANK)
    turns = [(i, t) for i, r in enumerate(scene[1]) for t in range(len(r.turns))]
    assert len(found.every) == len(turns) == found.tally["hint/turns"]
    assert all(f"sensible to {FORWARD} now" in p for p in prompts(found.every))
    starts = [scene[1][i].turns[t].span[0] for i, t in turns]
    assert [m.start for m in found.every] == starts
    assert not found.tally["teacher/reports"] and not found.lesson


def test_a_skill_that_does_not_fit_the_state_is_left_out_and_counted(scene):
    odd = SkillBank((Skill("you see a mug 1", "you see a box 1", "sing a song"),))
    found = signals(scene, "rlsd", odd)
    assert not found.every
    assert found.tally["hint/none fits"] == sum(len(r.turns) for r in scene[1])


def test_the_sibling_is_the_first_that_won_and_never_the_rollout_itself(scene):
    rollouts = [replace(r, reward=float(i == 1)) for i, r in enumerate(scene[1])]
    found = signals(scene, "step_opsd", rollouts=rollouts)
    assert {m.rollout for m in found.every} <= {0, 2, 3}
    assert found.tally["hint/no successful sibling"] == 1 + 4
    said = {t.action for t in rollouts[1].turns}
    for text in prompts(found.every):
        assert any(f"sensible to {action} now" in text for action in said)


def test_the_report_names_turns_and_gives_a_lesson(scene):
    found = signals(scene, "opid")
    assert found.tally["teacher/reports"] == 8
    wrong = sum(t.action == BACK for r in scene[1] for t in r.turns)
    assert 0 < len(found.every) <= wrong
    assert {m.rollout for m in found.lesson} == {4, 5, 6, 7}, "odd tasks have one"


def test_verdicts_are_those_of_the_way_to_the_goal_or_of_a_judge(scene):
    found = signals(scene, "pivotrl")
    for rollout, verdicts in zip(scene[1], found.verdicts, strict=True):
        assert verdicts == [float(t.action == FORWARD) for t in rollout.turns]
    assert not found.every

    def strict(rollout):
        return [0.0] * len(rollout.turns)

    found = signals(scene, "pivotrl", judge=strict)
    assert not any(map(any, found.verdicts))


def test_skills_stand_in_the_training_prompts_of_skill_grpo_only(tmp_path):
    seen = {}
    for name in ("skill_grpo", "sdar"):
        one = method_trainer(tmp_path, name)
        built(one)
        seen[name] = [r.messages[0].content for r in one._rollouts]
    assert all(FORWARD in text for text in seen["skill_grpo"])
    assert not any(FORWARD in text for text in seen["sdar"])


@pytest.mark.parametrize("name", ["sdar", "skill_grpo"])
def test_a_method_that_needs_skills_says_so(name):
    own = replace(SETTINGS, distillation=as_distillation(METHODS[name]))
    for bank in (None, SkillBank(())):
        with pytest.raises(ValueError, match=f"method '{name}' needs skills"):
            train_multiturn(talker(), TOKENIZER, Stairs, TASKS, own, bank=bank)


def test_a_method_that_asks_a_teacher_says_so():
    own = replace(SETTINGS, distillation=as_distillation(METHODS["opid"]))
    with pytest.raises(ValueError, match="needs a teacher"):
        train_multiturn(talker(), TOKENIZER, Stairs, TASKS, own)
