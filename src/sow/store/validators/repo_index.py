"""Written by `make generate` from schemas/v1.2.0/repo-index.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, number, record, text

VERSION = text(form='sow-version')
TIMESTAMP = text(form='sow-timestamp')
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'repos': (array(record({
        'name': (text(form='sow-agent'), REQUIRED),
        'source': (record({
            'url': (text(1, 2000, form='sow-line'), REQUIRED),
            'ref': (text(0, 255, form='sow-line'), REQUIRED),
        }), REQUIRED),
        'mode': (choice('clone', 'symlink'), REQUIRED),
        'pin': (text(form='sow-digest'), OPTIONAL),
        'digest': (text(form='sow-digest'), OPTIONAL),
        'size': (number(0, whole=True), OPTIONAL),
        'files': (number(0, whole=True), OPTIONAL),
        'purpose': (text(0, 4000), REQUIRED),
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
