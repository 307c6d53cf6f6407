"""Sources: files and dataframes of any kind, as Arrow."""
