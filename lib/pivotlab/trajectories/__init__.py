"""Readers that turn logs into `records.Trajectory`."""
