"""Losses, teachers, hints and recovery of PivotOPD and its baselines."""
