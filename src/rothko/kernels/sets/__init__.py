"""Set-valued records, compiled."""
