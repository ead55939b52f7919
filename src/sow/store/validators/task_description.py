"""Written by `make generate` from schemas/v1.1.0/task-description.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

line, line_wanted = FORMATS['sow-line']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'title' in data:
        seen += 1
        value = data['title']
        if type(value) is not str:
            wrong(f'{at}.title' if at else 'title', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.title' if at else 'title', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.title' if at else 'title', line_wanted, value)
    else:
        missing(at, 'title')
    if 'text' in data:
        seen += 1
        value = data['text']
        if type(value) is not str:
            wrong(f'{at}.text' if at else 'text', 'a text', value)
        if not 0 <= len(value) <= 2000000:
            wrong(f'{at}.text' if at else 'text', '0 to 2000000 characters long', value)
    else:
        missing(at, 'text')
    if seen != len(data):
        unknown(data, at, ('title', 'text'))
