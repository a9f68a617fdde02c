"""The tokenizer and templates of this file also serve the other rollout tests."""

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from pivotlab.records import Message, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.rollouts.prompts import PromptGrower

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content"
    " + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
#: Cuts blanks around contents, as Llama 3 does.
TRIMMING = CHATML.replace("+ m.content", "+ m.content | trim")
#: Shortens every assistant turn but the newest, as templates do that drop thinking.
REWRITING = CHATML.replace(
    "+ m.content",
    "+ (m.content if loop.last or m.role != 'assistant' else 'acted')",
)
TEMPLATES = {"chatml": CHATML, "trimming": TRIMMING, "rewriting": REWRITING}
TEXT = [
    "go to fridge 1. You open the drawer 2. On it, you see a mug 1. Nothing happens."
]


def make_tokenizer(template=CHATML):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(TEXT * 3, trainer)
    core.add_special_tokens([AddedToken(t, special=True) for t in special])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=template,
    )


def conversation(turns):
    messages = [Message("system", "Rules."), Message("user", "You see a mug 1.")]
    for turn in range(turns):
        messages.append(Message("assistant", f"go to shelf {turn}"))
        messages.append(Message("user", f"  On the shelf {turn}, you see nothing. "))
    return messages


@pytest.mark.parametrize("template", TEMPLATES)
def test_grown_prompts_equal_rendered_ones(template):
    renderer = Renderer(make_tokenizer(TEMPLATES[template]))
    grower = PromptGrower(renderer)
    assert grower.append_only == (template != "rewriting")
    prompt = grower.first(conversation(0))
    for turn in range(4):
        said = conversation(turn + 1)[-2]
        ids = renderer.completion_ids(conversation(turn), said)
        prompt = grower.following(prompt, ids, conversation(turn + 1))
        assert prompt == renderer.prompt_ids(conversation(turn + 1))


def test_grown_prompts_equal_the_rendered_trajectory():
    renderer = Renderer(make_tokenizer())
    whole = renderer.conversation(Trajectory("t", tuple(conversation(3))))
    grower = PromptGrower(renderer)
    prompt = grower.first(conversation(0))
    for turn, (first, end) in enumerate(whole.spans):
        assert tuple(prompt) == whole.ids[:first]
        prompt = grower.following(prompt, whole.ids[first:end], conversation(turn + 1))


def test_a_truncated_turn_is_closed():
    grower = PromptGrower(Renderer(make_tokenizer()))
    end = grower.renderer.end_of_turn
    cut = grower.following([7], [8, 9], conversation(1))
    closed = grower.following([7], [8, 9, end], conversation(1))
    assert cut == closed and closed[:4] == [7, 8, 9, end]


def test_window_keeps_the_rules_the_task_and_the_last_pairs():
    renderer = Renderer(make_tokenizer())
    messages = conversation(4)
    for history in range(5):
        window = PromptGrower(renderer, history).window(messages)
        kept = messages[len(messages) - 2 * history :] if history else []
        assert window == messages[:2] + kept
    assert PromptGrower(renderer, 9).window(messages) == messages
    assert PromptGrower(renderer, 2).window(messages[:2]) == messages[:2]
    assert not PromptGrower(renderer, 2).append_only
    with pytest.raises(ValueError, match="history"):
        PromptGrower(renderer, -1)
