"""The real agent CLIs, run against a stub model server on this machine."""
