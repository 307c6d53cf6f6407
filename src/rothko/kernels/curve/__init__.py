"""Orders along a curve, and grouping records that lie in a row, compiled."""
