"""Verifiers that judge an action at a turn, all behind `protocol.Verifier`."""
