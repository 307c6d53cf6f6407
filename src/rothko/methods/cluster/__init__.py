"""cluster, and the repair that any local method may ask for."""
