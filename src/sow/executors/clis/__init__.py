"""One module per agent CLI: its command line and its output."""
