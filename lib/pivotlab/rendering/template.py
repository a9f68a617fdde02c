"""What a chat template does with messages: found out by probes, never assumed.

Templates differ in what they print: calls with arguments as objects or as JSON text,
tool results, tool schemas, thinking. What a template cannot print itself is written
into the text in the Hermes form, so that no message loses words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from pivotlab import tool_call_text
from pivotlab.records import Message, ToolCall


@dataclass(frozen=True)
class Capabilities:
    """What a template prints by itself.

    `arguments` is how it wants the arguments of a call: "dict", "string" (JSON text),
    or "none" when it prints no calls. `parallel`: several calls in one turn; `beside`:
    text next to calls. `bare_json` says that a call is a whole text.
    """

    arguments: str
    parallel: bool
    beside: bool
    results: bool
    schemas: bool
    reasoning: bool
    bare_json: bool


@dataclass(frozen=True)
class LostText:
    """A text that the template did not print: which message, which part of it."""

    message: int
    part: str
    text: str


class ChatTemplate:
    """Messages to text through a tokenizer's chat template."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, options: Mapping[str, Any]):
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
        self.options = dict(options)
        self.capabilities = self._probe()

    @property
    def digest(self) -> str:
        """Short hash of the template's source."""
        source = str(self.tokenizer.chat_template)
        return hashlib.sha256(source.encode()).hexdigest()[:16]

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        generation_prompt: bool = True,
    ) -> str:
        """The text of a whole prefix.

        Raises:
            ValueError: the template refuses the messages (a role, an order, none).
        """
        rows = [self._row(m) for m in messages]
        if tools and not self.capabilities.schemas:
            rows = _with_schema_text(rows, tools)
            tools = ()
        return self._render(rows, tools, generation_prompt)

    def _row(self, message: Message) -> dict[str, Any]:
        """A message in the dict form that this template can print."""
        can = self.capabilities
        role, content = message.role, message.content
        if message.reasoning and not can.reasoning:
            content = f"<think>\n{message.reasoning}\n</think>\n\n{content}"
        native = can.arguments != "none" and (can.beside or not content)
        native = native and (can.parallel or len(message.tool_calls) == 1)
        if message.tool_calls and not native:
            blocks = [tool_call_text.write_call(call) for call in message.tool_calls]
            content = "\n".join([content, *blocks] if content else blocks)
        if role == "tool" and not can.results:
            role = "user"
            content = f"<tool_response>\n{content}\n</tool_response>"
        row: dict[str, Any] = {"role": role, "content": content}
        if message.reasoning and can.reasoning:
            row["reasoning_content"] = message.reasoning
        if message.tool_calls and native:
            as_text = can.arguments == "string"
            row["tool_calls"] = [
                _call_row(call, as_text) for call in message.tool_calls
            ]
        if role == "tool" and message.name:
            row["name"] = message.name
        if role == "tool" and message.tool_call_id:
            row["tool_call_id"] = message.tool_call_id
        return row

    def _render(
        self,
        rows: list[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        generation_prompt: bool,
    ) -> str:
        if not rows:
            raise ValueError(
                "an empty prefix cannot be rendered; give it a user message"
            )
        try:
            return self.tokenizer.apply_chat_template(
                rows,
                tools=list(tools) or None,
                tokenize=False,
                add_generation_prompt=generation_prompt,
                **self.options,
            )
        except (
            TemplateError,
            TypeError,
            ValueError,
            AttributeError,
            KeyError,
        ) as error:
            roles = " ".join(str(row["role"]) for row in rows)
            raise ValueError(
                f"the chat template refuses this conversation ({error}); roles: {roles}"
            ) from error

    def _probe(self) -> Capabilities:
        """Find out what the template prints by rendering small conversations."""
        given = {"probe_key": "probe value"}
        as_dict = self._prints(
            [_USER, _probe_call(given)],
            ("probe_name", "probe_key", "probe value"),
            forbidden=("{'probe_key'", '\\"probe_key'),
        )
        text = json.dumps(given)
        as_text = self._prints([_USER, _probe_call(text)], ("probe_name", text))
        arguments = "dict" if as_dict else "string" if as_text else "none"
        call = _probe_call(given if as_dict else text)
        results = arguments != "none" and self._prints(
            [_USER, call, _RESULT], ("probe result",)
        )
        thought = {
            "role": "assistant",
            "content": "a",
            "reasoning_content": "probe why",
        }
        tool = {
            "type": "function",
            "function": {"name": "probe_name", **_NO_PARAMETERS},
        }
        spoken = {**call, "content": "probe text"}
        other = _probe_call(given if as_dict else text, "probe_other")
        twice = {**call, "tool_calls": call["tool_calls"] + other["tool_calls"]}
        return Capabilities(
            arguments=arguments,
            parallel=self._prints([_USER, twice], ("probe_name", "probe_other")),
            beside=self._prints([_USER, spoken], ("probe_name", "probe text")),
            results=results,
            schemas=self._prints([_USER], ("probe_name",), tools=(tool,)),
            reasoning=self._prints([_USER, thought], ("probe why",)),
            bare_json=arguments != "none" and self._prints_bare_json(call),
        )

    def _prints(
        self,
        rows: list[dict[str, Any]],
        wanted: tuple[str, ...],
        *,
        forbidden: tuple[str, ...] = (),
        tools: Sequence[dict[str, Any]] = (),
    ) -> bool:
        try:
            text = self._render(rows, tools, False)
        except ValueError:
            return False
        return all(w in text for w in wanted) and not any(f in text for f in forbidden)

    def _prints_bare_json(self, call: dict[str, Any]) -> bool:
        prompt = self._render([_USER], (), True)
        whole = self._render([_USER, call], (), False)
        return whole[len(prompt) :].lstrip().startswith("{")


def lost_texts(messages: Sequence[Message], rendered: str) -> list[LostText]:
    """Texts of the messages that `rendered` does not contain in their order."""
    missing, cursor = [], 0
    for index, message in enumerate(messages):
        start = cursor
        for part, forms in _texts(message):
            found = [at for at in (rendered.find(f, start) for f in forms) if at >= 0]
            if not found:
                missing.append(LostText(index, part, forms[0]))
            elif part == "content":
                cursor = min(found) + len(forms[0])
    return missing


def _texts(message: Message) -> list[tuple[str, list[str]]]:
    """The parts of a message that must appear in print, each in its possible forms."""
    parts = []
    if message.content.strip():
        parts.append(("content", [message.content.strip()]))
    if message.reasoning and message.reasoning.strip():
        parts.append(("reasoning", [message.reasoning.strip()]))
    for call in message.tool_calls:
        texts = [call.name, *_strings(call.arguments)]
        parts += [("call", _forms(t)) for t in texts if t.strip()]
    return parts


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [s for k, v in value.items() for s in (str(k), *_strings(v))]
    if isinstance(value, list | tuple):
        return [s for v in value for s in _strings(v)]
    return []


def _forms(text: str) -> list[str]:
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    return [text.strip(), escaped.strip(), json.dumps(text)[1:-1].strip()]


def _call_row(call: ToolCall, as_text: bool) -> dict[str, Any]:
    arguments: Any = (
        call.arguments if as_text else tool_call_text.as_object(call.arguments)
    )
    if as_text and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    row = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
    return {**row, "id": call.id} if call.id else row


def _with_schema_text(
    rows: list[dict[str, Any]], tools: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Rows whose system message lists the tools, for templates that print none."""
    lines = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    text = (
        f"These functions can be called:\n<tools>\n{lines}\n</tools>\n"
        "A call is written as\n<tool_call>\n"
        '{"name": <function name>, "arguments": <object>}\n</tool_call>'
    )
    if rows and rows[0]["role"] == "system":
        first = {**rows[0], "content": f"{rows[0]['content']}\n\n{text}".strip()}
        return [first, *rows[1:]]
    return [{"role": "system", "content": text}, *rows]


_USER = {"role": "user", "content": "u"}
_RESULT = {
    "role": "tool",
    "content": "probe result",
    "name": "probe_name",
    "tool_call_id": "callprobe",
}
_NO_PARAMETERS = {
    "description": "probe",
    "parameters": {"type": "object", "properties": {}, "required": []},
}


def _probe_call(
    arguments: dict[str, Any] | str, name: str = "probe_name"
) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": "callprobe", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}
