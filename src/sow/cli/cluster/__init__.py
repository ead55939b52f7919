"""Commands for runs on several machines."""
