"""Keeps the user's consents, saved answers and installed layers."""
