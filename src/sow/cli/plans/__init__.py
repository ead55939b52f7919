"""Commands about plan files."""
