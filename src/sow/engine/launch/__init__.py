"""Brings a plan to a run: reads and checks it, asks the user, imports its tasks and executes the run."""
