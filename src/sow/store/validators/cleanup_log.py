"""Written by `make generate` from schemas/v1.2.0/cleanup-log.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, record, text

TIMESTAMP = text(form='sow-timestamp')
NAME = text(form='sow-member')
DOCUMENT = record({
    'entries': (array(record({
        'at': (TIMESTAMP, REQUIRED),
        'agent': (NAME, REQUIRED),
        'action': (choice('archived', 'failed'), REQUIRED),
        'reason': (choice('session_complete', 'left_over', 'new_task'), REQUIRED),
        'source': (text(1, 1000, form='sow-line'), REQUIRED),
        'file': (text(1, 1000, form='sow-line'), OPTIONAL),
        'error': (text(1, 2000), OPTIONAL),
    })), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
