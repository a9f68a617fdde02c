"""Small models, candidates and verifiers that the tests of the training room share."""

import random

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from pivotlab.models.tokenizer import Vocabulary, build_tokenizer
from pivotlab.records import Candidate, Message, Trajectory, Verdict

ACTIONS = ("take mug 1", "go to bed 1", "open box 1")
VOCABULARY = Vocabulary(
    {"mug": 3, "bed": 3, "box": 3}, ["go to", "take", "open"], ["you", "see", "a"]
)

SHAPE = dict(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    tie_word_embeddings=True,
)


def make_tokenizer():
    return build_tokenizer(VOCABULARY)


def make_model(tokenizer, seed=0, kind="qwen3", **changes):
    """A random model whose attention and positions matter, in float32."""
    config, architecture = {
        "qwen3": (Qwen3Config, Qwen3ForCausalLM),
        "llama": (LlamaConfig, LlamaForCausalLM),
    }[kind]
    shape = {**SHAPE, "vocab_size": len(tokenizer), **changes}
    shape["eos_token_id"] = tokenizer.eos_token_id
    if kind == "qwen3":
        shape["head_dim"] = 8
    generator = torch.Generator().manual_seed(seed)
    model = architecture(config(**shape))
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            base = 1.0 if parameter.dim() == 1 else 0.0
            parameter.copy_(base + (0.1 if base else 0.15) * noise)
    return model


def make_candidates(count=6, seed=0):
    """Candidates with prefixes of different lengths; context names the right action."""
    generator = random.Random(seed)
    found = []
    for index in range(count):
        things = generator.choices(
            ["mug 1", "bed 2", "box 3", "mug 2"], k=index % 5 + 1
        )
        prefix = [Message("user", "you see a " + " a ".join(things))]
        for _ in range(index % 3):
            prefix.append(Message("assistant", generator.choice(ACTIONS)))
            prefix.append(Message("user", f"you see a {generator.choice(things)}"))
        expert = Message("assistant", ACTIONS[index % len(ACTIONS)])
        found.append(
            Candidate(
                f"turn-{index}",
                f"episode-{index}",
                index % 3,
                tuple(prefix),
                expert,
                context={"acceptable": [expert.content]},
            )
        )
    return found


def make_trajectory(turns=3):
    messages = []
    for turn in range(turns):
        messages.append(Message("user", f"you see a mug {turn + 1}"))
        messages.append(Message("assistant", ACTIONS[turn % len(ACTIONS)]))
    return Trajectory("episode", tuple(messages))


class Says:
    """Accepts the actions it is told, whatever the candidate."""

    version = "1"

    def __init__(self, *actions, name="says"):
        self.actions, self.name = actions, name

    def verify(self, candidate, action):
        accepted = action.content in self.actions
        return Verdict(float(accepted), "match" if accepted else "other")


def gradient(model):
    """All gradients as one vector."""
    return torch.cat(
        [
            torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten()
            for p in model.parameters()
            if p.requires_grad
        ]
    )


def weights(model):
    """All weights as one vector, detached."""
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def relative(found, wanted):
    """Norm of the difference over the norm of what was wanted."""
    return ((found - wanted).norm() / wanted.norm()).item()
