"""Reads and writes YAML and JSON by the schemas."""
