"""Written by `make generate` from schemas/v1.2.0/project.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, number, record, text

VERSION = text(form='sow-version')
PHASE = text(form='sow-phase')
TIMESTAMP = text(form='sow-timestamp')
DIGEST = text(form='sow-digest')
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'revision': (number(0, whole=True), 0),
    'project_id': (text(form='sow-uuid4'), REQUIRED),
    'name': (text(1, 100, form='sow-line'), REQUIRED),
    'description': (text(0, 20000), ''),
    'branch': (text(1, 255, form='sow-line', refused=('main', 'master')), REQUIRED),
    'phases': (array(record({
        'name': (PHASE, REQUIRED),
        'status': (choice('proposed', 'pending', 'active', 'completed'), REQUIRED),
        'created_at': (TIMESTAMP, REQUIRED),
        'reason': (text(1, 2000), OPTIONAL),
        'question': (number(1, whole=True), OPTIONAL),
    }), least=1), REQUIRED),
    'questions': (number(0, whole=True), 0),
    'plans': (array(record({
        'path': (text(1, 1000, form='sow-line'), REQUIRED),
        'digest': (DIGEST, REQUIRED),
        'imported_at': (TIMESTAMP, REQUIRED),
    })), OPTIONAL),
    'created_at': (TIMESTAMP, REQUIRED),
    'updated_at': (TIMESTAMP, REQUIRED),
})


def validate(data):
    DOCUMENT(data)
