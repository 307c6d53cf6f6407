"""The release of a table on a cluster: leaves are finished, written and verified where their records lie."""
