"""The recipes of the README run as they stand there, at small size.

A recipe is a fenced block below `<!-- recipe: NAME -->`, or, if it is a file to write,
below `<!-- recipe: NAME, saved as FILE -->`. Sizes and models are replaced; every text
that is replaced must be there, so that README and test cannot drift apart.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest

from pivotlab import paths
from pivotlab.models import tiny

README = paths.ROOT / "README.md"
BLOCK = re.compile(
    r"<!-- recipe: (?P<name>\w+)(?:, saved as (?P<file>[\w.]+))? -->\s*\n"
    r"```(?P<language>bash|python)\n(?P<text>.*?)\n```",
    re.DOTALL,
)
#: What is made smaller: recipe -> (text in the README, text that is run).
SMALLER = {
    "model": (("--k 8", "--k 2"), ("--limit 20", "--limit 1 --max-new-tokens 4")),
    "trajectories": (
        ("--k 8", "--k 2"),
        ("smollm2-135m", "tiny"),
        ("--limit 200", "--limit 2 --max-new-tokens 4"),
        ("--preset quick", "--preset smoke"),
        ("notebooks/03", f"{paths.NOTEBOOKS}/03"),
    ),
    "verifier": (
        ("--k 8", "--k 2 --limit 2 --max-new-tokens 4"),
        ("smollm2-135m", "tiny"),
    ),
    "environment": (("smollm2-135m", "tiny"), ("steps=20", "steps=1")),
    "teacher": (("smollm2-135m", "tiny"), ("steps=20", "steps=1")),
}
#: What a recipe leaves behind.
LEFT = {
    "model": "pivots-of-my-model/explorer.html",
    "trajectories": "pivots/summary.csv",
    "verifier": "pivots-same-booking/turns.csv",
}


@dataclass(frozen=True)
class Recipe:
    """One block: where it belongs, the file it is saved as, its language and text."""

    name: str
    file: str | None
    language: str
    text: str


def recipes():
    """All blocks of the README in order."""
    text = README.read_text(encoding="utf-8")
    return [Recipe(**found.groupdict()) for found in BLOCK.finditer(text)]


def smaller(name, blocks):
    """The blocks' texts with sizes replaced; every replacement must apply."""
    texts = [block.text for block in blocks]
    for old, new in SMALLER[name]:
        assert any(old in text for text in texts), f"recipe {name} lacks {old!r}"
        texts = [text.replace(old, new) for text in texts]
    return [text.replace(".venv/bin/python", sys.executable) for text in texts]


def run(language, text, folder):
    command = (
        ["bash", "-ec", text] if language == "bash" else [sys.executable, "-c", text]
    )
    env = {**os.environ, "PYTHONPATH": str(folder), "TQDM_DISABLE": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{text}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"


def test_there_is_a_recipe_for_everything_one_brings():
    assert {recipe.name for recipe in recipes()} == set(SMALLER)


def test_every_marker_has_its_block():
    text = README.read_text(encoding="utf-8")
    assert text.count("<!-- recipe:") == len(recipes())


@pytest.mark.parametrize("name", SMALLER)
def test_recipe(name, tmp_path):
    shutil.copytree(tiny.folder(), tmp_path / "my-model")
    logs = paths.DATA / "examples" / "logs"
    shutil.copy(logs / "bookings.jsonl", tmp_path / "my_runs.jsonl")
    blocks = [r for r in recipes() if r.name == name]
    # A later recipe uses the files that earlier ones say to write.
    for block in (r for r in recipes() if r.file):
        (tmp_path / block.file).write_text(block.text + "\n", encoding="utf-8")
    ran = 0
    for block, text in zip(blocks, smaller(name, blocks), strict=True):
        if block.file is None:
            run(block.language, text, tmp_path)
            ran += 1
    assert ran > 0
    assert (tmp_path / LEFT.get(name, ".")).exists()
