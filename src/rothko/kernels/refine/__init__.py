"""Top-Down Refinement, compiled."""
