"""Registered files: addresses, hashes, the mirror, and what to do without a network."""

import hashlib
import re

import pooch
import pytest
import requests

from pivotlab import paths
from pivotlab.trajectories import registry

NAME = "SWE-agent__mini-swe-agent/tests/test_data/local.traj.json"
CONTENT = b'[{"role": "user", "content": "hi"}]'


@pytest.fixture
def one_file(monkeypatch, tmp_path):
    """A registry with one small file of ours, and no mirror."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    known = registry.Entry(
        "o__r/a b.json", "https://x.invalid/a%20b.json", len(CONTENT), digest,
        "o/r", "0" * 40, "MIT", "Someone",
    )  # fmt: skip
    monkeypatch.setattr(registry, "entries", lambda: {known.name: known})
    monkeypatch.delenv("PIVOTLAB_MIRROR", raising=False)
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))
    return known


def test_every_entry_has_a_fixed_address_a_hash_a_licence_and_a_citation():
    found = registry.entries()
    assert len(found) == 123
    for name, entry in found.items():
        assert re.fullmatch(r"[0-9a-f]{40}", entry.commit), name
        assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256), name
        assert entry.commit in entry.url and " " not in entry.url
        assert entry.licence in ("MIT", "Apache-2.0") and entry.citation
        assert name.startswith(entry.repository.replace("/", "__") + "/")


def test_a_unique_ending_is_enough_and_an_ambiguous_one_is_refused():
    assert registry.entry("local.traj.json").name == NAME
    with pytest.raises(KeyError, match="registered files are called 'results.json'"):
        registry.entry("results.json")
    with pytest.raises(KeyError, match="0 registered files.*files.csv"):
        registry.entry("nothing.json")


def test_the_mirror_comes_first_and_is_checked(one_file, tmp_path, monkeypatch):
    place = tmp_path / "mirror" / one_file.name
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    monkeypatch.setenv("PIVOTLAB_MIRROR", str(tmp_path / "mirror"))
    assert registry.fetch(one_file.name) == place
    place.write_bytes(b"other")
    with pytest.raises(registry.MissingFile, match="has sha256 .* registered is"):
        registry.fetch(one_file.name)


def test_offline_it_says_what_to_fetch_and_where_to_put_it(one_file, monkeypatch):
    def no_network(*args, **kwargs):
        raise requests.exceptions.ConnectionError("offline")

    monkeypatch.setattr(requests, "get", no_network)
    monkeypatch.setattr(requests.Session, "request", no_network)
    with pytest.raises(registry.MissingFile) as caught:
        registry.fetch(one_file.name)
    text = str(caught.value)
    for part in (
        one_file.url,
        one_file.sha256,
        str(paths.cache() / "trajectories" / one_file.name),
        "PIVOTLAB_MIRROR",
        "MIT",
    ):
        assert part in text
    place = paths.cache() / "trajectories" / one_file.name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(CONTENT)
    assert registry.fetch(one_file.name) == place


def test_a_download_lands_in_the_cache_and_a_wrong_one_is_refused(
    one_file, monkeypatch
):
    sent = [CONTENT]

    def download(self, url, output_file, pooch):
        assert url == one_file.url
        with open(output_file, "wb") as handle:
            handle.write(sent[0])

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", download)
    path = registry.fetch(one_file.name)
    assert path == paths.cache() / "trajectories" / one_file.name
    assert path.read_bytes() == CONTENT
    path.unlink()
    sent[0] = b"tampered"
    with pytest.raises(registry.MissingFile, match="ValueError"):
        registry.fetch(one_file.name)


def test_the_mirror_holds_every_registered_file_with_its_hash(mirror):
    for name in registry.entries():
        assert registry.fetch(name) == mirror / name
