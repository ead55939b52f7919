"""A scripted agent: a program that reads its task, edits files, calls `sow`, asks, fails or misbehaves as told."""
