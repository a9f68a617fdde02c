"""PivotRL learns what its verifier pays for, resumes exactly, reports what it did."""

import os
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from peft import LoraConfig
from training_toys import (
    ACTIONS,
    Says,
    make_candidates,
    make_model,
    make_tokenizer,
    weights,
)

from pivotlab.records import Message, Verdict
from pivotlab.rendering import Renderer
from pivotlab.training.history import Evaluations
from pivotlab.training.pivotrl import (
    PivotRLSettings,
    VerifierReward,
    grpo_config,
    pivot_dataset,
    stop_tokens,
    train_pivotrl,
)
from pivotlab.training.sft import SFTSettings, train_sft, turn_rows

SETTINGS = PivotRLSettings(
    steps=4,
    prompts_per_step=2,
    group_size=4,
    learning_rate=1e-2,
    warmup_steps=1,
    beta=0.05,
    max_new_tokens=4,
)
TOKENIZER = make_tokenizer()


@pytest.fixture(scope="module")
def talker():
    """A model that says each of the three actions about a third of the time."""
    model = make_model(TOKENIZER)
    actions = [Message("assistant", action) for action in ACTIONS]
    turns = [replace(c, expert=a) for c in make_candidates() for a in actions]
    settings = SFTSettings(steps=60, rows_per_step=9, learning_rate=1e-2, log_every=20)
    train_sft(model, TOKENIZER, turn_rows(TOKENIZER, turns), settings)
    return model.state_dict()


def fresh(talker):
    model = make_model(TOKENIZER)
    model.load_state_dict(talker)
    return model


def train(model, settings=SETTINGS, verifier=None, **more):
    verifier = verifier or Says("take mug 1")
    return train_pivotrl(
        model, TOKENIZER, make_candidates(), verifier, settings, **more
    )


def test_bandit_learns_the_action_that_pays(talker):
    settings = replace(
        SETTINGS, steps=25, prompts_per_step=4, group_size=8, learning_rate=3e-3
    )
    run = train(fresh(talker), settings, strict=Says("take mug 1", name="strict"))
    reward = run.history["reward"]
    assert 0.1 < reward.iloc[:3].mean() < 0.6
    assert reward.iloc[-3:].mean() > 0.9
    assert run.history["frac_reward_zero_std"].iloc[-1] > 0.5
    assert list(run.history["samples"]) == [32 * step for step in run.history.index]
    assert run.history["seconds"].is_monotonic_increasing


def test_placebo_moves_the_policy_nowhere_near(talker):
    """A coin pays every action alike, so there is nothing to learn."""

    class Coin:
        name, version = "coin", "1"

        def __init__(self):
            self.draw = random.Random(0)

        def verify(self, candidate, action):
            return Verdict(float(self.draw.random() < 0.5), "coin")

    settings = replace(
        SETTINGS, steps=15, prompts_per_step=4, group_size=8, learning_rate=3e-3
    )
    run = train(fresh(talker), settings, Coin(), strict=Says("take mug 1"))
    assert 0.1 < run.history["reward_strict"].iloc[-5:].mean() < 0.7


def test_beta_holds_the_policy_near_the_reference(talker):
    settings = replace(
        SETTINGS, steps=12, prompts_per_step=2, group_size=8, learning_rate=3e-3
    )
    last = {
        beta: train(fresh(talker), replace(settings, beta=beta)).history["kl"].iloc[-1]
        for beta in (0.001, 2.0)
    }
    assert last[2.0] < 0.3 * last[0.001]


def test_without_beta_there_is_no_kl(talker):
    run = train(fresh(talker), replace(SETTINGS, steps=1, beta=0.0))
    assert "kl" not in run.history


def test_history_has_the_figures_of_every_step(talker):
    run = train(fresh(talker), strict=Says(name="strict"))
    wanted = {
        "loss",
        "reward",
        "reward_std",
        "frac_reward_zero_std",
        "reward_strict",
        "kl",
        "entropy",
        "clip_ratio/region_mean",
        "grad_norm",
        "learning_rate",
        "completions/clipped_ratio",
        "prefix_sharing/token_share",
        "samples",
        "seconds",
    }
    assert wanted <= set(run.history.columns)
    assert list(run.history.index) == [1, 2, 3, 4]
    shares = run.history.filter(like="category/")
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert run.evaluations.empty
    assert "forward" not in vars(run.model)


def test_same_seed_same_run_other_seed_other_run(talker):
    settings = replace(SETTINGS, steps=2)
    first, again = train(fresh(talker), settings), train(fresh(talker), settings)
    other = train(fresh(talker), replace(settings, seed=1))
    assert torch.equal(weights(first.model), weights(again.model))
    assert not torch.equal(weights(first.model), weights(other.model))


def test_evaluation_leaves_no_trace(talker):
    marks = []

    def evaluate(model, step):
        marks.append((step, model.training, torch.is_grad_enabled()))
        torch.rand(3), random.random(), np.random.rand()
        return {"success": step / 10}

    plain = train(fresh(talker))
    marked = train(fresh(talker), evaluations=Evaluations(evaluate, (0, 2, 4)))
    assert marks == [(step, False, False) for step in (0, 2, 4)]
    assert marked.evaluations["success"].to_dict() == {0: 0.0, 2: 0.2, 4: 0.4}
    assert torch.equal(weights(plain.model), weights(marked.model))


def test_resumed_run_equals_an_undisturbed_one(talker, tmp_path):
    settings = replace(SETTINGS, steps=6, save_every=2)
    seen = []

    def evaluate(model, step):
        seen.append(step)
        return {"mark": float(step)}

    marks = Evaluations(evaluate, (2, 6))
    whole = train(fresh(talker), settings, folder=tmp_path / "whole", evaluations=marks)

    class Killed(BaseException):
        pass

    class Bomb(Says):
        calls = 0

        def verify(self, candidate, action):
            self.calls += 1
            if self.calls > 4 * 8:  # in step 5, after the checkpoint of step 4
                raise Killed
            return super().verify(candidate, action)

    folder = tmp_path / "killed"
    bomb = Bomb("take mug 1")
    with pytest.raises(Killed):
        train(fresh(talker), settings, bomb, folder=folder, evaluations=marks)
    (folder / "checkpoint-5").mkdir()  # a write that was cut off
    (folder / "checkpoint-5" / "trainer_state.json").write_text('{"global_st')
    seen.clear()
    rest = train(fresh(talker), settings, folder=folder, evaluations=marks, resume=True)
    assert seen == [6]
    assert torch.equal(weights(whole.model), weights(rest.model))
    timed = ["seconds", "step_time"]
    ours, wanted = (r.history.drop(columns=timed) for r in (rest, whole))
    assert np.allclose(ours.fillna(-1), wanted[ours.columns].fillna(-1), atol=1e-7)
    assert rest.evaluations.equals(whole.evaluations)
    assert rest.history["seconds"].is_monotonic_increasing


def test_resume_without_a_checkpoint_starts_at_the_beginning(talker, tmp_path):
    run = train(fresh(talker), folder=tmp_path / "empty", resume=True)
    assert list(run.history.index) == [1, 2, 3, 4]


def test_accumulation_changes_nothing(talker):
    one = train(fresh(talker))
    two = train(fresh(talker), replace(SETTINGS, gradient_accumulation=2))
    assert np.allclose(one.history["reward"], two.history["reward"])
    assert torch.allclose(weights(one.model), weights(two.model), atol=1e-5)


def test_adapter_is_trained_and_the_base_is_the_reference(talker):
    base = fresh(talker)
    before = weights(base)
    run = train(
        base,
        replace(SETTINGS, steps=6, learning_rate=3e-2),
        peft_config=LoraConfig(target_modules=["q_proj", "v_proj"]),
    )
    assert torch.equal(weights(run.model.unload()), before)
    assert run.history["kl"].iloc[0] == pytest.approx(0.0, abs=1e-6)
    assert run.history["kl"].iloc[-1] > 0


ADVERSARIAL = [
    [],
    [0],
    [1],
    [1, 1, 1],
    [2, 3, 4, 5],
    list(range(6, 262)),  # every byte, most of them no text
    [200] * 50 + [1],
    [255, 254, 1],
]


def test_reward_is_a_float_for_any_tokens():
    renderer = Renderer(TOKENIZER)
    stop = stop_tokens(TOKENIZER, renderer)
    reward = VerifierReward(make_candidates(), Says("take mug 1"), renderer, stop)
    logged = {}
    found = reward(
        completion_ids=ADVERSARIAL,
        pivot=[i % 6 for i in range(len(ADVERSARIAL))],
        log_metric=logged.__setitem__,
        prompts=None,
        completions=None,
        surprise="ignored",
    )
    assert found == [0.0] * len(ADVERSARIAL)
    assert logged["category/truncated"] == 4 / 8
    assert logged["category/other"] == 4 / 8


def test_cut_off_action_gets_nothing_though_its_text_is_right():
    renderer = Renderer(TOKENIZER)
    stop = stop_tokens(TOKENIZER, renderer)
    reward = VerifierReward(make_candidates(), Says("take mug 1"), renderer, stop)
    ids = TOKENIZER.encode("take mug 1", add_special_tokens=False)
    assert reward.judge(reward.verifier, 0, ids) == Verdict(0.0, "truncated")
    whole = reward.judge(reward.verifier, 0, [*ids, TOKENIZER.eos_token_id])
    assert whole == Verdict(1.0, "match")


def test_miss_rate_is_the_share_of_accepted_actions_that_strict_rejects():
    renderer = Renderer(TOKENIZER)
    end = TOKENIZER.eos_token_id
    said = [[*TOKENIZER.encode(a, add_special_tokens=False), end] for a in ACTIONS]
    reward = VerifierReward(
        make_candidates(),
        Says(*ACTIONS[:2]),
        renderer,
        (end,),
        strict=Says(ACTIONS[0]),
    )
    logged = {}
    rows = {"pivot": [0, 1, 2], "log_metric": logged.__setitem__}
    assert reward(completion_ids=said, **rows) == [1.0, 1.0, 0.0]
    assert logged["miss_rate"] == 0.5
    assert logged["reward_strict"] == pytest.approx(1 / 3)
    logged.clear()
    reward(completion_ids=[said[2]] * 3, **rows)
    assert "miss_rate" not in logged
    assert logged["category/match"] == 0.0


def test_rows_name_their_pivot_in_schedule_order():
    pivots = make_candidates()
    rows = pivot_dataset(pivots, SETTINGS)
    assert len(rows) == SETTINGS.steps * SETTINGS.prompts_per_step
    assert all(row["prompt"] == pivots[row["pivot"]].uid for row in rows)


def test_settings_reach_trl(tmp_path):
    settings = replace(SETTINGS, gradient_accumulation=2, trl={"epsilon_high": 0.28})
    config = grpo_config(settings, tmp_path)
    assert config.per_device_train_batch_size == 4
    assert (config.epsilon, config.epsilon_high) == (0.2, 0.28)
    assert (config.beta, config.temperature) == (0.05, 1.0)
    assert not config.bf16 and not config.gradient_checkpointing


def test_mistakes_get_one_clear_line(talker, tmp_path):
    model = fresh(talker)
    with pytest.raises(ValueError, match="no turn to train on"):
        train_pivotrl(model, TOKENIZER, [], Says(), SETTINGS)
    with pytest.raises(ValueError, match="prompts_per_step=2 must be a multiple of"):
        train(model, replace(SETTINGS, gradient_accumulation=4))
    with pytest.raises(ValueError, match="pass folder="):
        train(model, replace(SETTINGS, save_every=1))
    with pytest.raises(ValueError, match="turn-0: its prompt of .* window of 256"):
        train(model, replace(SETTINGS, max_new_tokens=255))
    with pytest.raises(TypeError, match="stepz"):
        PivotRLSettings(stepz=3)


WORKER = """
import sys
from dataclasses import replace
import torch
from test_training_pivotrl import SETTINGS, TOKENIZER, fresh, train
from training_toys import weights

talker, folder, save_every, target = sys.argv[1:]
model = fresh(torch.load(talker))
settings = replace(SETTINGS, steps=8, save_every=int(save_every))
run = train(model, settings, folder=__import__("pathlib").Path(folder), resume=True)
if int(__import__("os").environ.get("RANK", "0")) == 0:
    torch.save((weights(run.model), run.history["reward"].tolist()), target)
"""


def worker(tmp_path, talker, save_every, environment=()):
    """A training process of its own: (start it, where its result will lie)."""
    torch.save(talker, tmp_path / "talker.pt")
    target = tmp_path / f"result-{len(list(tmp_path.iterdir()))}.pt"
    folder = tmp_path / "run"
    arguments = [tmp_path / "talker.pt", folder, save_every, target]
    command = [sys.executable, "-W", "ignore", "-c", WORKER, *map(str, arguments)]
    variables = {
        **os.environ,
        "PYTHONPATH": os.path.dirname(__file__),
        "OMP_NUM_THREADS": "1",
        **dict(environment),
    }

    def start():
        return subprocess.Popen(
            command, env=variables, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )

    return start, target


@pytest.mark.slow
def test_killed_process_resumes_to_the_same_weights(tmp_path, talker):
    whole = train(fresh(talker), replace(SETTINGS, steps=8))
    start, target = worker(tmp_path, talker, save_every=1)
    for kill in range(3):
        process = start()
        while process.poll() is None and not list(
            (tmp_path / "run").glob(f"checkpoint-{2 * kill + 1}")
        ):
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start()
    _, error = process.communicate()
    assert process.returncode == 0, error.decode()[-2000:]
    found, _ = torch.load(target)
    assert torch.equal(found, weights(whole.model))


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path, talker):
    whole = train(fresh(talker), replace(SETTINGS, steps=8))
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29631"}
    processes = []
    for rank in ("0", "1"):
        places = {"RANK": rank, "LOCAL_RANK": rank, "ACCELERATE_USE_CPU": "true"}
        start, target = worker(tmp_path, talker, 0, {**shared, **places})
        if rank == "0":
            first = target
        processes.append(start())
    for process in processes:
        _, error = process.communicate()
        assert process.returncode == 0, error.decode()[-2000:]
    found, rewards = torch.load(first)
    assert np.allclose(rewards, whole.history["reward"])
    moved = (weights(whole.model) - weights(fresh(talker))).norm()
    assert (found - weights(whole.model)).norm() / moved < 1e-4
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
