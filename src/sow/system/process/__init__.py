"""Starts, follows and ends processes."""
