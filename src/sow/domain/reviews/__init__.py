"""Reads verdicts, findings and answers of judges."""
