"""Written by `make generate` from schemas/v1.2.0/log-entry.json: change the schema, not this file."""

from sow.store.formats.validation import REQUIRED, array, record, text

TIMESTAMP = text(form='sow-timestamp')
DOCUMENT = record({
    'timestamp': (TIMESTAMP, REQUIRED),
    'agent': (text(1, 100, form='sow-line'), REQUIRED),
    'action': (text(form='sow-word'), REQUIRED),
    'result': (text(form='sow-word'), REQUIRED),
    'files': (array(text(1, 1000, form='sow-line')), []),
    'text': (text(1, 200000), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
