"""The explorer shows every turn and reason, escapes all text, and needs no network."""

import html
import re
from html.parser import HTMLParser

import pytest

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampling
from pivotlab.experiments.figures.pivots import CLASSES
from pivotlab.experiments.logs import explorer
from pivotlab.models.registry import load_model
from pivotlab.pivots.candidates import collect
from pivotlab.pivots.profiling import profile
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import (
    Candidate,
    Message,
    ToolCall,
    Trajectory,
    TurnProfile,
    Verdict,
)
from pivotlab.rendering import Renderer
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.message import MessageVerifier

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)> \"' & </section>"


def made(hostile="plain"):
    """A trajectory with a profiled, an all-fail and a skipped turn."""
    messages = (
        Message("system", f"rules {hostile}"),
        Message("user", f"task {hostile}"),
        Message("assistant", "", (ToolCall("find", {"q": hostile}),), hostile),
        Message("tool", f"result {hostile}"),
        Message("assistant", f"answer {hostile}"),
        Message("user", "and now"),
        Message("assistant", ""),
    )
    trajectory = Trajectory(f"uid {hostile}", messages, skips={6: f"empty {hostile}"})
    candidates = collect([trajectory]).candidates
    profiles = {
        candidates[0].uid: TurnProfile("", (1.0, 0.0), ("a", "b"), (False,) * 2),
        candidates[1].uid: TurnProfile("", (0.0, 0.0), ("c", "c"), (False, True)),
    }
    good = explorer.SeenSample(f"good {hostile}", Verdict(1.0, "match", hostile))
    bad = explorer.SeenSample(
        "bad", Verdict(0.0, f"why_{hostile}", "detail"), Verdict(0.0, "calls_differ")
    )
    samples = {candidates[0].uid: [good, bad], candidates[1].uid: [bad, bad]}
    return [trajectory], candidates, profiles, samples


class Page(HTMLParser):
    """Tags with attributes, and the text outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self._quiet = [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._quiet += tag in ("script", "style")

    def handle_endtag(self, tag):
        self._quiet -= tag in ("script", "style")

    def handle_data(self, data):
        if not self._quiet:
            self.text.append(data)


@pytest.fixture(params=["plain", HOSTILE], ids=["plain", "hostile"])
def page(request, tmp_path):
    path = explorer.export_html(tmp_path / "x.html", *made(request.param))
    return request.param, path.read_text(encoding="utf-8")


def test_every_turn_message_and_reason_is_there(page):
    word, source = page
    text = "".join(Page(source).text)
    for part in ("rules", "task", "result", "answer", "good", "why_", "uid", "empty"):
        assert f"{part}{'' if part == 'why_' else ' '}{word}" in text
    panels = [a for t, a in Page(source).tags if a.get("class") == "panel"]
    assert [a["data-turn"] for a in panels] == ["0", "1", "2"]
    assert "calls_differ" in text and "detail" in text
    for fact in ("mu", "0.500", "sigma2", "0.250"):
        assert fact in text


def test_hostile_text_stays_text(page):
    _, source = page
    tags = Page(source).tags
    assert sum(tag == "script" for tag, _ in tags) == 1
    assert not [tag for tag, _ in tags if tag == "img"]
    assert not [a for _, a in tags if any(k.startswith("on") for k in a)]
    assert source.count("</script>") == 1


def test_no_external_reference(page):
    _, source = page
    for tag, attributes in Page(source).tags:
        assert tag not in ("link", "iframe", "object", "base"), tag
        assert not {"src", "href", "action"} & attributes.keys(), (tag, attributes)
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttp", source)
    assert "default-src 'none'" in source


def test_classes_have_their_colour_and_name(page):
    _, source = page
    for color, name in CLASSES.values():
        assert f"border-color: {color}" in source and name in source
    kinds = [a["data-kind"] for t, a in Page(source).tags if "data-kind" in a]
    assert kinds == ["pivot", "all_fail", "none"]


def test_it_is_readable_without_script_and_accessible(page):
    _, source = page
    tags = Page(source).tags
    hidden = [a.get("class", "") for _, a in tags if "hidden" in a]
    assert hidden and all("script-only" in c for c in hidden)
    assert dict(tags)["html"] == {"lang": "en"}
    named = [a for t, a in tags if t == "button"]
    assert named and all(a.get("aria-label") for a in named)
    assert {"main", "nav", "h1", "h2", "caption", "label"} <= {t for t, _ in tags}
    assert "ArrowRight" in source and 'role="status"' in source


def test_tags_close_in_order(page):
    """Unbalanced text of a log would break the page here."""

    class Balance(HTMLParser):
        stack: list = []
        void = {"meta", "br"}

        def handle_starttag(self, tag, attrs):
            if tag not in self.void:
                self.stack.append(tag)

        def handle_endtag(self, tag):
            assert self.stack.pop() == tag

    checker = Balance()
    checker.stack = []
    checker.feed(page[1])
    assert checker.stack == []


def test_equal_samples_are_one_row_with_their_number(tmp_path):
    source = explorer.export_html(tmp_path / "x.html", *made()).read_text()
    rows = re.findall(r'<tr class="(right|wrong)"><td>(\d+)</td>', source)
    assert rows == [("right", "1"), ("wrong", "1"), ("wrong", "2")]


def test_long_texts_are_cut_with_a_count(tmp_path):
    trajectories, candidates, profiles, samples = made()
    long = Trajectory("long", (Message("user", "x" * (explorer.LONGEST + 7)),))
    path = explorer.export_html(
        tmp_path / "x.html", [long], candidates, profiles, samples
    )
    assert "(7 more characters)" in path.read_text()


def test_nothing_to_show_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no trajectories"):
        explorer.export_html(tmp_path / "x.html", [], [], {}, {})


def test_the_widget_steps_through_turns_and_trajectories():
    trajectories, candidates, profiles, samples = made(HOSTILE)
    other = Trajectory("other", (Message("user", "only a user here"),))
    widget = explorer.explore([*trajectories, other], candidates, profiles, samples)
    chooser, bar, screen = widget.children
    slider, back, forth = bar.children
    assert "Turn 0" in screen.value and slider.max == 2
    forth.click()
    assert slider.value == 1 and "Turn 1" in screen.value
    assert "<script>alert" not in screen.value
    assert html.escape("why_</pre>") in screen.value
    back.click()
    back.click()
    assert slider.value == 0
    slider.value = 2
    chooser.value = 1
    assert slider.value == 0 and "No assistant turn" in screen.value


def test_samples_come_from_the_store_and_are_never_drawn_again(tmp_path):
    model, tokenizer = load_model("tiny")
    renderer, sampling = Renderer(tokenizer), Sampling(6)
    prefix = (Message("user", "You are in the middle of a room."),)
    expert = Message("assistant", "look around the room now")
    candidates = [Candidate("t#0", "t", 0, prefix, expert)]
    store = ProfileStore(tmp_path, "m")
    common = {"k": 3, "sampling": sampling, "store": store, "seed": 1}
    verifier, strict = MessageVerifier("paper"), ExactVerifier()
    (profiled,) = profile(
        candidates, LocalSampler(model), renderer, verifier, strict=strict, **common
    )
    seen = explorer.read_samples(
        candidates, renderer, verifier, strict=strict, **common
    )["t#0"]
    assert tuple(s.verdict.reward for s in seen) == profiled.rewards
    assert tuple(s.verdict.category for s in seen) == profiled.categories
    assert tuple(s.strict.reward for s in seen) == profiled.strict_rewards
    assert all(s.text and "<|im_end|>" not in s.text for s in seen)
    with pytest.raises(KeyError):
        explorer.read_samples(candidates, renderer, verifier, **{**common, "k": 4})
