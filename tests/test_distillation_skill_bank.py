"""A bank holds what won, finds what is near, and goes by its digest."""

from dataclasses import replace

import pytest
from episode_toys import RENDERER, TASKS, Stairs, talker
from multiturn_toys import STOP

from pivotlab.distillation.skill_bank import Skill, SkillBank, goal, skills_of
from pivotlab.engines.protocol import Sampling
from pivotlab.records import Message, Rollout, Turn
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer

ROOM = "You see a fridge 1.\n\nYour task is to: cool an egg."


def episode(reward=1.0):
    """Three turns, the second of which changes nothing."""
    said = ("open fridge 1", "look", "take egg 1 from fridge 1")
    seen = ("It is open: an egg 1.", "Nothing happens.", "You hold the egg 1.")
    messages = [Message("user", ROOM)]
    for action, answer in zip(said, seen, strict=True):
        messages += [Message("assistant", action), Message("user", answer)]
    turns = [
        Turn((2 * i, 2 * i + 1), a, a, o, snapshot=state)
        for i, (a, o, state) in enumerate(zip(said, seen, (0, 1, 1), strict=True))
    ]
    return Rollout("t", (1,) * 6, (1,) * 6, (0.0,) * 6, tuple(turns), reward, True,
                   tuple(messages))  # fmt: skip


def test_skills_are_the_steps_that_changed_the_state():
    found = skills_of(episode())
    assert [s.action for s in found] == ["open fridge 1", "take egg 1 from fridge 1"]
    assert {s.task for s in found} == {"Your task is to: cool an egg."}
    assert goal(episode().messages) == "Your task is to: cool an egg."
    assert found[0].situation == "You see a fridge 1."
    assert found[1].situation == "Nothing happens."


def test_lost_episodes_teach_nothing_and_equal_skills_count_once():
    assert SkillBank.build([episode(0.0)]).skills == ()
    assert len(SkillBank.build([episode(), episode()]).skills) == 2
    assert len(SkillBank.build([episode()], size=1).skills) == 1


BANK = SkillBank(
    (
        Skill("cool an egg", "the fridge 1 is closed", "open fridge 1"),
        Skill("heat a mug", "the microwave 1 is closed", "open microwave 1"),
        Skill("cool an egg", "you hold the egg 1", "go to fridge 1"),
    )
)


def test_the_nearest_skill_is_of_a_like_task_in_a_like_situation():
    found = BANK.search("cool an apple", "the fridge 1 is closed", 2)
    assert [s.action for s in found] == ["open fridge 1", "go to fridge 1"]
    assert BANK.search("heat a mug", "", 1)[0].action == "open microwave 1"
    assert BANK.search("xyz", "qqq", 3) == []
    assert len(BANK.search("cool an egg", "the fridge 1 is closed", 3, near=1.9)) == 1


def test_a_skill_is_carried_over_to_another_task_of_its_form():
    skill = Skill(
        "put a egg in sinkbasin.", "You see a egg 1.", "take egg 1 from bed 1"
    )
    moved = skill.carried_over("put a potato in drawer.")
    assert moved.action == "take potato 1 from bed 1"
    assert moved.situation == "You see a potato 1."
    assert skill.carried_over("clean some egg and put it in drawer.") is skill


def test_a_hint_is_an_action_that_can_be_taken():
    closed = "cool an apple", "the fridge 2 is closed"
    assert BANK.hint(*closed, ["open fridge 1", "look"]) == "open fridge 1"
    assert BANK.hint(*closed, ["look"]) is None
    assert BANK.hint(*closed, []) == "open fridge 1", "all text is allowed"
    assert BANK.hint("xyz", "qqq", []) is None


def test_the_digest_names_content_and_order(tmp_path):
    again = SkillBank.load(BANK.save(tmp_path / "banks" / "bank.json"))
    assert again == BANK and again.digest() == BANK.digest()
    assert SkillBank(BANK.skills[::-1]).digest() != BANK.digest()
    (tmp_path / "other.json").write_text('[{"action": 1}]')
    with pytest.raises(ValueError, match=r"other.json is no skill bank"):
        SkillBank.load(tmp_path / "other.json")


def test_a_bank_comes_from_the_students_own_rollouts():
    starts = [Start(task, i) for i, task in enumerate(TASKS)]
    rules = Settings(max_turns=4, sampling=Sampling(6, 1.0, STOP))
    rollouts = play(RememberingPlayer(talker()), RENDERER, Stairs, starts, rules)
    bank = SkillBank.build(rollouts)
    won = [r for r in rollouts if r.reward >= 1]
    assert won and bank.skills
    said = {turn.action for r in won for turn in r.turns}
    assert {s.action for s in bank.skills} <= said
    lost = SkillBank.build([replace(r, reward=0.0) for r in rollouts])
    assert lost.digest() != bank.digest()
