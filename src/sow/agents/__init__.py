"""Roles: their definitions and prompts, and the first prompt of a worker."""
