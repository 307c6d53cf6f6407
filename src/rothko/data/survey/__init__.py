"""A table that is never whole in memory: what one pass learns of it, and its records a batch at a time."""
