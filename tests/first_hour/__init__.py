"""A new user's first hour: sow as an installed package, a library by others, and the real Claude Code."""
