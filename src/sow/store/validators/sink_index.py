"""Written by `make generate` from schemas/v1.2.0/sink-index.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, number, record, text

VERSION = text(form='sow-version')
TIMESTAMP = text(form='sow-timestamp')
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'sinks': (array(record({
        'name': (text(form='sow-agent'), REQUIRED),
        'source': (record({
            'url': (text(1, 2000, form='sow-line'), REQUIRED),
            'path': (text(0, 1000, form='sow-line'), REQUIRED),
            'ref': (text(0, 255, form='sow-line'), REQUIRED),
        }), REQUIRED),
        'pin': (text(form='sow-digest'), OPTIONAL),
        'digest': (text(form='sow-digest'), OPTIONAL),
        'size': (number(0, whole=True), OPTIONAL),
        'files': (number(0, whole=True), OPTIONAL),
        'summary': (text(0, 4000), REQUIRED),
        'when_to_use': (text(0, 4000), REQUIRED),
        'hints': (array(record({
            'path': (text(1, 1000, form='sow-line'), REQUIRED),
            'about': (text(0, 1000, form='sow-line'), REQUIRED),
        })), []),
        'tags': (array(text(1, 60, form='sow-line'), unique=True), []),
        'described_by': (text(1, 120, form='sow-line'), OPTIONAL),
        'installed_at': (TIMESTAMP, OPTIONAL),
        'updated_at': (TIMESTAMP, OPTIONAL),
    })), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
