"""Embedded and foreign models by name."""
