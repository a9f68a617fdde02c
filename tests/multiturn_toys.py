"""Trainers on the small world, and the dense float64 reference of their loss."""

import copy
from dataclasses import replace

import torch
from episode_toys import RENDERER, TASKS, TOKENIZER, Stairs, log_prob, talker, teacher

from pivotlab.distillation.losses import Weights
from pivotlab.distillation.teachers import OracleTeacher, Report
from pivotlab.training.distilled import Distillation, Distiller
from pivotlab.training.multiturn import (
    MultiTurnSettings,
    as_turns,
    episode_rules,
    task_dataset,
)
from pivotlab.training.multiturn_trainer import Episodes, MultiTurnTrainer, outcome
from pivotlab.training.pivotrl import grpo_config, stop_tokens

SETTINGS = MultiTurnSettings(
    steps=3,
    tasks_per_step=2,
    group_size=4,
    learning_rate=1e-2,
    warmup_steps=0,
    beta=0.05,
    max_new_tokens=6,
    max_turns=4,
)
ALL = Distillation(Weights(0.2, 0.5, 0.1), 1.0, 0.1, max_recoveries=5)
ZERO = Distillation(Weights(0.0, 0.0, 0.0), recovery_turns=0)
STOP = stop_tokens(TOKENIZER, RENDERER)


class Advising(OracleTeacher):
    """The oracle, with a lesson for every other episode."""

    def report(self, rollout, limit):
        candidates = super().report(rollout, limit).candidates
        return Report(candidates, "go up" if int(rollout.task) % 2 else "")


def trainer(
    folder,
    distillation=None,
    model=None,
    named=None,
    big=None,
    kind=MultiTurnTrainer,
    **changes,
):
    settings = replace(SETTINGS, distillation=distillation, **changes)
    rules = episode_rules(settings, STOP)
    distiller = distillation and Distiller(
        distillation,
        named or teacher(),
        RENDERER,
        Stairs,
        rules.sampling,
        settings.group_size,
        big,
    )
    one = kind(
        model or talker(),
        outcome,
        grpo_config(as_turns(settings), folder),
        train_dataset=task_dataset(TASKS, settings),
        processing_class=TOKENIZER,
        stop_ids=STOP,
        episodes=Episodes(Stairs, RENDERER, rules),
        distiller=distiller,
    )
    one.current_gradient_accumulation_steps = settings.gradient_accumulation
    one.model.train()
    return one


def built(one):
    """The generation batch of the first step: every task once per episode."""
    size, count = one.num_generations, SETTINGS.tasks_per_step
    rows = [one.train_dataset[i] for i in range(count) for _ in range(size)]
    return one._generate_and_score_completions(rows)


def shifted_reference(one):
    """Move the reference away from the policy, so that the KL has a gradient."""
    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in one.ref_model.parameters():
            parameter.mul_(1 + 0.05 * torch.randn(parameter.shape, generator=draw))


def scored_rows(one):
    """(prompt, response, A_RL or None, distill requests...) rows of a built batch."""
    group = one.num_generations
    rewards = torch.tensor([r.reward for r in one._rollouts]).double()
    rewards = rewards.view(-1, group)
    scale = rewards.std(1, keepdim=True) + 1e-4
    return ((rewards - rewards.mean(1, keepdim=True)) / scale).flatten()


class Dense:
    """The loss of a step in float64, every term by a plain forward pass of its own."""

    def __init__(self, one, scorer=None):
        self.settings = one.distiller.settings if one.distiller else None
        self.rollouts, self.signals = one._rollouts, one._signals
        self.policy = copy.deepcopy(one.model).double()
        vars(self.policy).pop("forward", None)
        self.frozen = copy.deepcopy(self.policy).eval()
        self.reference = copy.deepcopy(one.ref_model).double()
        self.scorer = copy.deepcopy(scorer).double() if scorer else self.frozen
        self.group, self.beta = scored_rows(one), one.beta
        self.epsilon = one.epsilon_low

    def gaps(self, request, plain_prompt, scorer):
        with torch.no_grad():
            hinted = log_prob(scorer, request[0], request[1])
            return hinted - log_prob(self.frozen, plain_prompt, request[1])

    def loss(self):
        total, count = 0.0, 0
        for index, rollout in enumerate(self.rollouts):
            cut = rollout.turns[0].span[0]
            advantages = self.rollout_advantages(index, rollout)
            mask = torch.tensor(rollout.mask[cut:])
            row = rollout.token_ids[:cut], rollout.token_ids[cut:]
            total = total + self.row(*row, advantages, mask)
            count += int(mask.sum())
        for r in self.signals.recoveries:
            weights = self.settings.weights
            gap = self.gaps((r.hinted, r.response), r.prompt, self.frozen)
            kept = gap.clamp(-weights.delta, weights.delta) * weights.w_rec
            if self.settings.support != "sampled":
                kept = 0 * kept
            total = total + self.row(r.prompt, r.response, kept, torch.ones(len(gap)))
            count += len(gap)
        if self.settings is not None and self.settings.support != "sampled":
            total = total + self.divergences()
        return total / count

    def rollout_advantages(self, index, rollout):
        cut = rollout.turns[0].span[0]
        advantages = torch.zeros(len(rollout.token_ids) - cut).double()
        if self.settings is None:
            return advantages + self.group[index]
        weights = self.settings.weights
        advantages += self.settings.w_rl * self.group[index]
        sampled = self.settings.support == "sampled"
        parts = (
            (self.signals.prevention, weights.w_prev * sampled),
            (self.signals.every, self.settings.w_every * sampled),
            (self.signals.lesson, weights.w_traj),
        )
        for marks, weight in parts:
            for mark in [m for m in marks if m.rollout == index]:
                asked = mark.request.prompt, mark.request.response
                plain = rollout.token_ids[: mark.start]
                gap = self.gaps(asked, plain, self.scorer)
                stop = mark.start + len(gap)
                on = torch.tensor(rollout.mask[mark.start : stop])
                advantages[mark.start - cut : stop - cut] += weight * gap * on
        return advantages

    def row(self, prompt, response, advantages, mask):
        logs = log_prob(self.policy, prompt, response)
        ratio = (logs - logs.detach()).exp()
        clipped = ratio.clamp(1 - self.epsilon, 1 + self.epsilon)
        loss = -torch.minimum(ratio * advantages, clipped * advantages)
        with torch.no_grad():
            reference = log_prob(self.reference, prompt, response)
        gap = reference - logs
        loss = loss + self.beta * (gap.exp() - gap - 1) * ratio
        return (loss * mask).sum()

    def divergences(self):
        weights, total = self.settings.weights, 0.0
        cases = [
            (m.request.prompt, r.token_ids[: m.start], m.request.response, 1, w)
            for marks, w in (
                (self.signals.prevention, weights.w_prev),
                (self.signals.every, self.settings.w_every),
            )
            for m in marks
            for r in [self.rollouts[m.rollout]]
        ]
        cases += [
            (r.hinted, r.prompt, r.response, 0, weights.w_rec)
            for r in self.signals.recoveries
        ]
        for hinted, plain, response, reverse, weight in cases:
            with torch.no_grad():
                q = tables(self.frozen, hinted, response)
            p = tables(self.policy, plain, response)
            if self.settings.support == "topk":
                kept = q.topk(self.settings.top_k, -1).indices
                p, q = (bucket(t, kept) for t in (p, q))
            first, second = (p, q) if reverse else (q, p)
            total = total + weight * (first.exp() * (first - second)).sum()
        return total


def tables(model, prompt, response):
    ids = torch.tensor([[*prompt, *response]])
    return model(ids).logits[0, len(prompt) - 1 : -1].log_softmax(-1)


def bucket(logs, kept):
    inside = logs.gather(-1, kept)
    rest = 1 - inside.exp().sum(-1, keepdim=True)
    return torch.cat([inside, rest.log()], -1)
