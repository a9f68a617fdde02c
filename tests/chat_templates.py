"""A byte-level tokenizer for every chat template of the fixtures."""

from __future__ import annotations

from functools import cache

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from pivotlab import paths

FOLDER = paths.ROOT / "tests" / "fixtures" / "templates"
NAMES = (
    "qwen3_hybrid",
    "qwen3_instruct_2507",
    "qwen3_thinking_2507",
    "qwen3_coder",
    "smollm2",
    "hermes",
    "llama3",
)
SPECIAL = {
    "llama3": ("<|begin|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
}
CHATML = ("<|begin|>", "<|im_start|>", "<|im_end|>")


@cache
def tokenizer(name: str) -> PreTrainedTokenizerFast:
    """Bytes, the template's special tokens, and the template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: i for i, symbol in enumerate(alphabet)}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = SPECIAL.get(name, CHATML)
    core.add_special_tokens([AddedToken(t, special=True) for t in special])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=special[0],
        eos_token=special[-1],
        chat_template=(FOLDER / f"{name}.jinja").read_text(),
    )
