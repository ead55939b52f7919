"""Describes workflows: crew, statuses, escalation and checks of a design."""
