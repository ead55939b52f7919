"""Designs, checks and runs a workflow with its crew of agents."""
