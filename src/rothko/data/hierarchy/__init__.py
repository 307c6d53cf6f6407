"""Hierarchies: how a person asks for one, the tree that is made of it, and the part of it that the data needs."""
