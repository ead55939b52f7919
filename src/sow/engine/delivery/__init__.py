"""Brings a run to the forge: its branch, its request, and what checks and people say about it."""
