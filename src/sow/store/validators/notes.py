"""Written by `make generate` from schemas/v1.2.0/notes.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, number, record, text

DOCUMENT = record({
    'task_id': (text(0, 120, form='sow-session-task'), REQUIRED),
    'session_start': (number(0, whole=True), REQUIRED),
    'notes': (array(record({
        'note_id': (text(form='sow-note-id'), REQUIRED),
        'timestamp': (number(0, whole=True), REQUIRED),
        'description': (text(1, 20000), REQUIRED),
        'context': (text(1, 20000), REQUIRED),
        'category': (choice('technology', 'architecture', 'security', 'requirements', 'conflict', 'consistency', 'bug', 'detail', 'documentation'), OPTIONAL),
        'status': (choice('open', 'resolved', 'escalated'), REQUIRED),
        'resolution': (text(1, 100000, null=True), OPTIONAL),
        'resolved_by': (choice('agent_self', 'workflow_executor', 'user', None), OPTIONAL),
        'resolution_timestamp': (number(0, whole=True, null=True), OPTIONAL),
        'escalation_reason': (text(1, 20000, null=True), OPTIONAL),
    }, ('status', ('resolved',), {'resolution': text(), 'resolved_by': text(), 'resolution_timestamp': number(whole=True)}), ('status', ('escalated',), {'escalation_reason': text()}))), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
