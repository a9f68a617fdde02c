"""Studies of real agent logs: turns, verdicts and their agreement."""
