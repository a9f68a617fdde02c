"""Presets, arms, runs, batches and figures."""
