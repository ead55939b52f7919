"""Written by `make generate` from schemas/v1.1.0/repo-index.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

agent, agent_wanted = FORMATS['sow-agent']
digest, digest_wanted = FORMATS['sow-digest']
line, line_wanted = FORMATS['sow-line']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']
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
    if 'repos' in data:
        seen += 1
        value = data['repos']
        if type(value) is not list:
            wrong(f'{at}.repos' if at else 'repos', 'a list', value)
        for index, item in enumerate(value):
            validate_repos_item(item, (f'{at}.repos' if at else 'repos') + f'[{index}]')
    else:
        missing(at, 'repos')
    if seen != len(data):
        unknown(data, at, ('schema_version', 'repos'))


def validate_repos_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'name' in data:
        seen += 1
        value = data['name']
        if type(value) is not str:
            wrong(f'{at}.name' if at else 'name', 'a text', value)
        if not agent(value):
            wrong(f'{at}.name' if at else 'name', agent_wanted, value)
    else:
        missing(at, 'name')
    if 'source' in data:
        seen += 1
        value = data['source']
        validate_repos_item_source(value, f'{at}.source' if at else 'source')
    else:
        missing(at, 'source')
    if 'mode' in data:
        seen += 1
        value = data['mode']
        if type(value) not in (str, type(None)) or value not in ('clone', 'symlink'):
            wrong(f'{at}.mode' if at else 'mode', 'one of clone, symlink', value)
    else:
        missing(at, 'mode')
    if 'pin' in data:
        seen += 1
        value = data['pin']
        if type(value) is not str:
            wrong(f'{at}.pin' if at else 'pin', 'a text', value)
        if not digest(value):
            wrong(f'{at}.pin' if at else 'pin', digest_wanted, value)
    if 'digest' in data:
        seen += 1
        value = data['digest']
        if type(value) is not str:
            wrong(f'{at}.digest' if at else 'digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.digest' if at else 'digest', digest_wanted, value)
    if 'size' in data:
        seen += 1
        value = data['size']
        if type(value) is not int:
            wrong(f'{at}.size' if at else 'size', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.size' if at else 'size', 'at least 0', value)
    if 'files' in data:
        seen += 1
        value = data['files']
        if type(value) is not int:
            wrong(f'{at}.files' if at else 'files', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.files' if at else 'files', 'at least 0', value)
    if 'purpose' in data:
        seen += 1
        value = data['purpose']
        if type(value) is not str:
            wrong(f'{at}.purpose' if at else 'purpose', 'a text', value)
        if not 0 <= len(value) <= 4000:
            wrong(f'{at}.purpose' if at else 'purpose', '0 to 4000 characters long', value)
    else:
        missing(at, 'purpose')
    if 'hints' in data:
        seen += 1
        value = data['hints']
        if type(value) is not list:
            wrong(f'{at}.hints' if at else 'hints', 'a list', value)
        for index, item in enumerate(value):
            validate_repos_item_hints_item(item, (f'{at}.hints' if at else 'hints') + f'[{index}]')
    else:
        seen += 1
        data['hints'] = []
    if 'tags' in data:
        seen += 1
        value = data['tags']
        if type(value) is not list:
            wrong(f'{at}.tags' if at else 'tags', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.tags' if at else 'tags') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 60:
                wrong((f'{at}.tags' if at else 'tags') + f'[{index}]', '1 to 60 characters long', item)
            if not line(item):
                wrong((f'{at}.tags' if at else 'tags') + f'[{index}]', line_wanted, item)
        if len(set(value)) != len(value):
            wrong(f'{at}.tags' if at else 'tags', 'a list without repeats', value)
    else:
        seen += 1
        data['tags'] = []
    if 'described_by' in data:
        seen += 1
        value = data['described_by']
        if type(value) is not str:
            wrong(f'{at}.described_by' if at else 'described_by', 'a text', value)
        if not 1 <= len(value) <= 120:
            wrong(f'{at}.described_by' if at else 'described_by', '1 to 120 characters long', value)
        if not line(value):
            wrong(f'{at}.described_by' if at else 'described_by', line_wanted, value)
    if 'installed_at' in data:
        seen += 1
        value = data['installed_at']
        if type(value) is not str:
            wrong(f'{at}.installed_at' if at else 'installed_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.installed_at' if at else 'installed_at', timestamp_wanted, value)
    if 'updated_at' in data:
        seen += 1
        value = data['updated_at']
        if type(value) is not str:
            wrong(f'{at}.updated_at' if at else 'updated_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.updated_at' if at else 'updated_at', timestamp_wanted, value)
    if seen != len(data):
        unknown(data, at, ('name', 'source', 'mode', 'pin', 'digest', 'size', 'files', 'purpose', 'hints', 'tags', 'described_by', 'installed_at', 'updated_at'))


def validate_repos_item_source(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'url' in data:
        seen += 1
        value = data['url']
        if type(value) is not str:
            wrong(f'{at}.url' if at else 'url', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.url' if at else 'url', '1 to 2000 characters long', value)
        if not line(value):
            wrong(f'{at}.url' if at else 'url', line_wanted, value)
    else:
        missing(at, 'url')
    if 'ref' in data:
        seen += 1
        value = data['ref']
        if type(value) is not str:
            wrong(f'{at}.ref' if at else 'ref', 'a text', value)
        if not 0 <= len(value) <= 255:
            wrong(f'{at}.ref' if at else 'ref', '0 to 255 characters long', value)
        if not line(value):
            wrong(f'{at}.ref' if at else 'ref', line_wanted, value)
    else:
        missing(at, 'ref')
    if seen != len(data):
        unknown(data, at, ('url', 'ref'))


def validate_repos_item_hints_item(data, at):
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
    if 'about' in data:
        seen += 1
        value = data['about']
        if type(value) is not str:
            wrong(f'{at}.about' if at else 'about', 'a text', value)
        if not 0 <= len(value) <= 1000:
            wrong(f'{at}.about' if at else 'about', '0 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.about' if at else 'about', line_wanted, value)
    else:
        missing(at, 'about')
    if seen != len(data):
        unknown(data, at, ('path', 'about'))
