"""Candidates, their profiles, and the pivots among them (PivotRL section 3)."""
