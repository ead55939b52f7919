"""Designs, checks and runs workflows: crews of agents with notes, verifiers and approval."""
