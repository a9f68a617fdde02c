import math
from math import comb

import numpy as np
import pytest
import torch
from test_evaluation_retention import make_model
from test_rollouts_episodes import Corridor, run
from test_rollouts_prompts import make_tokenizer

from pivotlab.engines.decoder import Decoder
from pivotlab.evaluation.diagnosis import (
    Detection,
    OraclePath,
    action_log_probs,
    agreement,
    collapse_repeats,
    diagnose,
    oracle_path,
    pivot_probabilities,
    reproduces,
    turn_table,
)
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Start

LINES = [
    ["go right", "go left", "go left", "dance", "go right"],
    ["go right", "go right", "go right", "go right", "go right"],
    ["dance", "dance", "dance", "dance", "dance"],
]


@pytest.fixture(scope="module")
def renderer():
    return Renderer(make_tokenizer())


@pytest.fixture(scope="module")
def rollouts(renderer):
    return run(renderer, LINES, [Start("2"), Start("3"), Start("1")], max_turns=5)[0]


def test_pivots_are_the_turns_that_lengthen_the_way(rollouts):
    path = oracle_path(rollouts[0], Corridor)
    assert path.remaining == (2, 1, 2, 3, 3, 2)
    assert (path.pivots, path.first) == ((1, 2), 1)
    assert oracle_path(rollouts[1], Corridor).remaining == (3, 2, 1, 0)
    assert oracle_path(rollouts[2], Corridor).first is None
    assert OraclePath((3.0, math.inf, math.inf)).pivots == (0,)


def test_diagnosis_by_hand(rollouts):
    table = diagnose(rollouts, Corridor)
    assert table["won"].tolist() == [False, True, False]
    assert table["pivots"].tolist() == [2, 0, 0]
    assert table["first_pivot"].isna().tolist() == [False, True, True]
    assert table.loc[0, ["first_pivot", "turns_after", "start_remaining"]].tolist() == [
        1,
        3,
        2,
    ]


def test_a_turn_table_classes_every_turn_by_what_it_did_to_l(rollouts):
    table = turn_table(rollouts[0], Corridor)
    assert table["action"].tolist() == LINES[0]
    assert table["observation"][3] == "Nothing happens."
    assert (table["after"] - table["before"]).tolist() == [-1, 1, 1, 0, -1]
    kinds = ["nearer", "mistake", "mistake", "idle", "nearer"]
    assert table["kind"].tolist() == kinds


def test_equal_successive_turns_become_one_row(rollouts):
    table = turn_table(rollouts[2], Corridor)
    (row,) = collapse_repeats(table).to_dict("records")
    assert (row["action"], row["times"], row["turn"]) == ("dance", 5, 0)
    apart = collapse_repeats(turn_table(rollouts[0], Corridor))
    assert (apart["times"] == 1).all(), "two steps to the left are not the same turn"
    assert apart.drop(columns="times").equals(turn_table(rollouts[0], Corridor))


def test_a_replay_must_reproduce_everything(rollouts):
    class Off(Corridor):
        def step(self, action):
            step = super().step(action)
            return step._replace(observation=step.observation.replace("-1", "-2"))

    class Shifted(Corridor):
        def snapshot(self):
            return super().snapshot() + 1

    assert all(reproduces(r, Corridor) for r in rollouts)
    assert not reproduces(rollouts[0], Off) and reproduces(rollouts[1], Off)
    assert not reproduces(rollouts[1], Shifted)


def test_agreement_by_hand():
    detections = [
        Detection(0, first_pivot=3, turns=10, picked=(4, 8)),
        Detection(0, first_pivot=3, turns=10, picked=()),
        Detection(1, first_pivot=0, turns=5, picked=(2,)),
        Detection(1, first_pivot=0, turns=5, picked=(1,)),
        Detection(1, first_pivot=0, turns=5, picked=(0,)),
    ]
    row = agreement(detections).iloc[0]
    assert (row["trajectories"], row["readings"]) == (2, 5)
    assert row["accuracy"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    # Two of ten turns miss the window of three; one of five misses a window of two.
    first = (1 - comb(7, 2) / comb(10, 2)) / 2
    assert row["random"] == pytest.approx((first + 2 / 5) / 2)
    assert row["gain"] == pytest.approx(row["accuracy"] - row["random"])
    assert row["gain_lo"] <= row["gain"] <= row["gain_hi"]


def test_the_random_baseline_is_what_random_picks_score():
    rng = np.random.default_rng(0)
    draws = [
        Detection(i, 6, 12, tuple(rng.choice(12, 3, replace=False).tolist()))
        for i in range(4000)
    ]
    row = agreement(draws).iloc[0]
    assert row["accuracy"] == pytest.approx(row["random"], abs=0.03)
    assert row["random_lo"] == row["random_hi"]


def test_detections_outside_the_episode_are_named():
    with pytest.raises(ValueError, match=r"turns 0\.\.4, detected \[5\]"):
        agreement([Detection(7, 1, 5, (0, 5))])
    with pytest.raises(ValueError, match="no detections"):
        agreement([])


def test_action_log_probs_equal_the_plain_forward(renderer):
    model = make_model(len(renderer.tokenizer), 3)
    prompt = renderer.encode("You see a mug 1.")
    actions = ["go right", "dance", "g"]
    scores = action_log_probs(Decoder(model), renderer, prompt, actions)
    for action, score in zip(actions, scores, strict=True):
        ids = [*prompt, *renderer.encode(action), renderer.end_of_turn]
        with torch.no_grad():
            logs = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected = sum(logs[i - 1, ids[i]].item() for i in range(len(prompt), len(ids)))
        assert score.item() == pytest.approx(expected, abs=1e-4)


def test_pivot_probabilities_add_up_the_optimal_set(renderer, rollouts):
    class TwoWays(Corridor):
        def optimal_actions(self):
            return ["dance", "go right"]

    model = make_model(len(renderer.tokenizer), 3)
    row = pivot_probabilities(model, renderer, TwoWays, [(rollouts[0], 1)]).iloc[0]
    prompt = rollouts[0].token_ids[: rollouts[0].turns[1].span[0]]
    scores = action_log_probs(
        Decoder(model), renderer, prompt, ["go left", "dance", "go right"]
    )
    assert row["log_p_mistake"] == pytest.approx(scores[0].item())
    assert math.exp(row["log_p_gold"]) == pytest.approx(
        scores[1].exp().item() + scores[2].exp().item()
    )
