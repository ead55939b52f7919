"""Reads, writes, backs up and repairs state files."""
