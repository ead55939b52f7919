"""Describes plans: tasks, graph and import."""
