"""Writes to the terminal."""
