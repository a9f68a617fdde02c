"""Cells of the comparison: equal data, resumable, and honest about their cost."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from pivotlab.experiments import comparison
from pivotlab.experiments.arms import ARMS, MAIN_ARMS, get_arm
from pivotlab.experiments.cells import TrainingCell
from pivotlab.experiments.comparison import arm_turns, marks, run_cell
from pivotlab.experiments.pool import Pool
from pivotlab.experiments.presets import from_params
from pivotlab.experiments.record_tables import read_records
from pivotlab.models.registry import load_model
from pivotlab.records import Candidate, Message, TurnProfile
from pivotlab.training.history import Evaluations
from pivotlab.training.launch import Launch, LaunchedRun

PRESET = from_params("smoke", trajectories=5, steps=2)


def pool_of(successes, k=4):
    candidates, profiles = [], {}
    for i, (functional, exact) in enumerate(successes):
        uid = f"g/honest#{i}"
        prefix = (Message("user", f"Your task is to: look {i}."),)
        expert = Message("assistant", "look")
        candidates.append(
            Candidate(
                uid, "g/honest", i, prefix, expert, context={"acceptable": ["look"]}
            )
        )
        rewards = [(1.0,) * s + (0.0,) * (k - s) for s in (functional, exact)]
        profiles[uid] = TurnProfile(
            uid, rewards[0], ("x",) * k, (False,) * k, rewards[1]
        )
    return Pool([], candidates, profiles)


POOL = pool_of([(0, 0), (1, 0), (2, 1), (2, 2), (3, 1), (4, 1), (4, 4), (1, 1)])


def test_every_arm_trains_on_equally_many_turns():
    """Functional pivots: 1, 2, 3, 7. Exact pivots: 2, 3, 4, 5, 7. At most 5 games."""
    assert comparison.training_turns(POOL, PRESET) == 4
    for name in MAIN_ARMS[1:]:
        assert len(arm_turns(get_arm(name), POOL, PRESET, seed=0)) == 4


def test_pivots_follow_the_arms_own_reward():
    functional = arm_turns(ARMS["functional/pivots"], POOL, PRESET, 0)
    exact = arm_turns(ARMS["exact/pivots"], POOL, PRESET, 0)
    assert [c.turn for c in functional] == [1, 2, 3, 7]
    assert {c.turn for c in exact} <= {2, 3, 4, 5, 7}


def test_marks_by_hand():
    cpu = from_params("cpu")
    assert marks(cpu, TrainingCell("base", 0, 960)) == [0]
    assert marks(cpu, TrainingCell("sft", 0, 240)) == [60, 120, 240]
    assert marks(cpu, TrainingCell("sft", 0, 100)) == [60, 100]


class Examiner:
    """Counts examinations and knows nothing."""

    def __init__(self):
        self.asked = 0

    def examine(self, policy):
        self.asked += 1
        kept = {"decoding": "greedy", "skill": "add", "accuracy": 0.5, "n": 2}
        won = {"split": "valid_seen", "decoding": "greedy", "task_type": "all"}
        near = {"states": "game", "direction": "forward", "kl": 0.1}
        return {
            "pivotrl_arms": [{**won, "n": 2, "success": 0.5, "won": "01"}],
            "pivotrl_retention": [kept],
            "pivotrl_distance": [near],
        }

    def headline(self, rows):
        return {"success": rows["pivotrl_arms"][0]["success"]}


@pytest.mark.parametrize("arm", ["functional/pivots", "sft", "placebo"])
def test_a_cell_trains_examines_and_is_not_repeated(arm, tmp_path):
    examiner, cell = Examiner(), TrainingCell(arm, 0, 2)
    tables = run_cell(cell, PRESET, POOL, examiner)
    (row,) = tables["pivotrl_arms"]
    grpo = arm != "sft"
    assert row["rollout_turns"] == (2 * 2 * 4 if grpo else 0)
    assert row["supervised_turns"] == (0 if grpo else 2 * 2)
    assert (row["steps"], row["retention"], row["seconds"] > 0) == (2, 0.5, True)
    assert run_cell(cell, PRESET, POOL, examiner) == tables
    assert examiner.asked == 1
    comparison.save_records([tables], tmp_path)
    assert list(read_records("pivotrl_arms", tmp_path)["won"]) == ["01"]


def test_checkpoints_of_a_launched_run_are_evaluated_in_order(tmp_path):
    model, _ = load_model("tiny")
    folders = {step: tmp_path / f"checkpoint-{step}" for step in (2, 4)}
    for step, folder in folders.items():
        model.model.norm.weight.data.fill_(step)
        model.save_pretrained(folder)
        load_model("tiny")[1].save_pretrained(folder)
    history = pd.DataFrame({"samples": [8, 16]}, index=pd.Index([2, 4], name="step"))
    launched, seen = LaunchedRun(tmp_path, history, folders), []

    def scale(policy, step):
        seen.append(step)
        return {"scale": float(policy.model.norm.weight.mean())}

    run = comparison.evaluate_checkpoints(launched, Evaluations(scale, {4, 2}))
    assert run.evaluations["scale"].to_dict() == {2: 2.0, 4: 4.0} and seen == [2, 4]
    assert float(run.model.model.norm.weight.mean()) == 4.0
    with pytest.raises(RuntimeError, match=r"no checkpoint of steps \[3\]"):
        comparison.evaluate_checkpoints(launched, Evaluations(scale, [3]))


@pytest.mark.slow
def test_a_launched_cell_trains_as_one_in_this_process(tmp_path, monkeypatch):
    cell, weights = TrainingCell("functional/pivots", 0, 2), []

    def evaluate(policy, step):
        weights.append(policy.model.norm.weight.detach().clone())
        return {"step": step}

    for where in ("here", "launched"):
        if where == "launched":
            monkeypatch.setattr(comparison, "FOR_PRESET", {"smoke": Launch()})
        model, tokenizer = load_model("tiny")
        run = comparison.train(
            ARMS[cell.arm],
            cell,
            PRESET,
            POOL,
            model,
            tokenizer,
            Evaluations(evaluate, [2]),
            Path(tmp_path) / where,
        )
        assert comparison.training_rows(run, PRESET)[-1]["samples"] == 2 * 2 * 4
    torch.testing.assert_close(*weights)


def test_other_settings_do_not_mix_into_a_finished_cell():
    cell = TrainingCell("base", 0, 2)
    run_cell(cell, PRESET, POOL, Examiner())
    other = from_params("smoke", trajectories=6, steps=2)
    with pytest.raises(ValueError, match="other settings"):
        run_cell(cell, other, POOL, Examiner())


def test_a_cell_does_not_depend_on_which_others_were_asked_for():
    examiner = Examiner()
    run_cell(TrainingCell("base", 0, 2), PRESET, POOL, examiner)
    other = from_params("smoke", trajectories=5, steps=9, seeds=[0, 7])
    run_cell(TrainingCell("base", 0, 9), other, POOL, examiner)
    assert examiner.asked == 1


def test_the_reward_is_the_arms():
    paid = {a: comparison.reward_verifier(ARMS[a], 0) for a in MAIN_ARMS[2:]}
    names = {arm: verifier.build().name for arm, verifier in paid.items()}
    assert names == {
        "exact/random": "exact",
        "functional/random": "text_game",
        "exact/pivots": "exact",
        "functional/pivots": "text_game",
        "placebo": "placebo",
    }
