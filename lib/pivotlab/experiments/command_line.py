"""Argument errors of the commands in one line, with the nearest option."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that prints no usage with an error; `--help` has it."""

    def parse_known_args(
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """As the original; what it does not know is an error here, where a subcommand
        still knows its own options."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].partition("=")[0]
            options = re.findall(r"--[a-z-]+", self.format_help())
            near = difflib.get_close_matches(word, options, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unknown argument {word}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Ends the process with status 2."""
        self.exit(2, f"error: {message} ({self.prog} --help lists the options)\n")
