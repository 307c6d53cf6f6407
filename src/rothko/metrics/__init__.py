"""What was lost, what risk remains: metrics by the literature's definitions."""
