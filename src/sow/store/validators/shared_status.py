"""Written by `make generate` from schemas/v1.1.0/shared-status.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

digest, digest_wanted = FORMATS['sow-digest']
line, line_wanted = FORMATS['sow-line']
member, member_wanted = FORMATS['sow-member']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'task_id' in data:
        seen += 1
        value = data['task_id']
        if type(value) is not str:
            wrong(f'{at}.task_id' if at else 'task_id', 'a text', value)
        if not 1 <= len(value) <= 120:
            wrong(f'{at}.task_id' if at else 'task_id', '1 to 120 characters long', value)
        if not line(value):
            wrong(f'{at}.task_id' if at else 'task_id', line_wanted, value)
    else:
        missing(at, 'task_id')
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('pending', 'in_progress', 'blocked', 'completed', 'failed'):
            wrong(f'{at}.status' if at else 'status', 'one of pending, in_progress, blocked, completed, failed', value)
    else:
        missing(at, 'status')
    if 'session_start' in data:
        seen += 1
        value = data['session_start']
        if type(value) is not str:
            wrong(f'{at}.session_start' if at else 'session_start', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.session_start' if at else 'session_start', timestamp_wanted, value)
    if 'agents' in data:
        seen += 1
        value = data['agents']
        validate_agents(value, f'{at}.agents' if at else 'agents')
    else:
        missing(at, 'agents')
    if 'verification' in data:
        seen += 1
        value = data['verification']
        validate_verification(value, f'{at}.verification' if at else 'verification')
    else:
        missing(at, 'verification')
    if 'overall_completion_drive_gate' in data:
        seen += 1
        value = data['overall_completion_drive_gate']
        if type(value) not in (str, type(None)) or value not in ('blocked', 'clear'):
            wrong(f'{at}.overall_completion_drive_gate' if at else 'overall_completion_drive_gate', 'one of blocked, clear', value)
    else:
        missing(at, 'overall_completion_drive_gate')
    if seen != len(data):
        unknown(data, at, ('task_id', 'status', 'session_start', 'agents', 'verification', 'overall_completion_drive_gate'))


def validate_agents(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if not member(key):
            wrong(at, member_wanted, key)
        validate_agents_value(value, f'{at}.{key}')


def validate_agents_value(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('pending', 'working', 'completion_drive_review', 'ready_for_verification', 'verified', 'blocked', 'session_complete', 'failed'):
            wrong(f'{at}.status' if at else 'status', 'one of pending, working, completion_drive_review, ready_for_verification, verified, blocked, session_complete, failed', value)
    else:
        missing(at, 'status')
    if 'completion_drive_notes_count' in data:
        seen += 1
        value = data['completion_drive_notes_count']
        if type(value) is not int:
            wrong(f'{at}.completion_drive_notes_count' if at else 'completion_drive_notes_count', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.completion_drive_notes_count' if at else 'completion_drive_notes_count', 'at least 0', value)
    else:
        missing(at, 'completion_drive_notes_count')
    if 'unresolved_notes' in data:
        seen += 1
        value = data['unresolved_notes']
        if type(value) is not int:
            wrong(f'{at}.unresolved_notes' if at else 'unresolved_notes', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.unresolved_notes' if at else 'unresolved_notes', 'at least 0', value)
    if 'dependencies' in data:
        seen += 1
        value = data['dependencies']
        if type(value) is not list:
            wrong(f'{at}.dependencies' if at else 'dependencies', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.dependencies' if at else 'dependencies') + f'[{index}]', 'a text', item)
            if not member(item):
                wrong((f'{at}.dependencies' if at else 'dependencies') + f'[{index}]', member_wanted, item)
    if 'last_update' in data:
        seen += 1
        value = data['last_update']
        if type(value) not in (str, type(None)):
            wrong(f'{at}.last_update' if at else 'last_update', 'a text or null', value)
        if value is not None:
            if not timestamp(value):
                wrong(f'{at}.last_update' if at else 'last_update', timestamp_wanted, value)
    else:
        missing(at, 'last_update')
    if 'outputs' in data:
        seen += 1
        value = data['outputs']
        if type(value) is not list:
            wrong(f'{at}.outputs' if at else 'outputs', 'a list', value)
        for index, item in enumerate(value):
            validate_agents_value_outputs_item(item, (f'{at}.outputs' if at else 'outputs') + f'[{index}]')
    if seen != len(data):
        unknown(data, at, ('status', 'completion_drive_notes_count', 'unresolved_notes', 'dependencies', 'last_update', 'outputs'))


def validate_agents_value_outputs_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'path' in data:
        seen += 1
        value = data['path']
        if type(value) is not str:
            wrong(f'{at}.path' if at else 'path', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.path' if at else 'path', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.path' if at else 'path', line_wanted, value)
    else:
        missing(at, 'path')
    if 'version' in data:
        seen += 1
        value = data['version']
        if type(value) is not int:
            wrong(f'{at}.version' if at else 'version', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.version' if at else 'version', 'at least 1', value)
    else:
        missing(at, 'version')
    if 'digest' in data:
        seen += 1
        value = data['digest']
        if type(value) is not str:
            wrong(f'{at}.digest' if at else 'digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.digest' if at else 'digest', digest_wanted, value)
    else:
        missing(at, 'digest')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if seen != len(data):
        unknown(data, at, ('path', 'version', 'digest', 'at'))


def validate_verification(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if not member(key):
            wrong(at, member_wanted, key)
        validate_verification_value(value, f'{at}.{key}')


def validate_verification_value(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('pending', 'working', 'verified', 'failed'):
            wrong(f'{at}.status' if at else 'status', 'one of pending, working, verified, failed', value)
    else:
        missing(at, 'status')
    if 'assigned_agents' in data:
        seen += 1
        value = data['assigned_agents']
        if type(value) is not list:
            wrong(f'{at}.assigned_agents' if at else 'assigned_agents', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.assigned_agents' if at else 'assigned_agents') + f'[{index}]', 'a text', item)
            if not member(item):
                wrong((f'{at}.assigned_agents' if at else 'assigned_agents') + f'[{index}]', member_wanted, item)
    else:
        missing(at, 'assigned_agents')
    if seen != len(data):
        unknown(data, at, ('status', 'assigned_agents'))
