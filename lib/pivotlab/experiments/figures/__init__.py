"""What each notebook draws."""
