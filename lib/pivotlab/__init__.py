"""PivotRL and PivotOPD: pivots, verifiers, losses, rollouts and their evaluation."""

__version__ = "0.1.0"
