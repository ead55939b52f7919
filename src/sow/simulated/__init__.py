"""Simulates an agent: a scripted program that reads its task, edits files, calls `sow`, asks, fails or misbehaves."""
