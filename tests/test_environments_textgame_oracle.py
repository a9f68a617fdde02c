"""L(s) against exact search: every state of small rooms, all six task types."""

import math
import random
import time
from collections import deque

import pytest

from pivotlab.environments.textgame import oracle, rules
from pivotlab.environments.textgame.games import (
    TASK_TYPES,
    TRANSFORMS,
    Game,
    Goal,
    Item,
    Receptacle,
    make_game,
    task_ids,
)
from pivotlab.environments.textgame.twin import TextGame


def shrink(game: Game, places: int, junk: int) -> Game:
    """The game with only what its goal needs, and a few places and objects more."""
    goal = game.goal
    station = TRANSFORMS[goal.transform][1] if goal.transform else None
    targets = [o for o in game.objects if o.type == goal.object][: goal.count + 1]
    lamps = [o for o in game.objects if o.type == goal.lamp]
    needed = {o.receptacle for o in targets + lamps}
    for kind in (goal.destination, station):
        needed |= {r.name for r in [r for r in game.receptacles if r.type == kind][:1]}
    extra = [r.name for r in game.receptacles if r.name not in needed]
    kept = needed | set(extra[: max(places - len(needed), 0)])
    others = [o for o in game.objects if o.receptacle in kept and o not in targets]
    others = [o for o in others if o.type not in ("desklamp", "floorlamp")][:junk]
    return Game(
        id=game.id,
        task_type=game.task_type,
        split=game.split,
        room=game.room,
        room_kind=game.room_kind,
        receptacles=tuple(r for r in game.receptacles if r.name in kept),
        objects=tuple(sorted(targets + lamps + others, key=lambda o: o.name)),
        goal=goal,
        sentence=game.sentence,
    )


def project(world: rules.World, state: rules.State) -> rules.State:
    """Forget marks that neither the goal nor any command ever looks at."""
    verb = world.game.goal.transform
    bits = sum(1 << o for o in world.targets)
    return state._replace(
        clean=state.clean & bits if verb == "clean" else 0,
        hot=state.hot & bits if verb == "heat" else 0,
        cool=state.cool & bits if verb == "cool" else 0,
        sliced=0,
        used=state.used & sum(1 << o for o in world.goal_lamps),
    )


def exact(world: rules.World) -> dict[rules.State, int]:
    """Distance to the goal of every reachable state, by search backwards from it."""
    start = project(world, world.start())
    before: dict[rules.State, list[rules.State]] = {start: []}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for action in rules.admissible(world, state).values():
            after = project(world, rules.apply(state, action))
            if after not in before:
                before[after] = []
                queue.append(after)
            before[after].append(state)
    distance = {state: 0 for state in before if rules.won(world, state)}
    queue = deque(distance)
    while queue:
        state = queue.popleft()
        for previous in before[state]:
            if previous not in distance:
                distance[previous] = distance[state] + 1
                queue.append(previous)
    assert len(distance) == len(before), "a state from which the goal is out of reach"
    return distance


def certify(game: Game, sample: int, seed: int) -> int:
    """Compare L and the optimal commands in `sample` states; returns how many."""
    world = rules.World(game)
    distance = exact(world)
    states = sorted(distance)
    rng = random.Random(seed)
    chosen = rng.sample(states, min(sample, len(states)))
    for state in chosen:
        assert oracle.remaining_turns(world, state) == distance[state], state
        best = sorted(
            command
            for command, action in rules.admissible(world, state).items()
            if distance[state] > 0
            and distance[project(world, rules.apply(state, action))]
            == distance[state] - 1
        )
        assert oracle.optimal_actions(world, state) == best, state
    return len(chosen)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_l_and_optimal_commands_equal_exact_search(task_type):
    ids = task_ids("train", 2, types=(task_type,))
    checked = sum(certify(shrink(make_game(i), 4, 1), 120, 0) for i in ids)
    assert checked >= 200


@pytest.mark.slow
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_l_equals_exact_search_in_more_and_larger_rooms(task_type):
    checked = 0
    for split in ("train", "valid_unseen"):
        for i, task in enumerate(task_ids(split, 3, start=50, types=(task_type,))):
            checked += certify(shrink(make_game(task), 5, 1 + i % 2), 1000, i)
    assert checked >= 1000


def hand_made(goal: Goal, objects: tuple[Item, ...]) -> TextGame:
    """A kitchen of four places with the given objects."""
    names = (("cabinet", 1), ("countertop", 0), ("fridge", 1), ("sinkbasin", 0))
    receptacles = tuple(Receptacle(f"{n} 1", n, bool(o), False) for n, o in names)
    game = Game("by hand", "", "", 0, "kitchen", receptacles, objects, goal, "")
    env = TextGame()
    env.play(game)
    return env


def test_hand_counted_plans():
    cup = Item("cup 1", "cup", "cabinet 1")
    env = hand_made(Goal("cup", "countertop"), (cup,))
    # go to cabinet, open, take, go to countertop, move
    assert env.remaining_turns() == 5
    assert env.optimal_actions() == ["go to cabinet 1"]
    env = hand_made(Goal("cup", "cabinet", "clean"), (cup,))
    # go to cabinet, open, take, go to sinkbasin, clean, go to cabinet (open), move
    assert env.remaining_turns() == 7
    env = hand_made(Goal("cup", "countertop", "cool"), (cup,))
    assert env.remaining_turns() == 7


def test_putting_down_a_wrong_object_where_the_right_one_lies_saves_a_walk():
    mug, cup = Item("mug 1", "mug", "sinkbasin 1"), Item("cup 1", "cup", "countertop 1")
    env = hand_made(Goal("cup", "sinkbasin"), (cup, mug))
    env.step("go to sinkbasin 1")
    env.step("take mug 1 from sinkbasin 1")
    # put the mug here or on the countertop: both ways five turns
    assert env.remaining_turns() == 5
    assert env.optimal_actions() == ["go to countertop 1", "move mug 1 to sinkbasin 1"]


def test_a_lamp_used_before_the_object_is_held_still_counts():
    task = task_ids("train", 1, types=("look_at_obj_in_light",))[0]
    env = TextGame()
    env.reset(task)
    lamp = next(o for o in env.world.game.objects if o.type == env.world.game.goal.lamp)
    env.step(f"go to {lamp.receptacle}")
    before = env.remaining_turns()
    assert not env.step(f"use {lamp.name}").done
    assert env.remaining_turns() == before - 1


def test_every_optimal_walk_takes_exactly_l_turns():
    env, rng = TextGame(), random.Random(5)
    for task in task_ids("valid_unseen", 30):
        env.reset(task)
        turns = env.remaining_turns()
        assert math.isfinite(turns) and turns > 0
        rewards = []
        while env.remaining_turns():
            rewards.append(env.step(rng.choice(env.optimal_actions())).reward)
        assert rewards == [0.0] * (int(turns) - 1) + [1.0]


def test_l_is_fast_enough_for_every_turn_of_a_rollout():
    env, rng, seconds = TextGame(), random.Random(0), []
    for task in task_ids("train", 24):
        env.reset(task)
        for _ in range(20):
            began = time.perf_counter()
            env.remaining_turns()
            seconds.append(time.perf_counter() - began)
            env.step(rng.choice(env.admissible()))
    assert sorted(seconds)[len(seconds) // 2] < 1e-3
