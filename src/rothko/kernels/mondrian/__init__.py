"""Mondrian over records in memory, compiled, and the counting that it takes elsewhere."""
