"""Runs check lists, sets up their checkouts and judges what they prove."""
