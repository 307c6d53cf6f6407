"""Methods side by side on the same records."""
