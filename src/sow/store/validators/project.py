"""Written by `make generate` from schemas/v1.1.0/project.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

digest, digest_wanted = FORMATS['sow-digest']
line, line_wanted = FORMATS['sow-line']
phase, phase_wanted = FORMATS['sow-phase']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']
uuid4, uuid4_wanted = FORMATS['sow-uuid4']
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
    if 'revision' in data:
        seen += 1
        value = data['revision']
        if type(value) is not int:
            wrong(f'{at}.revision' if at else 'revision', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.revision' if at else 'revision', 'at least 0', value)
    else:
        seen += 1
        data['revision'] = 0
    if 'project_id' in data:
        seen += 1
        value = data['project_id']
        if type(value) is not str:
            wrong(f'{at}.project_id' if at else 'project_id', 'a text', value)
        if not uuid4(value):
            wrong(f'{at}.project_id' if at else 'project_id', uuid4_wanted, value)
    else:
        missing(at, 'project_id')
    if 'name' in data:
        seen += 1
        value = data['name']
        if type(value) is not str:
            wrong(f'{at}.name' if at else 'name', 'a text', value)
        if not 1 <= len(value) <= 100:
            wrong(f'{at}.name' if at else 'name', '1 to 100 characters long', value)
        if not line(value):
            wrong(f'{at}.name' if at else 'name', line_wanted, value)
    else:
        missing(at, 'name')
    if 'description' in data:
        seen += 1
        value = data['description']
        if type(value) is not str:
            wrong(f'{at}.description' if at else 'description', 'a text', value)
        if not 0 <= len(value) <= 20000:
            wrong(f'{at}.description' if at else 'description', '0 to 20000 characters long', value)
    else:
        seen += 1
        data['description'] = ''
    if 'branch' in data:
        seen += 1
        value = data['branch']
        if type(value) is not str:
            wrong(f'{at}.branch' if at else 'branch', 'a text', value)
        if not 1 <= len(value) <= 255:
            wrong(f'{at}.branch' if at else 'branch', '1 to 255 characters long', value)
        if not line(value):
            wrong(f'{at}.branch' if at else 'branch', line_wanted, value)
        if value in ('main', 'master'):
            wrong(f'{at}.branch' if at else 'branch', 'anything but main or master', value)
    else:
        missing(at, 'branch')
    if 'phases' in data:
        seen += 1
        value = data['phases']
        if type(value) is not list:
            wrong(f'{at}.phases' if at else 'phases', 'a list', value)
        if len(value) < 1:
            wrong(f'{at}.phases' if at else 'phases', 'a list of at least 1', value)
        for index, item in enumerate(value):
            validate_phases_item(item, (f'{at}.phases' if at else 'phases') + f'[{index}]')
    else:
        missing(at, 'phases')
    if 'questions' in data:
        seen += 1
        value = data['questions']
        if type(value) is not int:
            wrong(f'{at}.questions' if at else 'questions', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.questions' if at else 'questions', 'at least 0', value)
    else:
        seen += 1
        data['questions'] = 0
    if 'plans' in data:
        seen += 1
        value = data['plans']
        if type(value) is not list:
            wrong(f'{at}.plans' if at else 'plans', 'a list', value)
        for index, item in enumerate(value):
            validate_plans_item(item, (f'{at}.plans' if at else 'plans') + f'[{index}]')
    if 'created_at' in data:
        seen += 1
        value = data['created_at']
        if type(value) is not str:
            wrong(f'{at}.created_at' if at else 'created_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.created_at' if at else 'created_at', timestamp_wanted, value)
    else:
        missing(at, 'created_at')
    if 'updated_at' in data:
        seen += 1
        value = data['updated_at']
        if type(value) is not str:
            wrong(f'{at}.updated_at' if at else 'updated_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.updated_at' if at else 'updated_at', timestamp_wanted, value)
    else:
        missing(at, 'updated_at')
    if seen != len(data):
        unknown(data, at, ('schema_version', 'revision', 'project_id', 'name', 'description', 'branch', 'phases', 'questions', 'plans', 'created_at', 'updated_at'))


def validate_phases_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'name' in data:
        seen += 1
        value = data['name']
        if type(value) is not str:
            wrong(f'{at}.name' if at else 'name', 'a text', value)
        if not phase(value):
            wrong(f'{at}.name' if at else 'name', phase_wanted, value)
    else:
        missing(at, 'name')
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('proposed', 'pending', 'active', 'completed'):
            wrong(f'{at}.status' if at else 'status', 'one of proposed, pending, active, completed', value)
    else:
        missing(at, 'status')
    if 'created_at' in data:
        seen += 1
        value = data['created_at']
        if type(value) is not str:
            wrong(f'{at}.created_at' if at else 'created_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.created_at' if at else 'created_at', timestamp_wanted, value)
    else:
        missing(at, 'created_at')
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) is not str:
            wrong(f'{at}.reason' if at else 'reason', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.reason' if at else 'reason', '1 to 2000 characters long', value)
    if 'question' in data:
        seen += 1
        value = data['question']
        if type(value) is not int:
            wrong(f'{at}.question' if at else 'question', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.question' if at else 'question', 'at least 1', value)
    if seen != len(data):
        unknown(data, at, ('name', 'status', 'created_at', 'reason', 'question'))


def validate_plans_item(data, at):
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
    if 'digest' in data:
        seen += 1
        value = data['digest']
        if type(value) is not str:
            wrong(f'{at}.digest' if at else 'digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.digest' if at else 'digest', digest_wanted, value)
    else:
        missing(at, 'digest')
    if 'imported_at' in data:
        seen += 1
        value = data['imported_at']
        if type(value) is not str:
            wrong(f'{at}.imported_at' if at else 'imported_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.imported_at' if at else 'imported_at', timestamp_wanted, value)
    else:
        missing(at, 'imported_at')
    if seen != len(data):
        unknown(data, at, ('path', 'digest', 'imported_at'))
