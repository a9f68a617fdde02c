"""A shell command as a value in which spelling no longer shows.

`normalise` parses with tree-sitter-bash and returns nested tuples that are equal for
commands differing only in white space, quoting, comments, `$x`/`${x}`, back-quotes,
option order, bundling and long names (programs of `shell_options`), path spelling,
`find`'s free order of plain tests, and a `bash -c '...'` around them.

What it does not do: it knows no effects, so `sort -u` and `sort | uniq` stay different;
order of redirections, operands and unknown options is kept. A command that does not
parse, is too long or too deep is compared as text. No function here raises.
"""

from __future__ import annotations

import re
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from pivotlab.verifiers import shell_find, shell_options
from pivotlab.verifiers.shell_options import Word

#: Longer commands are compared as text, which bounds the time of a verdict.
LONGEST = 6_000
DEEPEST = 40

_LANGUAGE = Language(tree_sitter_bash.language())
_SPECIAL = re.compile(r"([*?\[\\{])")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r'\\([$`"\\\n])')
_FOLDER = re.compile(r"/(?:usr/)?(?:local/)?s?bin/([\w.+-]+)")
_SEPARATORS = frozenset({";", "\n", "comment"})
_SHELLS = frozenset({"bash", "sh"})
_WORD_NODES = """
word number string raw_string ansi_c_string concatenation simple_expansion expansion
command_substitution process_substitution arithmetic_expansion brace_expression
special_variable_name variable_name file_descriptor
"""
_WORDS = frozenset(_WORD_NODES.split())
_WORD_ENDS = frozenset({"'", '"', "`", "$(", ")", "<(", ">(", "${", "}"})


class _TooDeep(Exception):
    """Nested deeper than any command a person would write."""


@lru_cache(maxsize=4096)
def normalise(command: str) -> tuple:
    """Canonical form of a command; ("text", ...) where it cannot be parsed."""
    plain = "\n".join(line.rstrip() for line in command.strip().splitlines())
    if len(plain) > LONGEST or "\x00" in plain:
        return ("text", plain)
    try:
        source = plain.encode("utf-8")
    except UnicodeEncodeError:
        return ("text", plain)
    root = Parser(_LANGUAGE).parse(source).root_node
    if root.has_error:
        return ("text", plain)
    try:
        return _Form(source).statements(root, 0)
    except _TooDeep:
        return ("text", plain)


def is_parsed(command: str) -> bool:
    """Could the command be parsed, so that more than its text is compared?"""
    return normalise(command)[:1] != ("text",)


def equivalent(gold: str, said: str) -> bool:
    """Are two commands the same up to spelling?"""
    return normalise(gold) == normalise(said)


def tokens(command: str) -> list[str]:
    """Words and operators of the canonical form in order, for a measure of likeness."""
    form = normalise(command)
    if form[0] == "text":
        return command.split()
    found: list[str] = []
    _collect(form, found)
    return found


class _Form:
    """Canonical forms of the nodes of one parse."""

    def __init__(self, source: bytes):
        self.source = source

    def text(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")

    def statements(self, node: Node, depth: int) -> tuple:
        """The statements under a node; a single one stands for itself."""
        kept = [
            self.form(child, depth + 1)
            for child in node.children
            if child.type not in _SEPARATORS
        ]
        return kept[0] if len(kept) == 1 else ("do", *kept)

    def form(self, node: Node, depth: int) -> tuple:
        """Canonical form of any node."""
        if depth > DEEPEST:
            raise _TooDeep
        if node.type in _WORDS:
            return ("word", self.word(node, depth))
        if node.type == "command":
            return self.command(node, depth)
        if node.type == "variable_assignment":
            return self.assignment(node, depth)
        if node.type == "file_redirect":
            return ("redirect", *self.redirect(node, depth))
        if node.type in ("program", "compound_statement", "do_group"):
            inner = [c for c in node.children if c.type not in ("{", "}", "do", "done")]
            kept = [self.form(c, depth + 1) for c in inner if c.type not in _SEPARATORS]
            return (node.type, *kept)
        if not node.children or node.type == "heredoc_body":
            return ("leaf", self.text(node.start_byte, node.end_byte))
        return (node.type, *self.parts(node, depth))

    def parts(self, node: Node, depth: int) -> list[tuple]:
        """Forms of the children, with any text that no child covers."""
        found: list[tuple] = []
        at = node.start_byte
        for child in node.children:
            gap = self.text(at, child.start_byte).strip()
            if gap:
                found.append(("leaf", gap))
            at = max(at, child.end_byte)
            if child.type not in _SEPARATORS:
                found.append(self.form(child, depth + 1))
        gap = self.text(at, node.end_byte).strip()
        return [*found, ("leaf", gap)] if gap else found

    def command(self, node: Node, depth: int) -> tuple:
        """A simple command: assignments, program, options and operands."""
        assignments, others, words = [], [], []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self.assignment(child, depth))
            elif child.type == "command_name":
                words.append(self.word(child.children[0], depth))
            elif child.type in _WORDS:
                words.append(self.word(child, depth))
            else:
                others.append(self.form(child, depth + 1))
        simple = self.simple(words, depth)
        if assignments or others:
            return ("with", tuple(sorted(assignments, key=repr)), *others, simple)
        return simple

    def simple(self, words: list[Word], depth: int) -> tuple:
        if depth > DEEPEST:
            raise _TooDeep
        if not words or not isinstance(words[0], str):
            return ("run", *words)
        program = _FOLDER.sub(r"\1", words[0]) if "/bin/" in words[0] else words[0]
        rest = words[1:]
        payload = _payload(program, rest)
        if payload is not None:
            return normalise(payload)
        if program == "find":
            return ("find", *shell_find.normalise(rest))
        parsed = shell_options.parse(program, rest)
        if parsed is None:
            return ("run", program, *rest)
        program, flags, valued, operands = parsed
        if shell_options.takes_command(program) and operands:
            operands = [self.simple(operands, depth + 1)]
        return ("run", program, flags, valued, *operands)

    def assignment(self, node: Node, depth: int) -> tuple:
        name, value = node.child_by_field_name("name"), node.children[-1]
        written = self.text(name.start_byte, name.end_byte) if name else ""
        inner = self.form(value, depth + 1) if value.type != "=" else ("word", "")
        operator = [c.type for c in node.children if c.type in ("=", "+=")]
        return ("assign", written, *operator, inner)

    def redirect(self, node: Node, depth: int) -> tuple:
        return tuple(
            self.form(c, depth + 1) if c.is_named else c.type for c in node.children
        )

    def word(self, node: Node, depth: int) -> Word:
        """A word after quoting: text with quoted specials escaped, and expansions."""
        pieces: list = []
        self.pieces(node, pieces, depth)
        merged: list = []
        for piece in pieces:
            if isinstance(piece, str) and merged and isinstance(merged[-1], str):
                merged[-1] += piece
            else:
                merged.append(piece)
        if not merged:
            return ""
        if len(merged) == 1 and isinstance(merged[0], str):
            return "{}" if merged[0] == r"\{}" else merged[0]
        return tuple(merged)

    def pieces(self, node: Node, out: list, depth: int, quoted: bool = False) -> None:
        if depth > DEEPEST:
            raise _TooDeep
        written = self.text(node.start_byte, node.end_byte)
        kind = node.type
        if kind == "raw_string":
            out.append(_SPECIAL.sub(r"\\\1", written[1:-1]))
        elif kind == "string":
            self.string(node, out, depth)
        elif kind == "concatenation":
            self.gaps(node, node.start_byte, node.end_byte, out, depth, quoted)
        elif kind in ("simple_expansion", "expansion"):
            name = written.removeprefix("$")
            name = name[1:-1] if re.fullmatch(r"\{\w+\}", name) else name
            out.append(("$", name, quoted))
        elif kind in ("command_substitution", "process_substitution"):
            inner = [
                self.form(c, depth + 1)
                for c in node.children
                if c.type not in _WORD_ENDS and c.type not in _SEPARATORS
            ]
            mark = "$(" if kind == "command_substitution" else written[:2]
            out.append((mark, quoted, *inner))
        elif kind in ("word", "number", "file_descriptor", "variable_name"):
            out.append(_unescaped(written))
        else:
            out.append((kind, "".join(written.split())))

    def string(self, node: Node, out: list, depth: int) -> None:
        """A double-quoted string, whose content nodes leave out some white space."""
        self.gaps(node, node.start_byte + 1, node.end_byte - 1, out, depth, True)

    def gaps(
        self, node: Node, start: int, end: int, out: list, depth: int, quoted: bool
    ) -> None:
        """Pieces of a node's children with the text between them."""
        at = start
        for child in node.children:
            if child.start_byte < at or child.end_byte > end or child.type == '"':
                continue
            if quoted and child.type == "string_content":
                continue
            self.between(at, child.start_byte, out, quoted)
            self.pieces(child, out, depth + 1, quoted)
            at = child.end_byte
        self.between(at, end, out, quoted)

    def between(self, start: int, end: int, out: list, quoted: bool) -> None:
        if start >= end:
            return
        written = self.text(start, end)
        if not quoted:
            out.append(_unescaped(written))
            return
        plain = _QUOTED_ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1], written)
        out.append(_SPECIAL.sub(r"\\\1", plain))


def _unescaped(written: str) -> str:
    """Unquoted text, in which a backslash quotes the next character."""

    def plain(found: re.Match[str]) -> str:
        if found[1] == "\n":
            return ""
        return _SPECIAL.sub(r"\\\1", found[1])

    return _ESCAPED.sub(plain, written)


def _payload(program: str, words: list[Word]) -> str | None:
    """The command inside `bash -lc '...'`, None for anything else.

    Only one quoted payload without expansions and without further arguments counts:
    `bash -lc pytest -q` runs `pytest` with `-q` as its `$0`.
    """
    if program not in _SHELLS or len(words) < 2 or len(words) > 3:
        return None
    *options, payload = words
    letters = "".join(str(o).removeprefix("-") for o in options)
    if not all(isinstance(o, str) and o.startswith("-") for o in options):
        return None
    if not isinstance(payload, str) or "c" not in letters or set(letters) - {"l", "c"}:
        return None
    if str(options[-1])[-1] != "c":
        return None
    return _ESCAPED.sub(r"\1", payload)


def _collect(form: object, found: list[str]) -> None:
    if isinstance(form, tuple):
        for part in form:
            _collect(part, found)
    elif isinstance(form, str):
        found.append(form)
