"""Tables of databases that a release is written to: one file for each kind of database."""
