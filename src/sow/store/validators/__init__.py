"""Validators, written by `make generate` from the schemas beside them."""
