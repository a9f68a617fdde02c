"""A small world and a small policy that tests of multi-turn training share."""

from functools import cache

import torch
from training_toys import ACTIONS, make_model, make_tokenizer

from pivotlab.distillation.hints import hinted
from pivotlab.distillation.teachers import OracleTeacher
from pivotlab.environments.protocol import Step
from pivotlab.records import Message, Trajectory
from pivotlab.rendering import Renderer

TOKENIZER = make_tokenizer()
RENDERER = Renderer(TOKENIZER)
FORWARD, BACK, IDLE = ACTIONS


class Stairs:
    """Climb two steps: one action goes up, one down, anything else does nothing."""

    def reset(self, task: str) -> str:
        self.place, self.task = 0, task
        return f"you see a mug {int(task) % 3 + 1}"

    def step(self, action: str) -> Step:
        self.place += (action == FORWARD) - (action == BACK)
        done = self.place == 2
        return Step(f"you see a box {self.place % 3 + 1}", float(done), done)

    def admissible(self) -> list[str]:
        return sorted(ACTIONS)

    def snapshot(self):
        return self.place

    def restore(self, snapshot) -> None:
        self.place = snapshot

    def remaining_turns(self) -> float:
        return 2 - self.place

    def optimal_actions(self) -> list[str]:
        return [FORWARD] if self.place < 2 else []


class Forgetful(Stairs):
    """The same world without snapshots."""

    def snapshot(self):
        return None


TASKS = [str(i) for i in range(6)]


def teacher(world=Stairs):
    return OracleTeacher(world())


@cache
def talker_weights():
    """Weights of a model that takes each action about a third of the time."""
    model = make_model(TOKENIZER)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    rows = []
    for first in range(3):
        for action in ACTIONS:
            for again in ACTIONS:
                messages = (
                    Message("user", f"you see a mug {first + 1}"),
                    Message("assistant", action),
                    Message("user", f"you see a box {first + 1}"),
                    Message("assistant", again),
                )
                rows.append(RENDERER.conversation(Trajectory("t", messages)))
    ids = torch.tensor([row.ids for row in rows])
    mask = torch.tensor([row.mask for row in rows])[:, 1:]
    for _ in range(60):
        logs = model(ids).logits[:, :-1].log_softmax(-1)
        chosen = logs.gather(-1, ids[:, 1:, None])[..., 0]
        optimizer.zero_grad()
        (-(chosen * mask).sum() / mask.sum()).backward()
        optimizer.step()
    return {k: v.detach().clone() for k, v in model.state_dict().items()}


def talker():
    model = make_model(TOKENIZER)
    model.load_state_dict(talker_weights())
    return model


@cache
def follower_weights():
    """Weights of a model that nearly always goes back, and does as a hint says."""
    model = make_model(TOKENIZER, seed=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    batches = [_said(messages, action) for messages, action in _follower_turns()]
    width = max(len(ids) for ids, _ in batches)
    ids = torch.tensor([i + [0] * (width - len(i)) for i, _ in batches])
    mask = torch.tensor([m + [0] * (width - len(m)) for _, m in batches])[:, 1:]
    for _ in range(70):
        logs = model(ids).logits[:, :-1].log_softmax(-1)
        chosen = logs.gather(-1, ids[:, 1:, None])[..., 0]
        optimizer.zero_grad()
        (-(chosen * mask).sum() / mask.sum()).backward()
        optimizer.step()
    return {k: v.detach().clone() for k, v in model.state_dict().items()}


def _follower_turns():
    mug, box = Message("user", "you see a mug 1"), Message("user", "you see a box 3")
    states = [(mug,), (mug, Message("assistant", BACK), box)]
    for state in states:
        yield state, BACK
        for action in ACTIONS:
            yield hinted(state, action), action


def _said(messages, action):
    prompt = RENDERER.prompt_ids(messages)
    said = [*RENDERER.encode(action), RENDERER.end_of_turn]
    return prompt + said, [0] * len(prompt) + [1] * len(said)


def follower():
    model = make_model(TOKENIZER, seed=1)
    model.load_state_dict(follower_weights())
    return model


def log_prob(model, prompt, response):
    """Log-probs of a response's tokens by the model's plain forward pass."""
    ids = torch.tensor([[*prompt, *response]])
    logs = model(ids).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
    return logs.gather(1, ids[0, len(prompt) :, None])[:, 0]
