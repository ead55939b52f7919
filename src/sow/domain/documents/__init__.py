"""Types of the files that sow reads and writes, for the type checker only."""
