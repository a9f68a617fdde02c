"""PivotOPD's Algorithm 1, walked through on one recorded mistake of a policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from transformers import PreTrainedModel

from pivotlab.distillation.losses import Weights
from pivotlab.distillation.recovery import Recovery
from pivotlab.distillation.teachers import OracleTeacher, pivotal
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.textgame import TextGame
from pivotlab.evaluation.recovery import Mistake
from pivotlab.experiments.controls.walk import Step
from pivotlab.experiments.presets import Preset
from pivotlab.records import Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.theory.group_advantage import group_advantages
from pivotlab.training.distilled import Distillation, Distiller, Signals

#: In our words.
LINES = (
    "roll out G episodes a task; A_RL within each group",
    "for each episode: the teacher reports at most m (turn t, action a*)",
    "  if the student did a* at t: not pivotal, skip",
    "  prevention: add w_prev * A_distill to the tokens of turn t",
    "  c <- the state right after turn t",
    "  for k in 1..K: the teacher names a* at c; stop if none resolves",
    "    the student, shown a hint with a*, writes y; stop if y leaks the hint",
    "    (c, y) becomes a row with w_rec * clip(A_distill) as its only signal",
    "    c <- the state after y",
    "one clipped update over all rows, one mean over all their tokens   (Eq. 7)",
)


def pivotopd_steps(
    model: PreTrainedModel,
    renderer: Renderer,
    preset: Preset,
    mistake: Mistake,
    seed: int = 0,
) -> list[Step]:
    """Algorithm 1 on the episode of a mistake and on fresh episodes of its task.

    Args:
        model: the student, frozen here.
        renderer: of its tokenizer.
        preset: G, m, K, weights, delta, sampling.
        mistake: its episode stands first in the group.
        seed: of the other episodes and of the recovery turns.
    """
    sampling = Sampling(preset.max_new_tokens, preset.temperature)
    rules = Settings(preset.max_turns, sampling=sampling)
    player, task = RememberingPlayer(model), mistake.rollout.task
    seeds = [derive_seed(seed, i) for i in range(preset.episode_group)]
    others = play(
        player, renderer, TextGame, [Start(task, s) for s in seeds[1:]], rules
    )
    signals, wanted = _signals(preset, renderer, player, mistake, seeds[0])
    return [
        *_rolled([mistake.rollout, *others], preset),
        *_named(mistake, preset),
        *_prevented(mistake, signals, renderer, wanted.weights),
        *_repaired(mistake, signals, renderer, wanted.weights),
        _updated(mistake.rollout, others, signals.recoveries),
    ]


def _signals(
    preset: Preset, renderer: Renderer, player: RememberingPlayer, mistake, seed: int
) -> tuple[Signals, Distillation]:
    weights = Weights(preset.w_prev, preset.w_rec, 0.0, preset.delta)
    wanted = Distillation(
        weights, candidates=1, recovery_turns=preset.recovery_turns, max_recoveries=1
    )
    stops = (renderer.end_of_turn,)
    sampling = Sampling(preset.max_new_tokens, preset.temperature, stops)
    teacher = OracleTeacher(TextGame())
    distiller = Distiller(wanted, teacher, renderer, TextGame, sampling, 1)
    alone = [mistake.rollout]
    return distiller.signals(alone, player, [seed], seed, 0, lambda x: x), wanted


def _rolled(rollouts: Sequence[Rollout], preset: Preset) -> list[Step]:
    rewards = np.array([r.reward for r in rollouts])
    told = group_advantages(rewards)
    rows = [
        f"episode {i}: {len(r.turns)} turns, reward {r.reward:g}, A_RL {a:+.2f}"
        for i, (r, a) in enumerate(zip(rollouts, told, strict=True))
    ]
    silent = "" if told.any() else "\nall equal: outcomes alone say nothing here"
    return [Step(0, "\n".join(rows) + silent)]


def _named(mistake: Mistake, preset: Preset) -> list[Step]:
    rollout = mistake.rollout
    report = OracleTeacher(TextGame()).report(rollout, preset.candidates)
    rows = [f"turn {p.turn}: {p.gold_action}" for p in report.candidates]
    kept = pivotal(rollout, report)
    did = rollout.turns[mistake.turn].action
    return [
        Step(1, f"m = {preset.candidates}; of episode 0 it names\n" + "\n".join(rows)),
        Step(
            2,
            f"{len(kept)} of {len(report.candidates)} differ from what was done. "
            f"At turn {mistake.turn} the student did\n  {did}\nand not\n"
            f"  {kept[0].gold_action}",
        ),
    ]


def _prevented(
    mistake: Mistake, signals: Signals, renderer: Renderer, weights: Weights
) -> list[Step]:
    mark = signals.prevention[0]
    rows = _per_token(mark.request.response, mark.values, renderer)
    return [
        Step(
            3,
            f"A_distill = log-prob with the hint - without; w_prev = {weights.w_prev:g}"
            f"\n{rows}",
        ),
        Step(
            4,
            "the environment goes back to its snapshot, nothing is replayed:\n"
            + mistake.rollout.turns[mistake.turn].observation,
        ),
    ]


def _repaired(
    mistake: Mistake, signals: Signals, renderer: Renderer, weights: Weights
) -> list[Step]:
    steps = []
    for recovery in signals.recoveries:
        steps += [
            Step(5, f"k = {recovery.k}: {recovery.action}"),
            Step(6, f"y = {recovery.said}"),
            Step(
                7,
                f"w_rec = {weights.w_rec:g}, clip at ±{weights.delta:g}; A_distill:\n"
                + _per_token(recovery.response, recovery.distill, renderer),
            ),
        ]
        if recovery is not signals.recoveries[-1]:
            steps.append(Step(8, "the environment carries y out"))
    reasons = ("recovery/dropped/", "recovery/last turn", "recovery/solved")
    ended = [k for k, n in signals.tally.items() if n and k.startswith(reasons)]
    if ended:
        steps.append(Step(6, f"stop: {', '.join(e.split('/')[-1] for e in ended)}"))
    return steps


def _updated(
    own: Rollout, others: Sequence[Rollout], recoveries: Sequence[Recovery]
) -> Step:
    played = sum(sum(r.mask) for r in (own, *others))
    written = sum(len(r.response) for r in recoveries)
    return Step(
        9,
        f"{played} tokens of episodes and {written} of recovery turns, one mean over "
        f"{played + written}",
    )


def _per_token(ids: Sequence[int], values: Sequence[float], renderer: Renderer) -> str:
    pieces = [renderer.tokenizer.decode([i]) for i in ids]
    return "\n".join(
        f"{value:+8.3f}  {piece!r}" for piece, value in zip(pieces, values, strict=True)
    )
