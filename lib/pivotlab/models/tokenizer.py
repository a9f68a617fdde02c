"""The tokenizer of `tiny`: one token per numbered entity, phrase and word, lossless.

Text is split by one regular expression into known phrases, numbered entities, words,
digits and single characters. A piece that is in the vocabulary is one token; any other
piece becomes its UTF-8 bytes, of which all 256 are tokens. So copying "mug 1" is a
one-token problem, while every text, in any script, decodes to itself.

Chat form is ChatML with a whole turn opening as one token (`<|im_start|>user` and its
newline) and nothing after `<|im_end|>`: two tokens of overhead a turn, and every
rendered conversation is a prefix of its continuation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

PAD = "<|endoftext|>"
END = "<|im_end|>"
ROLES = ("system", "user", "assistant", "tool")
OPENINGS = tuple(f"<|im_start|>{role}\n" for role in ROLES)
SPECIAL_TOKENS = (PAD, END, *OPENINGS)
#: Longest conversation the model is meant for, in tokens.
MAX_LENGTH = 2048

CHAT_TEMPLATE = """\
{%- if tools -%}
{{ '<|im_start|>system\n' + (tools | tojson) + '<|im_end|>' }}
{%- endif -%}
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\n' }}
{%- if message.role == 'assistant' -%}
{%- generation -%}
{%- if message.reasoning_content -%}
{{ '<think>' + message.reasoning_content + '</think>' }}
{%- endif -%}
{{ message.content }}
{%- for call in message.tool_calls or [] -%}
{{ '<tool_call>' + (call.function | tojson) + '</tool_call>' }}
{%- endfor -%}
{{ '<|im_end|>' }}
{%- endgeneration -%}
{%- else -%}
{{ message.content + '<|im_end|>' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\n' }}
{%- endif -%}"""


@dataclass(frozen=True)
class Vocabulary:
    """What gets tokens of its own.

    Attributes:
        entities: type -> highest number: `{"mug": 2}` means "mug 1" and "mug 2".
        phrases: fixed texts, matched before anything else, longest first.
        words: words without spaces; like entities they also get a leading space.
    """

    entities: Mapping[str, int]
    phrases: Sequence[str]
    words: Sequence[str]

    def pieces(self) -> list[str]:
        """Every multi-character token, without repetition, in an order of its own."""
        numbered = [
            f"{kind} {number}"
            for kind in sorted(self.entities)
            for number in range(1, self.entities[kind] + 1)
        ]
        spaced = sorted({*self.words, *self.entities, *"0123456789"})
        found = [*sorted(self.phrases)]
        for word in (*numbered, *spaced):
            found += [word, f" {word}"]
        return [p for p in dict.fromkeys(found) if len(p.encode()) > 1]


def build_tokenizer(vocabulary: Vocabulary) -> PreTrainedTokenizerFast:
    """The tokenizer of a vocabulary: special tokens, then bytes, then pieces.

    Byte-level BPE without merges (`ignore_merges`): a piece is one token or its bytes.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [_byte_symbols(piece) for piece in vocabulary.pieces()]
    names = dict.fromkeys([*SPECIAL_TOKENS, *alphabet, *pieces])
    ids = {name: i for i, name in enumerate(names)}
    core = Tokenizer(models.BPE(vocab=ids, merges=[], ignore_merges=True))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(split_pattern(vocabulary)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(t, special=True) for t in SPECIAL_TOKENS])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=list(OPENINGS),
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
        model_max_length=MAX_LENGTH,
        clean_up_tokenization_spaces=False,
    )


def split_pattern(vocabulary: Vocabulary) -> str:
    """Regular expression whose matches, in order, are the pieces of a text.

    A phrase or entity that ends in a letter or digit must not be followed by another
    one: "mug 1" is no part of "mug 10", nor "go to" of "go tomorrow".
    """
    longest_first = sorted(vocabulary.phrases, key=lambda p: (-len(p), p))
    whole = [_guarded(phrase) for phrase in longest_first]
    whole += [
        rf" ?(?<![A-Za-z]){re.escape(kind)} (?:{_numbers(highest)})(?![0-9A-Za-z])"
        for kind, highest in sorted(vocabulary.entities.items())
    ]
    return "|".join([*whole, " ?[A-Za-z]+", " ?[0-9]", r"[\s\S]"])


def _guarded(phrase: str) -> str:
    text = re.escape(phrase).replace("\n", r"\n").replace("\\\\n", r"\n")
    after = "(?![0-9A-Za-z])" if phrase[-1].isalnum() else ""
    before = "(?<![0-9A-Za-z])" if phrase[0].isalnum() else ""
    return before + text + after


def _numbers(highest: int) -> str:
    return "|".join(str(number) for number in range(1, highest + 1))


def _byte_symbols(text: str) -> str:
    """The printable stand-ins that the byte-level alphabet has for the text's bytes."""
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return "".join(symbols for symbols, _ in level.pre_tokenize_str(text))
