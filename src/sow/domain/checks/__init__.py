"""Judges checks: lists, counts, protected paths, refusals and consent."""
