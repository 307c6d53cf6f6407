"""φ: from any value vector to the region it lies in, and to what that region publishes."""
