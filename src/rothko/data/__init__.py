"""Where tables come from, and how their values become lines of integer codes."""
