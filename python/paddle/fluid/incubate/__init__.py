"""Fleet, and helpers to make data."""
