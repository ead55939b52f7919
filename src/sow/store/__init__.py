"""Writes all files under .sow/: atomic replace, append, locks, schemas and migrations."""
