"""Written by `make generate` from schemas/v1.1.0/cleanup-log.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

line, line_wanted = FORMATS['sow-line']
member, member_wanted = FORMATS['sow-member']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'entries' in data:
        seen += 1
        value = data['entries']
        if type(value) is not list:
            wrong(f'{at}.entries' if at else 'entries', 'a list', value)
        for index, item in enumerate(value):
            validate_entries_item(item, (f'{at}.entries' if at else 'entries') + f'[{index}]')
    else:
        missing(at, 'entries')
    if seen != len(data):
        unknown(data, at, ('entries',))


def validate_entries_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if 'agent' in data:
        seen += 1
        value = data['agent']
        if type(value) is not str:
            wrong(f'{at}.agent' if at else 'agent', 'a text', value)
        if not member(value):
            wrong(f'{at}.agent' if at else 'agent', member_wanted, value)
    else:
        missing(at, 'agent')
    if 'action' in data:
        seen += 1
        value = data['action']
        if type(value) not in (str, type(None)) or value not in ('archived', 'failed'):
            wrong(f'{at}.action' if at else 'action', 'one of archived, failed', value)
    else:
        missing(at, 'action')
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) not in (str, type(None)) or value not in ('session_complete', 'left_over', 'new_task'):
            wrong(f'{at}.reason' if at else 'reason', 'one of session_complete, left_over, new_task', value)
    else:
        missing(at, 'reason')
    if 'source' in data:
        seen += 1
        value = data['source']
        if type(value) is not str:
            wrong(f'{at}.source' if at else 'source', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.source' if at else 'source', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.source' if at else 'source', line_wanted, value)
    else:
        missing(at, 'source')
    if 'file' in data:
        seen += 1
        value = data['file']
        if type(value) is not str:
            wrong(f'{at}.file' if at else 'file', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.file' if at else 'file', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.file' if at else 'file', line_wanted, value)
    if 'error' in data:
        seen += 1
        value = data['error']
        if type(value) is not str:
            wrong(f'{at}.error' if at else 'error', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.error' if at else 'error', '1 to 2000 characters long', value)
    if seen != len(data):
        unknown(data, at, ('at', 'agent', 'action', 'reason', 'source', 'file', 'error'))
