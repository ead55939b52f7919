"""The dashboard in a real browser: a real run, a real server, nothing patched, no traffic beyond this machine."""
