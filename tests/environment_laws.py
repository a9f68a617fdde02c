"""What every environment has to keep, checked on one way through one task."""

import random


def check_restoring(make, task, seed, turns, wander):
    """A restored state goes on as the first time, here and in another object.

    Args:
        make: gives a fresh environment.
        wander: an action for (environment, generator), good or bad.
    """
    env, rng, played = make(), random.Random(seed), []
    env.reset(task)
    for _ in range(turns):
        played.append(wander(env, rng))
        env.step(played[-1])
    snapshot, before = env.snapshot(), env.admissible()
    action = wander(env, rng)
    first, after = env.step(action), env.snapshot()
    env.restore(snapshot)
    assert env.admissible() == before and before == sorted(before)
    assert env.step(action) == first and env.snapshot() == after
    again = make()
    again.reset(task)
    for action in played:
        again.step(action)
    assert again.snapshot() == snapshot and hash(again.snapshot()) == hash(snapshot)
