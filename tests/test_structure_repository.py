"""The repository is what its README says: files, pins, floors and sizes."""

import ast
import re
import subprocess
import tomllib
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import pytest

from pivotlab import paths

ROOT = paths.ROOT
LIB = ROOT / "lib" / "pivotlab"

#: Floor of each room; a module imports only from its own or a lower floor.
FLOORS = {
    "paths": 1,
    "records": 1,
    "intervals": 1,
    "tool_call_text": 1,
    "tool_schemas": 1,
    "whole_files": 1,
    "theory": 1,
    "models": 2,
    "rendering": 2,
    "environments": 2,
    "trajectories": 2,
    "engines": 3,
    "verifiers": 3,
    "rollouts": 4,
    "pivots": 4,
    "distillation": 5,
    "evaluation": 5,
    "training": 6,
    "experiments": 7,
}


def tracked(*patterns: str) -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return listing.stdout.split()


def dotted(path) -> str:
    """File -> name of its module."""
    parts = path.relative_to(LIB.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in sorted(LIB.rglob("*.py"))}


def imported(path) -> set[str]:
    """Modules of the library that a file imports, those for type checkers included."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in MODULES else node.module for name in inner}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & set(MODULES)


def room(module: str) -> str:
    return module.split(".")[1]


def folder(module: str) -> str:
    is_package = MODULES[module].name == "__init__.py"
    return module if is_package else module.rpartition(".")[0]


def between(place) -> dict[str, set[str]]:
    """Imports between places of modules, such as rooms or folders."""
    graph = defaultdict(set)
    for module, others in IMPORTS.items():
        graph[place(module)] |= {place(m) for m in others - {"pivotlab"}}
    return {name: others - {name} for name, others in graph.items()}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """One circle of a graph, empty if it has none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("folder", ["lib", "data", "notebooks", "tests", "figures"])
def test_git_tracks_the_folder(folder):
    assert tracked(folder), f"git ls-files {folder} is empty: is it ignored?"


def test_repository_stays_small():
    total = sum((ROOT / f).stat().st_size for f in tracked() if (ROOT / f).is_file())
    assert total <= 30e6, f"{total / 1e6:.1f} MB are tracked"


IMPORTS = {module: imported(path) for module, path in MODULES.items()}
IMPORTS.pop("pivotlab")


def test_imports_run_one_way():
    wrong = [
        f"{module} imports {other}"
        for module, others in IMPORTS.items()
        for other in sorted(others - {"pivotlab"})
        if FLOORS[room(other)] > FLOORS[room(module)]
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("place", [room, folder, str])
def test_no_rooms_no_folders_and_no_files_import_each_other(place):
    assert circle(between(place)) == []


def test_sizes_of_modules_and_functions():
    wrong = []
    for path in sorted(LIB.rglob("*.py")):
        text = path.read_text()
        if text.count("\n") > 500:
            wrong.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = node.end_lineno - node.lineno + 1
                if length > 50:
                    wrong.append(f"{path.relative_to(ROOT)} {node.name}: {length}")
    assert not wrong, wrong


def pins(lines) -> dict[str, str]:
    found = {}
    for line in lines:
        match = re.match(r"([A-Za-z0-9._-]+)(==[^\s#,;]+)", line.strip().strip('",- '))
        if match:
            found[match[1].lower().replace("_", "-")] = match[2]
    return found


def test_pins_agree_across_the_files():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = pins(project["dependencies"])
    lock = pins((ROOT / "requirements.lock").read_text().splitlines())
    conda = pins((ROOT / "environment.yml").read_text().splitlines())
    assert {k: lock[k] for k in wanted} == wanted
    assert {k: v for k, v in wanted.items() if k in conda} == conda


def test_every_dependency_has_a_line_in_the_environment():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[A-Za-z0-9_-]+", d)[0] for d in project["dependencies"]}
    text = (ROOT / "environment.yml").read_text()
    missing = {n for n in names if not re.search(rf"- (py)?{n}(-cpu)?[=><]", text)}
    assert missing == set()


def test_environment_files_differ_in_torch_and_vllm_only():
    cpu = (ROOT / "environment.yml").read_text().splitlines()
    gpu = (ROOT / "environment-gpu.yml").read_text().splitlines()
    different = set(cpu).symmetric_difference(gpu)
    rest = [d for d in different if not d.startswith("#")]
    assert rest and all(re.search("torch|vllm|-e \\.", line) for line in rest), rest


def test_every_module_has_a_test_file_of_its_name():
    names = {p.name for p in (ROOT / "tests").glob("test_*.py")}
    missing = []
    for path in sorted(LIB.rglob("*.py")):
        parts = path.relative_to(LIB).with_suffix("").parts
        if parts[-1] in ("__init__", "protocol", "paths"):
            continue
        if not any(n.startswith("test_" + "_".join(parts)) for n in names):
            missing.append("_".join(parts))
    assert missing == []
