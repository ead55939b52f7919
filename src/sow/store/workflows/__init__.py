"""Reads and changes a workflow: its state, agents, notes and archive."""
