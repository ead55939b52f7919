"""Describes the files that `sow install` writes."""
