"""Ratios against stock peers, and what they mean at other sizes."""
