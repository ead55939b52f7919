"""Written by `make generate` from schemas/v1.2.0/task-description.json: change the schema, not this file."""

from sow.store.formats.validation import REQUIRED, record, text

DOCUMENT = record({
    'title': (text(1, 200, form='sow-line'), REQUIRED),
    'text': (text(0, 2000000), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
