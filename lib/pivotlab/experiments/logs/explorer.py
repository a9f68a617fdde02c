"""Browse trajectories turn by turn: mu, sigma2, the K samples, each verdict's reason.

    samples = read_samples(candidates, renderer, verifier, k=8, sampling=s, store=store)
    export_html("explorer.html", trajectories, candidates, profiles, samples)
    explore(trajectories, candidates, profiles, samples)       # in a notebook

The export is one file that opens anywhere: no network, every text escaped, readable
without JavaScript; with it the arrow keys walk through turns and trajectories. Classes
of turns have their colour and always their name beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ipywidgets
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pivotlab.engines.protocol import Sampling
from pivotlab.experiments.figures.pivots import CLASSES
from pivotlab.experiments.logs.attempts import action_text
from pivotlab.intervals import wilson
from pivotlab.pivots.profiling import judge, turn_sampler
from pivotlab.pivots.selection import LAMBDA_DIFF, turn_class
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import Candidate, Message, Trajectory, TurnProfile, Verdict
from pivotlab.rendering import Renderer
from pivotlab.verifiers.protocol import Verifier
from pivotlab.whole_files import write_text

#: Characters of one message shown; the rest is counted, not shown.
LONGEST = 20_000
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True)
class SeenSample:
    """One sampled action as its text, with its verdict and the strict one beside."""

    text: str
    verdict: Verdict
    strict: Verdict | None = None


@dataclass(frozen=True)
class TurnView:
    """What is shown of one assistant turn; `note` says why it has no profile."""

    number: int
    kind: str
    color: str
    label: str
    expert: str
    note: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    samples: tuple[tuple[int, SeenSample], ...] = ()


@dataclass(frozen=True)
class MessageView:
    """A message; `turn` is the number of its turn if it is an assistant's."""

    role: str
    text: str
    reasoning: str = ""
    turn: int | None = None


@dataclass(frozen=True)
class TrajectoryView:
    """A trajectory with a view of every assistant turn."""

    uid: str
    about: str
    messages: list[MessageView] = field(default_factory=list)
    turns: list[TurnView] = field(default_factory=list)


def read_samples(
    candidates: Sequence[Candidate],
    renderer: Renderer,
    verifier: Verifier,
    *,
    k: int,
    sampling: Sampling,
    store: ProfileStore,
    strict: Verifier | None = None,
    seed: int = 0,
) -> dict[str, list[SeenSample]]:
    """Stored samples of every candidate by uid, judged; never generates.

    Arguments as for `profiling.reverify`, which reads the same samples.

    Raises:
        KeyError: a turn has fewer than `k` stored samples under these settings.
    """
    turns = turn_sampler(None, renderer, sampling, seed, store)
    drawn = turns.draw(candidates, k)
    return {
        candidate.uid: [
            SeenSample(
                sample.failure or _text(renderer, sample.token_ids),
                judge(verifier, candidate, sample, renderer),
                judge(strict, candidate, sample, renderer) if strict else None,
            )
            for sample in samples
        ]
        for candidate, samples in zip(candidates, drawn, strict=True)
    }


def export_html(
    path: Path | str,
    trajectories: Sequence[Trajectory],
    candidates: Sequence[Candidate],
    profiles: Mapping[str, TurnProfile],
    samples: Mapping[str, Sequence[SeenSample]],
    *,
    lambda_diff: float = LAMBDA_DIFF,
    title: str = "Pivot explorer",
) -> Path:
    """One self-contained HTML file with every turn of the trajectories.

    Args:
        trajectories: shown in order, all their messages.
        candidates: turns without one are shown with the reason of their skip.
        profiles: by uid of the candidate.
        samples: by uid of the candidate, from `read_samples`.

    Raises:
        ValueError: no trajectories.
    """
    if not trajectories:
        raise ValueError("there are no trajectories to show")
    shown = _views(trajectories, candidates, profiles, samples, lambda_diff)
    counts = Counter(turn.label for view in shown for turn in view.turns)
    page = _TEMPLATES.get_template("explorer.jinja").render(
        title=title,
        trajectories=shown,
        legend=[(color, name, counts[name]) for color, name in CLASSES.values()],
        lambda_diff=lambda_diff,
    )
    write_text(Path(path), page)
    return Path(path)


def explore(
    trajectories: Sequence[Trajectory],
    candidates: Sequence[Candidate],
    profiles: Mapping[str, TurnProfile],
    samples: Mapping[str, Sequence[SeenSample]],
    *,
    lambda_diff: float = LAMBDA_DIFF,
) -> ipywidgets.VBox:
    """A widget: choose a trajectory, step through its turns (needs a live kernel)."""
    shown = _views(trajectories, candidates, profiles, samples, lambda_diff)
    chooser = ipywidgets.Dropdown(
        options=[(view.uid, i) for i, view in enumerate(shown)],
        description="trajectory",
        layout={"width": "95%"},
    )
    slider = ipywidgets.IntSlider(0, 0, 0, description="turn", continuous_update=False)
    back, forth = (
        ipywidgets.Button(description=text, tooltip=f"{text} turn")
        for text in ("previous", "next")
    )
    screen = ipywidgets.HTML()

    def show(_: Any = None) -> None:
        view = shown[chooser.value]
        turn = min(slider.value, len(view.turns) - 1)
        screen.value = _fragment(view, turn)

    def choose(_: Any = None) -> None:
        slider.max = max(0, len(shown[chooser.value].turns) - 1)
        slider.value = 0
        show()

    def step(by: int) -> None:
        slider.value = min(max(slider.value + by, 0), slider.max)

    chooser.observe(choose, "value")
    slider.observe(show, "value")
    back.on_click(lambda _: step(-1))
    forth.on_click(lambda _: step(1))
    choose()
    bar = ipywidgets.HBox([slider, back, forth])
    return ipywidgets.VBox([chooser, bar, screen])


def _fragment(view: TrajectoryView, turn: int) -> str:
    """One turn with the messages before it, for the widget."""
    page = _TEMPLATES.get_template("explorer_turn.jinja")
    before = []
    for message in view.messages:
        if message.turn == turn:
            break
        before.append(message)
    turns = view.turns[turn : turn + 1]
    return page.module.widget(view.about, before, turns[0] if turns else None)


def _views(
    trajectories: Sequence[Trajectory],
    candidates: Sequence[Candidate],
    profiles: Mapping[str, TurnProfile],
    samples: Mapping[str, Sequence[SeenSample]],
    cut: float,
) -> list[TrajectoryView]:
    known = {(c.trajectory_uid, c.turn): c for c in candidates}
    return [_view(t, known, profiles, samples, cut) for t in trajectories]


def _view(
    trajectory: Trajectory,
    known: Mapping[tuple[str, int], Candidate],
    profiles: Mapping[str, TurnProfile],
    samples: Mapping[str, Sequence[SeenSample]],
    cut: float,
) -> TrajectoryView:
    reward = "unknown" if trajectory.reward is None else f"{trajectory.reward:g}"
    about = f"domain {trajectory.domain}, episode reward {reward}"
    view = TrajectoryView(trajectory.uid, about)
    for index, message in enumerate(trajectory.messages):
        number = len(view.turns) if message.role == "assistant" else None
        text = _shortened(action_text(message))
        thought = _shortened(message.reasoning or "")
        view.messages.append(MessageView(message.role, text, thought, number))
        if number is None:
            continue
        candidate = known.get((trajectory.uid, number))
        profile = profiles.get(candidate.uid) if candidate else None
        if candidate is None or profile is None:
            reason = trajectory.skips.get(index, "not profiled")
            view.turns.append(_unprofiled(number, message, reason))
        else:
            seen = samples.get(candidate.uid, ())
            view.turns.append(_profiled(number, candidate, profile, seen, cut))
    return view


def _unprofiled(number: int, message: Message, reason: str) -> TurnView:
    text = _shortened(action_text(message))
    return TurnView(number, "none", "#5F5F5F", "no candidate", text, reason)


def _profiled(
    number: int,
    candidate: Candidate,
    profile: TurnProfile,
    seen: Sequence[SeenSample],
    cut: float,
) -> TurnView:
    kind = turn_class(profile, cut)
    color, label = CLASSES[kind]
    passed = wilson(sum(r >= 1.0 for r in profile.rewards), profile.k)
    facts = [
        ("mu", f"{profile.mu:.3f}"),
        ("95 % interval of the passed share", f"{passed.lo:.2f} to {passed.hi:.2f}"),
        ("sigma2", f"{profile.sigma2:.3f}"),
        ("K", str(profile.k)),
        ("cut off", str(sum(profile.truncated))),
    ]
    if profile.strict_rewards:
        strict = sum(profile.strict_rewards) / profile.k
        facts.insert(3, ("mu by exact match", f"{strict:.3f}"))
    expert = _shortened(action_text(candidate.expert))
    # Equal samples are one row with a count, in the order they were first drawn.
    counted = tuple((n, sample) for sample, n in Counter(seen).items())
    return TurnView(number, kind, color, label, expert, "", tuple(facts), counted)


def _text(renderer: Renderer, token_ids: Sequence[int]) -> str:
    """What the model wrote, up to its end-of-turn token, calls and tags included."""
    ids = list(token_ids)
    if renderer.end_of_turn in ids:
        ids = ids[: ids.index(renderer.end_of_turn)]
    return renderer.tokenizer.decode(ids, clean_up_tokenization_spaces=False).strip()


def _shortened(text: str) -> str:
    rest = len(text) - LONGEST
    return text if rest <= 0 else f"{text[:LONGEST]}\n... ({rest:,} more characters)"
