import pytest
import torch
from test_rollouts_prompts import REWRITING, TEMPLATES, make_tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.environments.protocol import Environment, Step
from pivotlab.records import Message, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.rollouts import (
    CachedPlayer,
    SamplerPlayer,
    Settings,
    Start,
    play,
    resume,
)


class Corridor:
    """Walk right `task` times; anything else changes nothing."""

    def reset(self, task: str) -> str:
        if not task.isdigit():
            raise ValueError(f"no task {task!r}; tasks are numbers")
        self.goal, self.place = int(task), 0
        return f"You are in a corridor. Your task is to: walk {task} steps."

    def step(self, action: str) -> Step:
        if action not in self.admissible():
            return Step("Nothing happens.", 0.0, False)
        self.place += 1 if action == "go right" else -1
        done = self.place == self.goal
        return Step(f"You are at {self.place}.", float(done), done)

    def admissible(self) -> list[str]:
        return ["go left", "go right"]

    def snapshot(self):
        return self.place

    def restore(self, snapshot) -> None:
        self.place = snapshot

    def remaining_turns(self) -> float:
        return self.goal - self.place

    def optimal_actions(self) -> list[str]:
        return ["go right"]


class Scripted:
    """A player that says what its script says, episode by episode and turn by turn."""

    def __init__(self, renderer, lines):
        self.renderer, self.lines, self.prompts = renderer, lines, []

    def take_turns(self, episodes, prompts, seeds, turn, sampling):
        self.prompts += list(prompts)
        said = [self.lines[e][t] for e, t in zip(episodes, turn, strict=True)]
        ends = (self.renderer.end_of_turn,)
        ids = [tuple(self.renderer.encode(s)) + ends for s in said]
        return [Sample(i, False, (-0.5,) * len(i)) for i in ids]

    def forget(self, episodes):
        pass


def run(renderer, lines, starts, **settings):
    player = Scripted(renderer, lines)
    return play(player, renderer, Corridor, starts, Settings(**settings)), player


@pytest.fixture(scope="module")
def renderer():
    return Renderer(make_tokenizer())


@pytest.fixture(scope="module")
def model(renderer):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(renderer.tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
    )
    model = Qwen3ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model


LINES = [
    ["go right", "dance", "go left", "go right", "go right"],
    ["go right"] * 9,
    ["dance"] * 9,
]
STARTS = [Start("2"), Start("3"), Start("1")]


def test_the_fake_environment_keeps_the_protocol():
    assert isinstance(Corridor(), Environment)


@pytest.mark.parametrize("template", ["chatml", "trimming"])
@pytest.mark.parametrize("system", [None, "Rules."])
def test_tokens_equal_the_rendered_conversation(template, system):
    renderer = Renderer(make_tokenizer(TEMPLATES[template]))
    rollouts, _ = run(renderer, LINES, STARTS, max_turns=6, system=system)
    for rollout in rollouts:
        whole = renderer.conversation(Trajectory("t", rollout.messages))
        assert rollout.token_ids == whole.ids
        assert rollout.mask == whole.mask
        assert tuple(t.span for t in rollout.turns) == whole.spans
        assert all(t.prompt_start == 0 for t in rollout.turns)


def test_outcome_turns_and_snapshots(renderer):
    rollouts, _ = run(renderer, LINES, STARTS, max_turns=6)
    assert [(r.reward, r.done) for r in rollouts] == [
        (1.0, True),
        (1.0, True),
        (0.0, False),
    ]
    assert [len(r.turns) for r in rollouts] == [5, 3, 6]
    first = rollouts[0]
    assert [t.action for t in first.turns] == LINES[0]
    assert [t.snapshot for t in first.turns] == [0, 1, 1, 0, 1]
    assert first.turns[1].observation == "Nothing happens."
    assert first.messages[-1] == Message("user", "You are at 2.")
    assert len(first.token_ids) == len(first.mask) == len(first.log_probs)
    assert {(m, p) for m, p in zip(first.mask, first.log_probs, strict=True)} == {
        (0, 0.0),
        (1, -0.5),
    }


def test_history_window_and_rewriting_templates_start_new_segments():
    for template, history in ((None, 1), (REWRITING, None)):
        renderer = Renderer(make_tokenizer(template or TEMPLATES["chatml"]))
        rollouts, player = run(
            renderer, [["dance"] * 5], [Start("9")], max_turns=4, history=history
        )
        turns, ids = rollouts[0].turns, rollouts[0].token_ids
        prompts = [list(ids[t.prompt_start : t.span[0]]) for t in turns]
        assert prompts == player.prompts
        assert turns[0].prompt_start == 0 and turns[3].prompt_start > 0
        for i, prompt in enumerate(prompts):
            seen = rollouts[0].messages[: 1 + 2 * i]
            if history:
                seen = [seen[0], *seen[1:][-2 * history :]]
            assert prompt == renderer.prompt_ids(seen)
        spans = [range(*t.span) for t in turns]
        own = {i for span in spans for i in span}
        assert {i for i, m in enumerate(rollouts[0].mask) if m} == own


def test_a_tool_call_reaches_the_environment_as_text(renderer):
    call = '<tool_call>\n{"name": "go", "arguments": {}}\n</tool_call>'
    rollout = run(renderer, [[call, "go right"]], [Start("1")], max_turns=3)[0][0]
    assert [turn.action for turn in rollout.turns] == [call, "go right"]
    assert rollout.turns[0].observation == "Nothing happens." and rollout.done
    assert rollout.messages[1].tool_calls[0].name == "go"


def test_resume_and_forced_turns(renderer):
    rollout = run(renderer, LINES, STARTS[:1], max_turns=6)[0][0]
    for turn in range(5):
        rest = [LINES[0]] * 1
        again = run(renderer, rest, [resume(rollout, turn)], max_turns=6)[0][0]
        assert again.token_ids == rollout.token_ids
        assert again.messages == rollout.messages
        assert len(again.turns) == 5 - turn
    forced = resume(
        rollout,
        1,
        force=lambda e, turn: e.optimal_actions()[0] if turn < 2 else None,
    )
    again = run(renderer, LINES, [forced], max_turns=6)[0][0]
    assert again.done and len(again.turns) == 1
    (turn,) = again.turns
    assert turn.forced and not any(again.mask[slice(*turn.span)])
    whole = renderer.conversation(Trajectory("t", again.messages))
    assert again.token_ids == whole.ids
    with pytest.raises(ValueError, match="turns 0..4"):
        resume(rollout, 5)


def test_resume_inside_a_history_window(renderer):
    lines = [["go right", "dance", "go left", "go right", "dance"]]
    first, player = run(renderer, lines, [Start("9")], max_turns=5, history=1)
    again, second = run(renderer, lines, [resume(first[0], 3)], max_turns=5, history=1)
    assert second.prompts == player.prompts[3:]
    assert [t.snapshot for t in again[0].turns] == [0, 1]


def test_turn_limit_counts_the_turns_before_the_start(renderer):
    rollout = run(renderer, [["dance"] * 6], [Start("2")], max_turns=5)[0][0]
    again = run(renderer, [["dance"] * 6], [resume(rollout, 3)], max_turns=5)[0][0]
    assert len(again.turns) == 2
    assert resume(again, 1).turn == 4


def test_bad_starts_are_named(renderer):
    with pytest.raises(ValueError, match="no task 'x'"):
        run(renderer, LINES, [Start("x")])
    with pytest.raises(ValueError, match="no snapshot"):
        run(renderer, LINES, [Start("2", messages=(Message("user", "a"),))])


@pytest.mark.parametrize("history", [None, 2])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_model_play_scores_as_the_plain_forward_does(
    renderer, model, history, temperature
):
    settings = Settings(
        max_turns=4, history=history, sampling=Sampling(7, temperature), batch=3
    )
    starts = [Start(str(2 + i), seed=i) for i in range(5)]
    rollouts = play(CachedPlayer(model), renderer, Corridor, starts, settings)
    for rollout in rollouts:
        assert len(rollout.turns) == 4
        for turn in rollout.turns:
            start, (first, end) = turn.prompt_start, turn.span
            ids = rollout.token_ids[start:end]
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([ids])).logits[0]
            logs = logits.log_softmax(-1)[torch.arange(len(ids) - 1), ids[1:]]
            expected = logs[first - start - 1 :]
            actual = torch.tensor(rollout.log_probs[first:end])
            torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)
            assert turn.truncated == (ids[-1] != renderer.end_of_turn)
            if temperature == 0:
                greedy = logits.argmax(-1)[first - start - 1 : -1]
                assert greedy.tolist() == list(rollout.token_ids[first:end])


def test_any_sampler_plays_the_same_greedy_episodes(renderer, model):
    settings = Settings(max_turns=3, sampling=Sampling(6, 0.0))
    starts = [Start("3"), Start("4")]
    cached, sampled = (
        play(player, renderer, Corridor, starts, settings)
        for player in (CachedPlayer(model), SamplerPlayer(LocalSampler(model)))
    )
    for one, other in zip(cached, sampled, strict=True):
        assert one.token_ids == other.token_ids and one.turns == other.turns
        torch.testing.assert_close(
            torch.tensor(one.log_probs),
            torch.tensor(other.log_probs),
            atol=1e-4,
            rtol=0,
        )


def test_an_episode_depends_on_its_seed_not_on_its_batch(renderer, model):
    starts = [Start("3", seed=i) for i in range(6)]
    play_in = {
        batch: play(
            CachedPlayer(model),
            renderer,
            Corridor,
            starts,
            Settings(max_turns=3, sampling=Sampling(6), batch=batch),
        )
        for batch in (1, 4, 6)
    }
    ids = {b: [r.token_ids for r in rs] for b, rs in play_in.items()}
    assert ids[1] == ids[4] == ids[6]
    assert len(set(ids[1])) == 6
