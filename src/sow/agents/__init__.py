"""Roles: who they are, where their words come from, and what a worker is told at its start."""
