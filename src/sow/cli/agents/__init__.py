"""Commands that list roles and start agents."""
