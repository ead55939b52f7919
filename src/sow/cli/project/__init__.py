"""Commands about the project."""
