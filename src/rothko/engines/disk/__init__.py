"""Engines for tables larger than memory: Rothko-T and Rothko-S over files in a private folder."""
