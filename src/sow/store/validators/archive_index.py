"""Written by `make generate` from schemas/v1.2.0/archive-index.json: change the schema, not this file."""

from sow.store.formats.validation import REQUIRED, array, number, record, text

NAME = text(form='sow-member')
SESSION_TASK = text(0, 120, form='sow-session-task')
TIMESTAMP = text(form='sow-timestamp')
DIGEST = text(form='sow-digest')
DOCUMENT = record({
    'archives': (array(record({
        'agent': (NAME, REQUIRED),
        'task_id': (SESSION_TASK, REQUIRED),
        'file': (text(1, 1000, form='sow-line'), REQUIRED),
        'session_start': (number(0, whole=True), REQUIRED),
        'archived_at': (TIMESTAMP, REQUIRED),
        'notes': (number(0, whole=True), REQUIRED),
        'digest': (DIGEST, REQUIRED),
    })), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
