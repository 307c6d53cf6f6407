"""Mondrian: its options and what it asks of the kernels, the loop over all cores, and features beyond the lines."""
