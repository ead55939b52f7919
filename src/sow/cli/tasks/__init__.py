"""Commands about tasks, notes and the inbox."""
