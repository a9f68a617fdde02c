"""SFT, PivotRL and multi-turn trainers on TRL."""
