"""Tables of databases by their address: PostgreSQL, SQLite, DuckDB; as Arrow, in batches, inside one snapshot."""
