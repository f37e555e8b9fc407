"""stein."""
