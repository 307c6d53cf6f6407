"""Top-Down Refinement (TDR)."""
