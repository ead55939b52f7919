"""Written by `make generate` from schemas/v1.2.0/shared-status.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, mapping, number, record, text

TIMESTAMP = text(form='sow-timestamp')
NAME = text(form='sow-member')
DIGEST = text(form='sow-digest')
OUTPUT = record({
    'path': (text(1, 1000, form='sow-line'), REQUIRED),
    'version': (number(1, whole=True), REQUIRED),
    'digest': (DIGEST, REQUIRED),
    'at': (TIMESTAMP, REQUIRED),
})
ENTRY = record({
    'status': (choice('pending', 'working', 'completion_drive_review', 'ready_for_verification', 'verified', 'blocked', 'session_complete', 'failed'), REQUIRED),
    'completion_drive_notes_count': (number(0, whole=True), REQUIRED),
    'unresolved_notes': (number(0, whole=True), OPTIONAL),
    'dependencies': (array(NAME), OPTIONAL),
    'last_update': (text(form='sow-timestamp', null=True), REQUIRED),
    'outputs': (array(OUTPUT), OPTIONAL),
})
VERIFIER = record({
    'status': (choice('pending', 'working', 'verified', 'failed'), REQUIRED),
    'assigned_agents': (array(NAME), REQUIRED),
})
DOCUMENT = record({
    'task_id': (text(1, 120, form='sow-line'), REQUIRED),
    'status': (choice('pending', 'in_progress', 'blocked', 'completed', 'failed'), REQUIRED),
    'session_start': (TIMESTAMP, OPTIONAL),
    'agents': (mapping(ENTRY, text(form='sow-member')), REQUIRED),
    'verification': (mapping(VERIFIER, text(form='sow-member')), REQUIRED),
    'overall_completion_drive_gate': (choice('blocked', 'clear'), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
