"""Rothko-T and Rothko-S over Spark: records stay on a cluster, and sums, a sample and the tree come to the driver.

Only the DataFrame API is used, so that a session may be a classic one or one of Spark Connect.
"""
