"""Written by `make generate` from schemas/v1.1.0/archive-index.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

digest, digest_wanted = FORMATS['sow-digest']
line, line_wanted = FORMATS['sow-line']
member, member_wanted = FORMATS['sow-member']
session_task, session_task_wanted = FORMATS['sow-session-task']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'archives' in data:
        seen += 1
        value = data['archives']
        if type(value) is not list:
            wrong(f'{at}.archives' if at else 'archives', 'a list', value)
        for index, item in enumerate(value):
            validate_archives_item(item, (f'{at}.archives' if at else 'archives') + f'[{index}]')
    else:
        missing(at, 'archives')
    if seen != len(data):
        unknown(data, at, ('archives',))


def validate_archives_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'agent' in data:
        seen += 1
        value = data['agent']
        if type(value) is not str:
            wrong(f'{at}.agent' if at else 'agent', 'a text', value)
        if not member(value):
            wrong(f'{at}.agent' if at else 'agent', member_wanted, value)
    else:
        missing(at, 'agent')
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
    if 'file' in data:
        seen += 1
        value = data['file']
        if type(value) is not str:
            wrong(f'{at}.file' if at else 'file', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.file' if at else 'file', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.file' if at else 'file', line_wanted, value)
    else:
        missing(at, 'file')
    if 'session_start' in data:
        seen += 1
        value = data['session_start']
        if type(value) is not int:
            wrong(f'{at}.session_start' if at else 'session_start', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.session_start' if at else 'session_start', 'at least 0', value)
    else:
        missing(at, 'session_start')
    if 'archived_at' in data:
        seen += 1
        value = data['archived_at']
        if type(value) is not str:
            wrong(f'{at}.archived_at' if at else 'archived_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.archived_at' if at else 'archived_at', timestamp_wanted, value)
    else:
        missing(at, 'archived_at')
    if 'notes' in data:
        seen += 1
        value = data['notes']
        if type(value) is not int:
            wrong(f'{at}.notes' if at else 'notes', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.notes' if at else 'notes', 'at least 0', value)
    else:
        missing(at, 'notes')
    if 'digest' in data:
        seen += 1
        value = data['digest']
        if type(value) is not str:
            wrong(f'{at}.digest' if at else 'digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.digest' if at else 'digest', digest_wanted, value)
    else:
        missing(at, 'digest')
    if seen != len(data):
        unknown(data, at, ('agent', 'task_id', 'file', 'session_start', 'archived_at', 'notes', 'digest'))
