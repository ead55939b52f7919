"""Presents a run: history, live state, report, timeline and the command that resumes it."""
