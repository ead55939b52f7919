"""Runs a plan: start, scheduling, work, review, merge, finish."""
