"""Written by `make generate` from schemas/v1.1.0/log-entry.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

line, line_wanted = FORMATS['sow-line']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']
word, word_wanted = FORMATS['sow-word']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'timestamp' in data:
        seen += 1
        value = data['timestamp']
        if type(value) is not str:
            wrong(f'{at}.timestamp' if at else 'timestamp', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.timestamp' if at else 'timestamp', timestamp_wanted, value)
    else:
        missing(at, 'timestamp')
    if 'agent' in data:
        seen += 1
        value = data['agent']
        if type(value) is not str:
            wrong(f'{at}.agent' if at else 'agent', 'a text', value)
        if not 1 <= len(value) <= 100:
            wrong(f'{at}.agent' if at else 'agent', '1 to 100 characters long', value)
        if not line(value):
            wrong(f'{at}.agent' if at else 'agent', line_wanted, value)
    else:
        missing(at, 'agent')
    if 'action' in data:
        seen += 1
        value = data['action']
        if type(value) is not str:
            wrong(f'{at}.action' if at else 'action', 'a text', value)
        if not word(value):
            wrong(f'{at}.action' if at else 'action', word_wanted, value)
    else:
        missing(at, 'action')
    if 'result' in data:
        seen += 1
        value = data['result']
        if type(value) is not str:
            wrong(f'{at}.result' if at else 'result', 'a text', value)
        if not word(value):
            wrong(f'{at}.result' if at else 'result', word_wanted, value)
    else:
        missing(at, 'result')
    if 'files' in data:
        seen += 1
        value = data['files']
        if type(value) is not list:
            wrong(f'{at}.files' if at else 'files', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.files' if at else 'files') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.files' if at else 'files') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.files' if at else 'files') + f'[{index}]', line_wanted, item)
    else:
        seen += 1
        data['files'] = []
    if 'text' in data:
        seen += 1
        value = data['text']
        if type(value) is not str:
            wrong(f'{at}.text' if at else 'text', 'a text', value)
        if not 1 <= len(value) <= 200000:
            wrong(f'{at}.text' if at else 'text', '1 to 200000 characters long', value)
    else:
        missing(at, 'text')
    if seen != len(data):
        unknown(data, at, ('timestamp', 'agent', 'action', 'result', 'files', 'text'))
