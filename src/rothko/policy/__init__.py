"""What a person asks for."""
