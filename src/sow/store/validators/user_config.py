"""Written by `make generate` from schemas/v1.0.0/user-config.json: change the schema, not this file."""

from sow.store.complaint import missing, unknown, wrong
from sow.store.formats import FORMATS

agent, agent_wanted = FORMATS['sow-agent']
line, line_wanted = FORMATS['sow-line']

def validate(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    seen = 0
    if 'agents' in data:
        seen += 1
        value = data['agents']
        validate_agents(value, f'{at}.agents' if at else 'agents')
    else:
        seen += 1
        data['agents'] = {}
    if seen != len(data):
        unknown(data, at, ('agents',))


def validate_agents(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    seen = 0
    if 'executors' in data:
        seen += 1
        value = data['executors']
        if value is not None:
            validate_agents_executors(value, f'{at}.executors' if at else 'executors')
    if 'bindings' in data:
        seen += 1
        value = data['bindings']
        if value is not None:
            validate_agents_bindings(value, f'{at}.bindings' if at else 'bindings')
    if seen != len(data):
        unknown(data, at, ('executors', 'bindings'))


def validate_agents_executors(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        validate_agents_executors_value(value, f'{at}.{key}')


def validate_agents_executors_value(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    seen = 0
    if 'type' in data:
        seen += 1
        value = data['type']
        if type(value) not in (str, type(None)) or value not in ('claude', 'cursor', 'windsurf'):
            wrong(f'{at}.type' if at else 'type', 'one of claude, cursor, windsurf', value)
    else:
        missing(at, 'type')
    if 'settings' in data:
        seen += 1
        value = data['settings']
        validate_agents_executors_value_settings(value, f'{at}.settings' if at else 'settings')
    else:
        seen += 1
        data['settings'] = {}
    if 'custom_args' in data:
        seen += 1
        value = data['custom_args']
        if type(value) is not list:
            wrong(f'{at}.custom_args' if at else 'custom_args', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.custom_args' if at else 'custom_args') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.custom_args' if at else 'custom_args') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.custom_args' if at else 'custom_args') + f'[{index}]', line_wanted, item)
    else:
        seen += 1
        data['custom_args'] = []
    if seen != len(data):
        unknown(data, at, ('type', 'settings', 'custom_args'))


def validate_agents_executors_value_settings(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    seen = 0
    if 'yolo_mode' in data:
        seen += 1
        value = data['yolo_mode']
        if type(value) is not bool:
            wrong(f'{at}.yolo_mode' if at else 'yolo_mode', 'true or false', value)
    else:
        seen += 1
        data['yolo_mode'] = False
    if 'model' in data:
        seen += 1
        value = data['model']
        if type(value) is not str:
            wrong(f'{at}.model' if at else 'model', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.model' if at else 'model', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.model' if at else 'model', line_wanted, value)
    if seen != len(data):
        unknown(data, at, ('yolo_mode', 'model'))


def validate_agents_bindings(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if type(value) is not str:
            wrong(f'{at}.{key}', 'a text', value)
        if not agent(value):
            wrong(f'{at}.{key}', agent_wanted, value)
