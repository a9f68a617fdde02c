"""A conversation as token ids, for any chat template, checked that nothing got lost.

The whole prefix is always rendered in one call with the generation prompt: rendering
message by message changes the text under several public templates (tool messages that
share one envelope, thinking that disappears once a later user message exists).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from transformers import PreTrainedTokenizerBase

from pivotlab import tool_call_text
from pivotlab.records import Message, Trajectory
from pivotlab.rendering.template import ChatTemplate, LostText, lost_texts

#: What stands in for an observation that the history setting hides.
HIDDEN = "(earlier observation hidden)"


@dataclass(frozen=True)
class Conversation:
    """A trajectory as one token sequence.

    `spans[t]` is the half-open token range of assistant turn t (end-of-turn token
    included). Where `append_only[t]` holds, `ids[:spans[t][0]]` is exactly that turn's
    prompt. Where it does not, the template rewrote earlier text, the span is (0, 0),
    and the turn has to be trained from `Renderer.prompt_ids` on its own. `mask` is 1 on
    the tokens of the spans.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    append_only: tuple[bool, ...]


class Renderer:
    """Renders canonical messages with a tokenizer's own chat template."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        options: Mapping[str, Any] | None = None,
        history: int | None = None,
    ):
        """
        Args:
            tokenizer: any tokenizer with a chat template.
            options: extra template variables, for example `{"enable_thinking": False}`.
            history: show only the last `history` observations, as some agents do; the
                same here for profiling and training, and part of `fingerprint`.

        Raises:
            ValueError: the tokenizer has no chat template.
        """
        self.tokenizer = tokenizer
        self.template = ChatTemplate(tokenizer, options or {})
        self.history = history
        self.end_of_turn = self._find_end_of_turn()
        self._end_text = self._decode([self.end_of_turn])
        self._end_length = len(self.encode(self._end_text))
        self._control_ids = self._find_control_ids()
        self._skeletons: dict[tuple[str, ...], list[str] | None] = {}

    def text(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        generation_prompt: bool = True,
    ) -> str:
        """The rendered text of a whole prefix.

        Raises:
            ValueError: the template refuses the messages (a role, an order).
        """
        if self.history is not None:
            messages = last_observations(messages, self.history)
        return self.template.render(
            messages, tools, generation_prompt=generation_prompt
        )

    def prompt_ids(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()
    ) -> list[int]:
        """Token ids of a prefix, generation prompt included."""
        return self.encode(self.text(messages, tools))

    def length(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()
    ) -> int:
        """Tokens of the prompt as the model will see it, schemas included."""
        return len(self.prompt_ids(messages, tools))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text that carries its own special tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _decode(self, token_ids: Sequence[int]) -> str:
        return self.tokenizer.decode(
            list(token_ids), clean_up_tokenization_spaces=False
        )

    def action(
        self, token_ids: Sequence[int], tools: Sequence[dict[str, Any]] = ()
    ) -> Message:
        """The assistant message that sampled tokens stand for; never raises.

        Reading stops at the first end-of-turn token. `tools` gives parameter values of
        the XML dialect their types.
        """
        ids = list(token_ids)
        if self.end_of_turn in ids:
            ids = ids[: ids.index(self.end_of_turn)]
        text = self._decode([i for i in ids if i not in self._control_ids])
        if "<" not in text and not self.template.capabilities.bare_json:
            return Message("assistant", text.strip())
        bare_json = self.template.capabilities.bare_json
        return tool_call_text.parse(text, tools, bare_json=bare_json)

    def completion_ids(
        self,
        prefix: Sequence[Message],
        action: Message,
        tools: Sequence[dict[str, Any]] = (),
    ) -> list[int]:
        """Tokens the model has to emit after `prefix` to say `action`.

        The end-of-turn token is included, whatever the template prints after it is not.

        Raises:
            ValueError: the template rewrites the prefix once the action follows it.
        """
        prompt = self.text(prefix, tools)
        return self.encode(self._completion(prompt, prefix, action, tools))

    def lost(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()
    ) -> list[LostText]:
        """Texts of the messages that the rendered prefix does not contain, in order.

        Thinking that a template drops on purpose is reported as part "reasoning".
        """
        if self.history is not None:
            messages = last_observations(messages, self.history)
        rendered = self.text(messages, tools, generation_prompt=False)
        return lost_texts(messages, rendered)

    def conversation(self, trajectory: Trajectory) -> Conversation:
        """The trajectory as one sequence with the spans of its assistant turns."""
        pieces = self._plain_pieces(trajectory)
        if pieces is None:
            return self._by_turn(trajectory)
        build = _Sequence(self)
        turns = trajectory.assistant_turns()
        before = "".join(pieces[: 2 * turns[0] + 1]) if turns else ""
        for this, following in zip(turns, [*turns[1:], None], strict=True):
            tail = pieces[2 * this + 2]
            completion = pieces[2 * this + 1] + self._end_text
            build.turn(before, completion)
            if following is not None:
                between = "".join(pieces[2 * this + 3 : 2 * following + 1])
                before = tail[len(self._end_text) :] + between
        return build.done()

    def fingerprint(self) -> dict[str, Any]:
        """What decides how a conversation becomes text, for provenance records."""
        return {
            "template": self.template.digest,
            "options": self.template.options,
            "history": self.history,
        }

    def _by_turn(self, trajectory: Trajectory) -> Conversation:
        """The general way: two renders per turn, each new token encoded once."""
        messages, tools = trajectory.messages, trajectory.tools
        build = _Sequence(self)
        shown = ""
        for index in trajectory.assistant_turns():
            prefix = messages[:index]
            try:
                prompt = self.text(prefix, tools)
                completion = self._completion(prompt, prefix, messages[index], tools)
            except ValueError:
                build.broken_turn()
                continue
            if not prompt.startswith(shown):
                build.restart()
                shown = ""
            build.turn(prompt[len(shown) :], completion)
            shown = prompt + completion
        return build.done()

    def _completion(
        self,
        prompt: str,
        prefix: Sequence[Message],
        action: Message,
        tools: Sequence[dict[str, Any]],
    ) -> str:
        whole = self.text([*prefix, action], tools, generation_prompt=False)
        if not whole.startswith(prompt):
            raise ValueError(
                "the chat template rewrites earlier text once an assistant turn "
                "follows; train this turn from its prompt and the raw completion"
            )
        completion = whole[len(prompt) :]
        end = completion.rfind(self._end_text)
        return completion if end < 0 else completion[: end + len(self._end_text)]

    def _plain_pieces(self, trajectory: Trajectory) -> list[str] | None:
        """Literal, content, literal, ... literal; None where that is not the form.

        Templates that only put the contents of text messages between fixed literals are
        rendered once: the literals depend on the roles alone, the prefix property was
        checked for these roles, and the joined pieces must equal the real render.
        """
        messages = trajectory.messages
        plain = all(
            not (m.tool_calls or m.reasoning or m.name or m.tool_call_id)
            for m in messages
        )
        if not (plain and messages) or trajectory.tools or self.history is not None:
            return None
        roles = tuple(m.role for m in messages)
        if roles not in self._skeletons:
            self._skeletons[roles] = self._skeleton(roles)
        literals = self._skeletons[roles]
        if literals is None:
            return None
        pieces = [literals[0]]
        for message, literal in zip(messages, literals[1:], strict=True):
            pieces += [message.content, literal]
        whole = self.text(messages, generation_prompt=False)
        return pieces if "".join(pieces) == whole else None

    def _skeleton(self, roles: tuple[str, ...]) -> list[str] | None:
        """The literals around the contents; None where a turn rewrites earlier text."""
        marks = [Message(role, f"\ue000{i}\ue001") for i, role in enumerate(roles)]
        literals, at = [], 0
        try:
            whole = self.text(marks, generation_prompt=False)
            for index, mark in enumerate(marks):
                start = whole.find(mark.content, at)
                end = start + len(mark.content)
                if start < 0:
                    return None
                if mark.role == "assistant":
                    said = whole[:end] + self._end_text
                    as_last = self.text(marks[: index + 1], generation_prompt=False)
                    if self.text(marks[:index]) != whole[:start] or not (
                        whole.startswith(said) and as_last.startswith(said)
                    ):
                        return None
                literals.append(whole[at:start])
                at = end
        except ValueError:
            return None
        return [*literals, whole[at:]]

    def _encode_after_end(self, text: str) -> list[int]:
        """Tokens of a text that follows an end-of-turn token."""
        return self.encode(self._end_text + text)[self._end_length :]

    def _find_end_of_turn(self) -> int:
        """The token the template prints right after an assistant's content."""
        marker = "pivotlab-end-of-turn"
        messages = [Message("user", "a"), Message("assistant", marker)]
        whole = self.text(messages, generation_prompt=False)
        tail = self.encode(whole[whole.rindex(marker) + len(marker) :])
        special = [i for i in tail if i in set(self.tokenizer.all_special_ids)]
        found = special or tail
        return found[0] if found else self.tokenizer.eos_token_id

    def _find_control_ids(self) -> frozenset[int]:
        """Special tokens that mean nothing in an action: not thinking or call tags."""
        special = zip(
            self.tokenizer.all_special_ids,
            self.tokenizer.all_special_tokens,
            strict=True,
        )
        return frozenset(i for i, t in special if "think" not in t and "tool" not in t)


class _Sequence:
    """A conversation in the making: texts in, ids with spans out."""

    def __init__(self, renderer: Renderer):
        self.renderer = renderer
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.spans: list[tuple[int, int]] = []
        self.append_only: list[bool] = []

    def turn(self, given: str, completion: str) -> None:
        """Append what the turn was given and what it said."""
        renderer = self.renderer
        new = renderer._encode_after_end(given) if self.ids else renderer.encode(given)
        said = renderer.encode(completion)
        start = len(self.ids) + len(new)
        self.ids += [*new, *said]
        self.mask += [0] * len(new) + [1] * len(said)
        self.spans.append((start, len(self.ids)))
        self.append_only.append(True)

    def broken_turn(self) -> None:
        """A turn that has to be trained on its own."""
        self.spans.append((0, 0))
        self.append_only.append(False)

    def restart(self) -> None:
        """Earlier text was rewritten: no turn before this one fits the sequence."""
        self.ids, self.mask = [], []
        self.spans = [(0, 0)] * len(self.spans)
        self.append_only = [False] * len(self.append_only)

    def done(self) -> Conversation:
        return Conversation(
            tuple(self.ids),
            tuple(self.mask),
            tuple(self.spans),
            tuple(self.append_only),
        )


def last_observations(messages: Sequence[Message], count: int) -> tuple[Message, ...]:
    """Messages with all but the last `count` observations hidden.

    An observation is a tool result, or a user message after the first assistant turn.
    """
    acted, found = False, []
    for index, message in enumerate(messages):
        acted = acted or message.role == "assistant"
        if message.role == "tool" or (acted and message.role == "user"):
            found.append(index)
    hidden = set(found[: max(0, len(found) - count)])
    return tuple(
        replace(m, content=HIDDEN) if i in hidden else m for i, m in enumerate(messages)
    )
