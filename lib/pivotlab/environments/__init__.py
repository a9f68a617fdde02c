"""Environments an agent acts in by text, all behind `protocol.Environment`."""
