"""How alike two texts are: one scale on which identical is 1 and unrelated is 0.

- `overlap`: Dice share of two bags of words, 2 |A and B| / (|A| + |B|). Dividing by the
  plain sum, as some public reward code does, gives identical texts only one half.
- `same_value`: identifiers, codes, paths and numbers, where every character counts, and
  short names, where case and spacing do not. One rule for one word and for two.
- `same_prose`: sentences, by content words; numbers and negations must agree.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

#: Longer texts are only compared for equality, which bounds the time of a verdict.
LONGEST = 8_000
#: Texts of at least this many words may count as prose.
PROSE_WORDS = 4

_WORD = re.compile(r"\w+(?:['’.]\w+)*")
_PROSE = re.compile(r"[\w\s.,;:!?'’\"“”()%$€£&\-–—]*")
#: Joined names, calls, options, bullets, indented lines, and statements.
_CODE = re.compile(
    r"\w_\w|\w\(|(?:^|\s)--?\w|^[ \t]*-|^(?: {2}|\t)"
    r"|^\s*(?:class|def|elif|else|for|from|if|import|print|return|try|while)\b",
    re.MULTILINE,
)
_DENYING = """
no not never none cannot without don't doesn't didn't isn't aren't wasn't won't can't
couldn't wouldn't shouldn't
"""
_EMPTY = """
a about all also am an and any are as at be been but by can could did do does for from
had has have he her here him his how i if in into is it its just let like may me might
my of on one or our out please shall she should so some than that the their them then
there these they this those to up us was we were what when where which who whom why will
with would you your i'm i'd i've i'll you'd you're you've it's that's let's
"""
_NEGATIONS, _STOP_WORDS = frozenset(_DENYING.split()), frozenset(_EMPTY.split())


def plain(text: str) -> str:
    """Composed Unicode form with single spaces: what a reader sees of a text."""
    return " ".join(unicodedata.normalize("NFC", text).split())


@lru_cache(maxsize=512)
def words(text: str) -> tuple[str, ...]:
    """Lower-case words and numbers in order; punctuation is no word."""
    folded = unicodedata.normalize("NFKC", text[:LONGEST]).casefold().replace("’", "'")
    return tuple(_WORD.findall(folded))


def content_words(text: str) -> Counter[str]:
    """Bag of the words that carry content; all words where none does."""
    found = words(text)
    kept = [w for w in found if w not in _STOP_WORDS]
    return Counter(kept or found)


def overlap(gold: Counter[str], said: Counter[str]) -> float:
    """Dice share of two bags in [0, 1]; two empty bags share nothing.

    Inflected and mistyped words count as the same word (see `_akin`).
    Example: {cancel, order, now} and {refund, order, later} give 1/3.
    """
    total = gold.total() + said.total()
    if not gold or not said:
        return 0.0
    both = gold & said
    rest_gold, rest_said = list(gold - both), sorted(said - both)
    matched = both.total()
    for word in sorted(rest_gold)[:100]:
        twin = next((other for other in rest_said[:100] if _akin(word, other)), None)
        if twin is not None:
            rest_said.remove(twin)
            matched += 1
    return 2 * matched / total


def similarity(gold: str, said: str) -> float:
    """Likeness of two texts by content words; 1.0 for texts that read the same."""
    if plain(gold).casefold() == plain(said).casefold():
        return 1.0
    if max(len(gold), len(said)) > LONGEST:
        return 0.0
    return overlap(content_words(gold), content_words(said))


def same_value(gold: str, said: str) -> bool:
    """Equal as a value: exactly, or up to case and spacing for plain names.

    A name consists of letters, spaces, hyphens, apostrophes and full stops; anything
    else (digits, slashes, underscores) may be an identifier and must be equal.
    """
    first, second = plain(gold), plain(said)
    if first == second:
        return True
    if not all(c.isalpha() or c in " -'’.," for c in first + second):
        return False
    return first.casefold() == second.casefold()


def is_prose(text: str) -> bool:
    """Does the text read as sentences (and not as code, a path or an identifier)?"""
    return (
        len(text) <= LONGEST
        and len(words(text)) >= PROSE_WORDS
        and _PROSE.fullmatch(text) is not None
        and _CODE.search(text) is None
    )


def same_prose(gold: str, said: str, floor: float) -> bool:
    """Do two sentences say the same: similar enough, same numbers, same negation?

    Numbers are compared as a set, and only whether each text denies something.
    """
    if similarity(gold, said) < floor:
        return False
    first, second = words(gold), words(said)
    if {w for w in first if _has_digit(w)} != {w for w in second if _has_digit(w)}:
        return False
    return _denies(first) == _denies(second)


def _denies(found: tuple[str, ...]) -> bool:
    return any(word in _NEGATIONS for word in found)


def _has_digit(word: str) -> bool:
    return any(c.isdigit() for c in word)


def _akin(first: str, second: str) -> bool:
    """Forms of one word: a common stem of four letters, or one slip in six or more."""
    short, long = sorted((first, second), key=len)
    if _has_digit(first) or _has_digit(second) or len(short) < 4:
        return False
    if long.startswith(short):
        return True
    return len(short) >= 6 and Levenshtein.distance(first, second, score_cutoff=1) <= 1
