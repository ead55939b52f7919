"""Keeps sinks, linked repositories and decision records."""
