"""Shapes are checked at run time under test only; hypothesis repeats its cases."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from jaxtyping import install_import_hook  # noqa: E402

install_import_hook("pivotlab", "beartype.beartype")

from pivotlab import paths  # noqa: E402

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

#: Tiers that only run when asked for by `-m`.
TIERS = ("slow", "gpu", "engine", "tau2", "vllm", "browser")


def pytest_collection_modifyitems(config, items):
    """Leave the extra tiers out unless the command line selects by marker."""
    if config.option.markexpr:
        return
    kept = [i for i in items if not any(i.get_closest_marker(t) for t in TIERS)]
    dropped = [i for i in items if i not in kept]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.fixture(autouse=True)
def _run_output_stays_out_of_the_checkout(tmp_path, monkeypatch):
    """Whatever a test runs writes below its own temporary folder."""
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path / "home"))


@pytest.fixture
def mirror():
    """Folder with the registered real files; tests that read them need it."""
    folder = paths.mirror()
    if folder is None:
        pytest.skip("set PIVOTLAB_MIRROR to the folder that holds the registered files")
    return folder


@pytest.fixture(scope="session")
def reported():
    """Everything that the two papers report."""
    from pivotlab.experiments.reported import load_reported

    return load_reported()
