"""Checks and formats texts: input, units, sections, names and patterns."""
