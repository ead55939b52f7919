"""Workflows: a crew designed by an architect, with notes, verifiers and gates, designed, checked and run."""
