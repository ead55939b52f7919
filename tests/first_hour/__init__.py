"""A new user's first hour: sow installed as a package, a library that others wrote, the real Claude Code."""
