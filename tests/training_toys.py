"""Small models, candidates and verifiers that the tests of the training room share."""

import random

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from trl import GRPOConfig

from pivotlab.models.tokenizer import Vocabulary, build_tokenizer
from pivotlab.records import Candidate, Message, Trajectory, Verdict

GROUP = 4
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


def make_sliding_model(tokenizer):
    """A model whose attention no packed row can serve."""
    return MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            sliding_window=4,
        )
    )


class Deaf(GPT2LMHeadModel):
    """Takes positions and masks and ignores them."""

    def __init__(self, config):
        super().__init__(config)
        self.transformer.register_forward_pre_hook(self._drop, with_kwargs=True)

    @staticmethod
    def _drop(module, args, kwargs):
        mask = kwargs["attention_mask"]
        if mask is not None and mask.dim() == 4:
            kwargs = {**kwargs, "attention_mask": None, "position_ids": None}
        return args, kwargs


def make_gpt2(architecture, tokenizer):
    """A model of absolute positions."""
    return architecture(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=64,
            n_embd=16,
            n_layer=2,
            n_head=2,
            attn_pdrop=0.0,
            embd_pdrop=0.0,
            resid_pdrop=0.0,
            initializer_range=0.3,
        )
    )


def arguments(folder, **changes):
    """TRL's configuration of one step on four prompts."""
    return GRPOConfig(
        **{
            "output_dir": str(folder),
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "report_to": "none",
            "disable_tqdm": True,
            "per_device_train_batch_size": 4 * GROUP,
            "num_generations": GROUP,
            "max_completion_length": 6,
            "loss_type": "grpo",
            "beta": 0.1,
            "learning_rate": 1e-2,
            "optim": "sgd",  # Adam turns rounding of a zero gradient into a full step
            "max_steps": 1,
            "logging_steps": 1,
            "save_strategy": "no",
            **changes,
        }
    )


def random_groups(count=3, size=GROUP, seed=0, low=5, vocabulary=90, longest=12):
    """Groups whose completions share beginnings, one completion twice."""
    draw = torch.Generator().manual_seed(seed)

    def ids(length, high=vocabulary):
        return torch.randint(low, high, (length,), generator=draw).tolist()

    groups = []
    for _ in range(count):
        prompt = ids(int(torch.randint(3, longest, (1,), generator=draw)))
        lengths = torch.randint(1, 7, (size - 1,), generator=draw)
        group = [ids(int(n), low + 3) for n in lengths]
        groups.append((prompt, [*group, group[0]]))
    return groups


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
