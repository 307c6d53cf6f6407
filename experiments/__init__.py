"""The papers' experiments: figures, and a table of what was claimed and what was found."""
