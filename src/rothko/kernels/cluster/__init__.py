"""Clustering and repair of classes, compiled."""
