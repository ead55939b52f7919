"""Reads and writes YAML and JSON by the schemas."""

VERSION = "1.2.0"  # of the schemas that this sow writes
