"""ALFWorld's household game: our own rules, games and oracle, and the real engine."""
