"""Generates files of this repository: validators, diagrams, the command reference."""
