"""Reads plans in Markdown."""
