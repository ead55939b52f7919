"""argv → one call → print → exit code; one file per command group, loaded only when it is used."""
