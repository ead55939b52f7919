"""Written by `make generate` from schemas/v1.1.0/notes.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

note_id, note_id_wanted = FORMATS['sow-note-id']
session_task, session_task_wanted = FORMATS['sow-session-task']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'task_id' in data:
        seen += 1
        value = data['task_id']
        if type(value) is not str:
            wrong(f'{at}.task_id' if at else 'task_id', 'a text', value)
        if not 0 <= len(value) <= 120:
            wrong(f'{at}.task_id' if at else 'task_id', '0 to 120 characters long', value)
        if not session_task(value):
            wrong(f'{at}.task_id' if at else 'task_id', session_task_wanted, value)
    else:
        missing(at, 'task_id')
    if 'session_start' in data:
        seen += 1
        value = data['session_start']
        if type(value) is not int:
            wrong(f'{at}.session_start' if at else 'session_start', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.session_start' if at else 'session_start', 'at least 0', value)
    else:
        missing(at, 'session_start')
    if 'notes' in data:
        seen += 1
        value = data['notes']
        if type(value) is not list:
            wrong(f'{at}.notes' if at else 'notes', 'a list', value)
        for index, item in enumerate(value):
            validate_notes_item(item, (f'{at}.notes' if at else 'notes') + f'[{index}]')
    else:
        missing(at, 'notes')
    if seen != len(data):
        unknown(data, at, ('task_id', 'session_start', 'notes'))


def validate_notes_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'note_id' in data:
        seen += 1
        value = data['note_id']
        if type(value) is not str:
            wrong(f'{at}.note_id' if at else 'note_id', 'a text', value)
        if not note_id(value):
            wrong(f'{at}.note_id' if at else 'note_id', note_id_wanted, value)
    else:
        missing(at, 'note_id')
    if 'timestamp' in data:
        seen += 1
        value = data['timestamp']
        if type(value) is not int:
            wrong(f'{at}.timestamp' if at else 'timestamp', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.timestamp' if at else 'timestamp', 'at least 0', value)
    else:
        missing(at, 'timestamp')
    if 'description' in data:
        seen += 1
        value = data['description']
        if type(value) is not str:
            wrong(f'{at}.description' if at else 'description', 'a text', value)
        if not 1 <= len(value) <= 20000:
            wrong(f'{at}.description' if at else 'description', '1 to 20000 characters long', value)
    else:
        missing(at, 'description')
    if 'context' in data:
        seen += 1
        value = data['context']
        if type(value) is not str:
            wrong(f'{at}.context' if at else 'context', 'a text', value)
        if not 1 <= len(value) <= 20000:
            wrong(f'{at}.context' if at else 'context', '1 to 20000 characters long', value)
    else:
        missing(at, 'context')
    if 'category' in data:
        seen += 1
        value = data['category']
        if type(value) not in (str, type(None)) or value not in ('technology', 'architecture', 'security', 'requirements', 'conflict', 'consistency', 'bug', 'detail', 'documentation'):
            wrong(f'{at}.category' if at else 'category', 'one of technology, architecture, security, requirements, conflict, consistency, bug, detail, documentation', value)
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('open', 'resolved', 'escalated'):
            wrong(f'{at}.status' if at else 'status', 'one of open, resolved, escalated', value)
    else:
        missing(at, 'status')
    if 'resolution' in data:
        seen += 1
        value = data['resolution']
        if type(value) not in (str, type(None)):
            wrong(f'{at}.resolution' if at else 'resolution', 'a text or null', value)
        if value is not None:
            if not 1 <= len(value) <= 100000:
                wrong(f'{at}.resolution' if at else 'resolution', '1 to 100000 characters long', value)
    if 'resolved_by' in data:
        seen += 1
        value = data['resolved_by']
        if type(value) not in (str, type(None)) or value not in ('agent_self', 'workflow_executor', 'user', None):
            wrong(f'{at}.resolved_by' if at else 'resolved_by', 'one of agent_self, workflow_executor, user, null', value)
    if 'resolution_timestamp' in data:
        seen += 1
        value = data['resolution_timestamp']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.resolution_timestamp' if at else 'resolution_timestamp', 'a whole number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.resolution_timestamp' if at else 'resolution_timestamp', 'at least 0', value)
    if 'escalation_reason' in data:
        seen += 1
        value = data['escalation_reason']
        if type(value) not in (str, type(None)):
            wrong(f'{at}.escalation_reason' if at else 'escalation_reason', 'a text or null', value)
        if value is not None:
            if not 1 <= len(value) <= 20000:
                wrong(f'{at}.escalation_reason' if at else 'escalation_reason', '1 to 20000 characters long', value)
    if seen != len(data):
        unknown(data, at, ('note_id', 'timestamp', 'description', 'context', 'category', 'status', 'resolution', 'resolved_by', 'resolution_timestamp', 'escalation_reason'))
    if data.get('status') in ('resolved',):
        if 'resolution' not in data:
            missing(at, 'resolution')
        if type(data['resolution']) is not str:
            wrong(f'{at}.resolution', 'a text', data['resolution'])
        if 'resolved_by' not in data:
            missing(at, 'resolved_by')
        if type(data['resolved_by']) is not str:
            wrong(f'{at}.resolved_by', 'a text', data['resolved_by'])
        if 'resolution_timestamp' not in data:
            missing(at, 'resolution_timestamp')
        if type(data['resolution_timestamp']) is not int:
            wrong(f'{at}.resolution_timestamp', 'a whole number', data['resolution_timestamp'])
    if data.get('status') in ('escalated',):
        if 'escalation_reason' not in data:
            missing(at, 'escalation_reason')
        if type(data['escalation_reason']) is not str:
            wrong(f'{at}.escalation_reason', 'a text', data['escalation_reason'])
