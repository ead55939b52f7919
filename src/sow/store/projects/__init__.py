"""Reads and changes the project, its phases and its tasks."""
