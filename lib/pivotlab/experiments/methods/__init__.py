"""The compared methods on every embedded environment: arms, cells, the loss zoo."""
