"""Collects what the dashboard shows."""
