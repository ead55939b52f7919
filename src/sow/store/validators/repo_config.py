"""Written by `make generate` from schemas/v1.2.0/repo-config.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, record, text

VERSION = text(form='sow-version')
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'artifacts': (record({
        'adrs': (text(1, 1000, form='sow-line'), OPTIONAL),
        'designs': (text(1, 1000, form='sow-line'), OPTIONAL),
    }), {}),
})


def validate(data):
    DOCUMENT(data)
