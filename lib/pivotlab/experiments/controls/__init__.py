"""What a reader can move in the notebooks; every control has a static figure or table
beside it, which is what a reader without a kernel sees."""
