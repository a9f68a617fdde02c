"""The loss zoo: what every method does to every token of the same rollouts.

One group of episodes of the base; for each method the weight of every token's log-prob
at the start of a step (`Method.weights`), so that a positive number makes the token
likelier. All methods see the same rollouts, noise and model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd
import torch

from pivotlab.distillation import methods_advantages as rules
from pivotlab.distillation.methods import METHODS
from pivotlab.distillation.step_view import StepView
from pivotlab.engines.noise import derive_seed
from pivotlab.experiments.methods.arms import get_method_arm
from pivotlab.experiments.methods.comparison import SEED, Stage
from pivotlab.records import Rollout
from pivotlab.rollouts import Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.training.method_batch import step_view
from pivotlab.training.method_signals import MethodDistiller

#: Turns of a zoo episode: more do not fit a page.
MOST_TURNS = 12


@dataclass(frozen=True)
class Group:
    """Episodes of one task, with the player that remembers them.

    `shown` is the one that is drawn: of the lost ones that with most different actions.
    """

    rollouts: tuple[Rollout, ...]
    player: RememberingPlayer
    seeds: tuple[int, ...]
    shown: int


def play_group(stage: Stage, size: int = 8, most: int = 40) -> Group:
    """The first group of training episodes in which some were won and some lost.

    Args:
        stage: base and environment.
        size: episodes of the group.
        most: tasks tried; the last one is taken as it is.
    """
    rules = stage.world.rules(stage.preset)
    rules = replace(rules, max_turns=MOST_TURNS, batch=size)
    for number in range(most):
        (task,) = stage.world.tasks("train", 1, number)
        seeds = tuple(derive_seed(SEED, number, i) for i in range(size))
        player = RememberingPlayer(stage.base)
        starts = [Start(task, seed) for seed in seeds]
        rollouts = play(player, stage.renderer, stage.world.environment, starts, rules)
        won = [r.reward >= 1 for r in rollouts]
        if any(won) and not all(won):
            break
    lost = [i for i, w in enumerate(won) if not w] or list(range(size))
    shown = max(lost, key=lambda i: len({t.action for t in rollouts[i].turns}))
    return Group(tuple(rollouts), player, seeds, shown)


def view_for(name: str, stage: Stage, group: Group) -> StepView:
    """What a method would see of the group in the middle of training."""
    arm, world = get_method_arm(name), stage.world
    distiller = MethodDistiller(
        arm.distillation(stage.preset),
        world.teacher(),
        stage.renderer,
        world.environment,
        world.rules(stage.preset).sampling,
        len(group.rollouts),
        stage.second if arm.reads == "teacher" else None,
        stage.bank if arm.needs_skills else None,
        world.judge,
    )
    with torch.no_grad():
        signals = distiller.signals(
            group.rollouts, group.player, group.seeds, SEED, 0, lambda items: items
        )
    rewards = torch.tensor([r.reward for r in group.rollouts])
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    width = max(len(r.token_ids) - r.turns[0].span[0] for r in group.rollouts)
    return step_view(
        advantages,
        group.rollouts,
        signals,
        width,
        group_size=len(group.rollouts),
        step=50,
        steps=200,
    )


def zoo_table(
    stage: Stage, group: Group, views: Mapping[str, StepView]
) -> pd.DataFrame:
    """One row per method and token of the shown rollout.

    Args:
        views: of `view_for`, by method.

    Returns:
        method, title, turn, place (of the token in its turn), token, action, weight
        (at the start of a step, a quarter into the run), added (the weight, without A
        where the method has it and more), gap (nats; 0 where nobody was asked).
    """
    rollout, rows = group.rollouts[group.shown], []
    cut = rollout.turns[0].span[0]
    decode = stage.tokenizer.decode
    for name, view in views.items():
        method = METHODS[name]
        weights = method.weights(view)[group.shown]
        plain = method.rule is rules.grpo and method.auxiliary is None
        outcome = view.group[group.shown].item()
        taken = outcome if method.has_outcome and not plain else 0.0
        for number, turn in enumerate(rollout.turns):
            for place, at in enumerate(range(*turn.span)):
                rows.append(
                    {"method": name, "title": method.title, "turn": number}
                    | {"place": place, "token": decode([rollout.token_ids[at]])}
                    | {"action": turn.action, "weight": weights[at - cut].item()}
                    | {"added": weights[at - cut].item() - taken}
                    | {"gap": view.gap[group.shown, at - cut].item()}
                )
    return pd.DataFrame(rows)
