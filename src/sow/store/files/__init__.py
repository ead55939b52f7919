"""Writes files safely: disk calls, locks, claims and the folders of a checkout."""
