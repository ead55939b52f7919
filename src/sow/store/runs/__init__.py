"""Keeps runs, journals and sessions on this machine."""
