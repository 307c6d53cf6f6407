"""The file formats of a release, a file each: how rows are written, and how they are read to be verified."""
