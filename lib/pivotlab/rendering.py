"""A conversation as token ids, for any chat template, with checks that nothing got lost.

The whole prefix is always rendered in one call with the generation prompt: rendering
message by message changes the text under several public templates (tool messages that
share one envelope, thinking that disappears once a later user message exists).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedTokenizerBase

from pivotlab.records import Message, ToolCall, Trajectory

#: Roles that public templates drop silently, and what they become.
ROLE_ALIASES = {"developer": "system", "function": "tool"}


@dataclass(frozen=True)
class Conversation:
    """A trajectory as one token sequence.

    `spans[t]` is the half-open token range of assistant turn t (end-of-turn token
    included), so `ids[:spans[t][0]]` is that turn's prompt where `append_only[t]` holds.
    `mask` is 1 on assistant tokens.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    append_only: tuple[bool, ...]


class Renderer:
    """Renders canonical messages with a tokenizer's own chat template."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase):
        """
        Raises:
            ValueError: the tokenizer has no chat template.
        """
        if not tokenizer.chat_template:
            raise ValueError(
                f"tokenizer {tokenizer.name_or_path!r} has no chat template; "
                "set tokenizer.chat_template or choose an instruction-tuned model"
            )
        self.tokenizer = tokenizer
        self.end_of_turn = self._find_end_of_turn()

    def text(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        generation_prompt: bool = True,
    ) -> str:
        """The rendered text of a whole prefix."""
        return self.tokenizer.apply_chat_template(
            [template_message(m) for m in messages],
            tools=list(tools) or None,
            tokenize=False,
            add_generation_prompt=generation_prompt,
        )

    def prompt_ids(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()
    ) -> list[int]:
        """Token ids of a prefix, generation prompt included."""
        return self.encode(self.text(messages, tools))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text that carries its own special tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def action(self, token_ids: Sequence[int]) -> Message:
        """The assistant message that sampled tokens stand for; never raises."""
        text = self.tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return Message(role="assistant", content=text.strip())

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
        whole = self.text([*prefix, action], tools, generation_prompt=False)
        if not whole.startswith(prompt):
            raise ValueError(
                "the chat template rewrites earlier text when an assistant turn follows; "
                "train this turn from its prompt and the raw completion instead"
            )
        return self._cut_after_end_of_turn(self.encode(whole[len(prompt) :]))

    def conversation(self, trajectory: Trajectory) -> Conversation:
        """The trajectory as one sequence with the spans of its assistant turns."""
        messages, tools = trajectory.messages, trajectory.tools
        ids: list[int] = []
        mask: list[int] = []
        spans: list[tuple[int, int]] = []
        append_only: list[bool] = []
        for index in trajectory.assistant_turns():
            prompt = self.prompt_ids(messages[:index], tools)
            append_only.append(prompt[: len(ids)] == ids)
            if append_only[-1]:
                mask += [0] * (len(prompt) - len(ids))
                ids = prompt
            else:
                ids, mask = prompt, [0] * len(prompt)
            completion = self.completion_ids(messages[:index], messages[index], tools)
            spans.append((len(ids), len(ids) + len(completion)))
            ids = ids + completion
            mask += [1] * len(completion)
        return Conversation(tuple(ids), tuple(mask), tuple(spans), tuple(append_only))

    def _find_end_of_turn(self) -> int:
        """The token the template prints right after an assistant's content."""
        marker = "pivotlab-end-of-turn"
        messages = [Message("user", "a"), Message("assistant", marker)]
        whole = self.text(messages, generation_prompt=False)
        tail = self.encode(whole[whole.rindex(marker) + len(marker) :])
        return tail[0] if tail else self.tokenizer.eos_token_id

    def _cut_after_end_of_turn(self, ids: list[int]) -> list[int]:
        if self.end_of_turn in ids:
            return ids[: ids.index(self.end_of_turn) + 1]
        return ids


def template_message(message: Message) -> dict[str, Any]:
    """A canonical message in the dict form that chat templates expect."""
    row: dict[str, Any] = {
        "role": ROLE_ALIASES.get(message.role, message.role),
        "content": message.content,
    }
    if message.reasoning:
        row["reasoning_content"] = message.reasoning
    if message.tool_calls:
        row["tool_calls"] = [_template_call(call) for call in message.tool_calls]
    if message.name:
        row["name"] = message.name
    if message.tool_call_id:
        row["tool_call_id"] = message.tool_call_id
    return row


def _template_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except json.JSONDecodeError:
            arguments = {"_raw": arguments}
    row = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
    return {**row, "id": call.id} if call.id else row
