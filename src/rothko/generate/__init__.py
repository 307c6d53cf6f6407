"""Synthetic data of the literature."""
