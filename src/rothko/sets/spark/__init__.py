"""set-mondrian on a cluster: counts choose the cuts of the top of the tree, executors finish its leaves and write."""
