"""sow: a system of work for AI coding agents."""

__version__ = "1.0.0"
