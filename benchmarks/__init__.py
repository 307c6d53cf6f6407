"""Benchmarks: ratios against a plain copy or a peer, measured in the same run."""
