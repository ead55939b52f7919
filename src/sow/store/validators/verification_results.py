"""Written by `make generate` from schemas/v1.2.0/verification-results.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, number, record, text

FINDING = record({
    'id': (text(1, 64, form='sow-line'), REQUIRED),
    'severity': (choice('error', 'warning', 'note'), REQUIRED),
    'text': (text(1, 4000), REQUIRED),
    'rule': (text(1, 200, form='sow-line'), OPTIONAL),
    'file': (text(1, 1000, form='sow-line'), OPTIONAL),
    'symbol': (text(1, 200, form='sow-line'), OPTIONAL),
    'evidence': (text(1, 4000), OPTIONAL),
})
NAME = text(form='sow-member')
TIMESTAMP = text(form='sow-timestamp')
DOCUMENT = record({
    'result': (choice('passed', 'failed'), REQUIRED),
    'missing_evidence': (array(text(1, 20000)), REQUIRED),
    'findings': (array(FINDING), REQUIRED),
    'round': (number(1, whole=True), REQUIRED),
    'verifier': (NAME, REQUIRED),
    'at': (TIMESTAMP, REQUIRED),
})


def validate(data):
    DOCUMENT(data)
