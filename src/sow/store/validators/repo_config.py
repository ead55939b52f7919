"""Written by `make generate` from schemas/v1.1.0/repo-config.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

line, line_wanted = FORMATS['sow-line']
version, version_wanted = FORMATS['sow-version']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'schema_version' in data:
        seen += 1
        value = data['schema_version']
        if type(value) is not str:
            wrong(f'{at}.schema_version' if at else 'schema_version', 'a text', value)
        if not version(value):
            wrong(f'{at}.schema_version' if at else 'schema_version', version_wanted, value)
    else:
        missing(at, 'schema_version')
    if 'artifacts' in data:
        seen += 1
        value = data['artifacts']
        validate_artifacts(value, f'{at}.artifacts' if at else 'artifacts')
    else:
        seen += 1
        data['artifacts'] = {}
    if seen != len(data):
        unknown(data, at, ('schema_version', 'artifacts'))


def validate_artifacts(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'adrs' in data:
        seen += 1
        value = data['adrs']
        if type(value) is not str:
            wrong(f'{at}.adrs' if at else 'adrs', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.adrs' if at else 'adrs', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.adrs' if at else 'adrs', line_wanted, value)
    if 'designs' in data:
        seen += 1
        value = data['designs']
        if type(value) is not str:
            wrong(f'{at}.designs' if at else 'designs', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.designs' if at else 'designs', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.designs' if at else 'designs', line_wanted, value)
    if seen != len(data):
        unknown(data, at, ('adrs', 'designs'))
