"""How an episode's token sequence grows: what a chat template prints between turns.

With the whole history as context and a template that is context-free between turns, the
next prompt is the last one, the sampled tokens as they are, and a seam: everything from
the end-of-turn token to the next generation prompt. Sampled text is never tokenised
again. Templates that rewrite earlier turns (dropped thinking) and history windows have
their prompt rendered anew at every turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from pivotlab.records import Message
from pivotlab.rendering import Renderer

#: Stands for an assistant's text while a seam is read off the template.
_MARKER = "pivotlab-seam"


class PromptGrower:
    """Next prompts for one renderer and one history length.

    Attributes:
        append_only: True where a prompt is its predecessor plus new tokens.
    """

    def __init__(self, renderer: Renderer, history: int | None = None):
        """
        Args:
            renderer: of the tokenizer in use.
            history: number of most recent (action, observation) pairs shown after the
                first observation; None shows all.

        Raises:
            ValueError: `history` is negative.
        """
        if history is not None and history < 0:
            raise ValueError(f"history must be >= 0 or None for all, got {history}")
        self.renderer = renderer
        self.history = history
        shown_whole = history is None and renderer.history is None
        self.append_only = shown_whole and self._context_free()
        self._seams: dict[tuple[str, str | None], list[int]] = {}

    def first(self, messages: Sequence[Message]) -> list[int]:
        """Prompt of an episode's next turn, rendered from its messages."""
        return self.renderer.prompt_ids(self.window(messages))

    def following(
        self, prompt: list[int], turn_ids: Sequence[int], messages: Sequence[Message]
    ) -> list[int]:
        """Prompt of the next turn.

        Args:
            prompt: prompt of the turn just taken.
            turn_ids: that turn's tokens; an end-of-turn token that truncation cut off
                is added.
            messages: the conversation up to the newest observation.
        """
        if not self.append_only:
            return self.first(messages)
        stop = [] if self.is_ended(turn_ids) else [self.renderer.end_of_turn]
        return [*prompt, *turn_ids, *stop, *self._seam(messages[-1])]

    def is_ended(self, turn_ids: Sequence[int]) -> bool:
        """True where a turn's tokens close the turn."""
        return bool(turn_ids) and turn_ids[-1] in self.stop_ids

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Tokens that end a turn."""
        eos = self.renderer.tokenizer.eos_token_id
        ends = {self.renderer.end_of_turn, eos} - {None}
        return tuple(sorted(ends))

    def window(self, messages: Sequence[Message]) -> list[Message]:
        """What a policy sees: rules, first observation, last `history` pairs."""
        if self.history is None:
            return list(messages)
        first = [m.role == "assistant" for m in [*messages, Message("assistant")]]
        head, pairs = messages[: first.index(True)], messages[first.index(True) :]
        return [*head, *pairs[max(0, len(pairs) - 2 * self.history) :]]

    def _seam(self, observation: Message) -> list[int]:
        """Tokens after an assistant's end-of-turn token, up to its next turn."""
        key = (observation.role, observation.content)
        if key not in self._seams:
            self._seams[key] = self.renderer.encode(self._seam_text(observation))[1:]
        return self._seams[key]

    def _seam_text(self, observation: Message) -> str:
        turn = [Message("user", "a"), Message("assistant", _MARKER), observation]
        return self.renderer.text(turn).partition(_MARKER)[2]

    def _context_free(self) -> bool:
        """True where the template prints a turn the same way whatever came before."""
        observation = Message("user", "d. e")
        seam = self._seam_text(observation)
        if self.renderer.encode(seam)[:1] != [self.renderer.end_of_turn]:
            return False
        for text in (_MARKER, f"<think>\na\n</think>\n\n{_MARKER}"):
            said = [Message("assistant", text), observation]
            history = [Message("system", "s"), Message("user", "b c")]
            for _ in range(3):
                expected = self.renderer.text(history) + text + seam
                history = history + said
                if self.renderer.text(history) != expected:
                    return False
        return True
