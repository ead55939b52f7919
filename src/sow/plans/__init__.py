"""Parses the text of plans into Plan objects without input or output; each finding has a file and a line."""
