"""Written by `make generate` from schemas/v1.2.0/session.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, flag, number, record, text

VERSION = text(form='sow-version')
WORKER = text(form='sow-worker')
TIMESTAMP = text(form='sow-timestamp')
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'revision': (number(0, whole=True), 0),
    'session': (record({
        'number': (number(1, whole=True), REQUIRED),
        'key': (text(form='sow-uuid4'), REQUIRED),
        'session_id': (text(1, 200, form='sow-line'), OPTIONAL),
        'project_id': (text(form='sow-uuid4'), OPTIONAL),
        'task': (WORKER, REQUIRED),
        'role': (text(form='sow-agent'), REQUIRED),
        'executor': (text(form='sow-agent'), REQUIRED),
        'type': (text(form='sow-agent'), REQUIRED),
        'model': (text(0, 200, form='sow-line'), ''),
        'cwd': (text(1, 4000), REQUIRED),
        'host': (text(1, 200, form='sow-line'), OPTIONAL),
        'mark': (text(8, 64, form='sow-line'), REQUIRED),
        'started_at': (TIMESTAMP, REQUIRED),
        'total_cost_usd': (number(0, null=True), OPTIONAL),
        'total_input_tokens': (number(0, whole=True, null=True), OPTIONAL),
        'total_output_tokens': (number(0, whole=True, null=True), OPTIONAL),
        'turns': (array(record({
            'number': (number(1, whole=True), REQUIRED),
            'kind': (choice('spawn', 'resume', 'reminder', 'recovery', 'review'), REQUIRED),
            'iteration': (number(1, whole=True), OPTIONAL),
            'started_at': (TIMESTAMP, REQUIRED),
            'ended_at': (TIMESTAMP, OPTIONAL),
            'exit': (number(whole=True, null=True), OPTIONAL),
            'outcome': (text(1, 40, form='sow-line'), OPTIONAL),
            'reason': (text(0, 2000), ''),
            'status': (text(1, 40, form='sow-line'), OPTIONAL),
            'inferred': (flag, False),
            'tools': (number(0, whole=True, null=True), OPTIONAL),
            'cost_usd': (number(0, null=True), OPTIONAL),
            'input_tokens': (number(0, whole=True, null=True), OPTIONAL),
            'output_tokens': (number(0, whole=True, null=True), OPTIONAL),
            'agent_turns': (number(0, whole=True, null=True), OPTIONAL),
            'seconds': (number(0, null=True), OPTIONAL),
            'redacted': (number(0, whole=True), 0),
            'unstruck': (array(text(1, 200, form='sow-line')), OPTIONAL),
            'remote': (record({
                'token': (text(form='sow-agent'), REQUIRED),
                'sent_at': (TIMESTAMP, REQUIRED),
                'applied': (number(0, whole=True), 0),
            }), OPTIONAL),
        })), []),
    }), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
