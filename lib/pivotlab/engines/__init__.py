"""Engines that turn prompts into samples, all behind `protocol.Sampler`."""
