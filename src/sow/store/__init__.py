"""The only writer under .sow/: atomic replace, append, locks, schemas, migrations."""
