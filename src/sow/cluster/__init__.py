"""Takes the turns of a run on other hosts."""
