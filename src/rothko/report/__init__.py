"""Results for people: plots, and pages that put them together."""
