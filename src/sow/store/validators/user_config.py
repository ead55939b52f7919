"""Written by `make generate` from schemas/v1.0.0/user-config.json: change the schema, not this file."""

from sow.store.complaint import missing, unknown, wrong
from sow.store.formats import FORMATS

duration, duration_wanted = FORMATS['sow-duration']
line, line_wanted = FORMATS['sow-line']

def validate(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    seen = 0
    if 'agents' in data:
        seen += 1
        value = data['agents']
        if value is not None:
            validate_agents(value, f'{at}.agents' if at else 'agents')
    else:
        seen += 1
        data['agents'] = {}
    if 'limits' in data:
        seen += 1
        value = data['limits']
        if value is not None:
            validate_limits(value, f'{at}.limits' if at else 'limits')
    else:
        seen += 1
        data['limits'] = {}
    if 'trust' in data:
        seen += 1
        value = data['trust']
        if type(value) not in (list, type(None)):
            wrong(f'{at}.trust' if at else 'trust', 'a list or null', value)
        if value is not None:
            for index, item in enumerate(value):
                if type(item) is not str:
                    wrong((f'{at}.trust' if at else 'trust') + f'[{index}]', 'a text', item)
                if not 1 <= len(item) <= 4000:
                    wrong((f'{at}.trust' if at else 'trust') + f'[{index}]', '1 to 4000 characters long', item)
                if not line(item):
                    wrong((f'{at}.trust' if at else 'trust') + f'[{index}]', line_wanted, item)
    else:
        seen += 1
        data['trust'] = []
    if seen != len(data):
        unknown(data, at, ('agents', 'limits', 'trust'))


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
    if 'fallbacks' in data:
        seen += 1
        value = data['fallbacks']
        if value is not None:
            validate_agents_fallbacks(value, f'{at}.fallbacks' if at else 'fallbacks')
    if seen != len(data):
        unknown(data, at, ('executors', 'bindings', 'fallbacks'))


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
        if type(value) not in (str, type(None)) or value not in ('claude', 'cursor', 'windsurf', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'amp', 'aider', 'command', 'simulated'):
            wrong(f'{at}.type' if at else 'type', 'one of claude, cursor, windsurf, codex, gemini, opencode, copilot, qwen, amp, aider, command, simulated', value)
    else:
        missing(at, 'type')
    if 'settings' in data:
        seen += 1
        value = data['settings']
        if value is not None:
            validate_agents_executors_value_settings(value, f'{at}.settings' if at else 'settings')
    else:
        seen += 1
        data['settings'] = {}
    if 'custom_args' in data:
        seen += 1
        value = data['custom_args']
        if type(value) not in (list, type(None)):
            wrong(f'{at}.custom_args' if at else 'custom_args', 'a list or null', value)
        if value is not None:
            for index, item in enumerate(value):
                if type(item) is not str:
                    wrong((f'{at}.custom_args' if at else 'custom_args') + f'[{index}]', 'a text', item)
                if not 0 <= len(item) <= 4000:
                    wrong((f'{at}.custom_args' if at else 'custom_args') + f'[{index}]', '0 to 4000 characters long', item)
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
    if 'binary' in data:
        seen += 1
        value = data['binary']
        if type(value) is not str:
            wrong(f'{at}.binary' if at else 'binary', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.binary' if at else 'binary', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.binary' if at else 'binary', line_wanted, value)
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) is not list:
            wrong(f'{at}.command' if at else 'command', 'a list', value)
        if len(value) < 1:
            wrong(f'{at}.command' if at else 'command', 'a list of at least 1', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.command' if at else 'command') + f'[{index}]', 'a text', item)
            if not 0 <= len(item) <= 4000:
                wrong((f'{at}.command' if at else 'command') + f'[{index}]', '0 to 4000 characters long', item)
    if 'env' in data:
        seen += 1
        value = data['env']
        if type(value) is not list:
            wrong(f'{at}.env' if at else 'env', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.env' if at else 'env') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 200:
                wrong((f'{at}.env' if at else 'env') + f'[{index}]', '1 to 200 characters long', item)
            if not line(item):
                wrong((f'{at}.env' if at else 'env') + f'[{index}]', line_wanted, item)
    else:
        seen += 1
        data['env'] = []
    if 'allow_empty' in data:
        seen += 1
        value = data['allow_empty']
        if type(value) is not bool:
            wrong(f'{at}.allow_empty' if at else 'allow_empty', 'true or false', value)
    else:
        seen += 1
        data['allow_empty'] = False
    if 'scenario' in data:
        seen += 1
        value = data['scenario']
        if type(value) is not str:
            wrong(f'{at}.scenario' if at else 'scenario', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.scenario' if at else 'scenario', '1 to 4000 characters long', value)
        if not line(value):
            wrong(f'{at}.scenario' if at else 'scenario', line_wanted, value)
    if seen != len(data):
        unknown(data, at, ('yolo_mode', 'model', 'binary', 'command', 'env', 'allow_empty', 'scenario'))


def validate_agents_bindings(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if type(value) is not str:
            wrong(f'{at}.{key}', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.{key}', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.{key}', line_wanted, value)


def validate_agents_fallbacks(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if type(value) is not list:
            wrong(f'{at}.{key}', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.{key}') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 200:
                wrong((f'{at}.{key}') + f'[{index}]', '1 to 200 characters long', item)
            if not line(item):
                wrong((f'{at}.{key}') + f'[{index}]', line_wanted, item)


def validate_limits(data, at):
    if type(data) is not dict:
        wrong(at, "a mapping", data)
    seen = 0
    if 'turn_timeout' in data:
        seen += 1
        value = data['turn_timeout']
        if type(value) is not str:
            wrong(f'{at}.turn_timeout' if at else 'turn_timeout', 'a text', value)
        if not duration(value):
            wrong(f'{at}.turn_timeout' if at else 'turn_timeout', duration_wanted, value)
    if 'silence_timeout' in data:
        seen += 1
        value = data['silence_timeout']
        if type(value) is not str:
            wrong(f'{at}.silence_timeout' if at else 'silence_timeout', 'a text', value)
        if not duration(value):
            wrong(f'{at}.silence_timeout' if at else 'silence_timeout', duration_wanted, value)
    if 'linger_timeout' in data:
        seen += 1
        value = data['linger_timeout']
        if type(value) is not str:
            wrong(f'{at}.linger_timeout' if at else 'linger_timeout', 'a text', value)
        if not duration(value):
            wrong(f'{at}.linger_timeout' if at else 'linger_timeout', duration_wanted, value)
    if 'transcript_mb' in data:
        seen += 1
        value = data['transcript_mb']
        if type(value) is not int:
            wrong(f'{at}.transcript_mb' if at else 'transcript_mb', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.transcript_mb' if at else 'transcript_mb', 'at least 1', value)
    if 'stop_grace' in data:
        seen += 1
        value = data['stop_grace']
        if type(value) is not str:
            wrong(f'{at}.stop_grace' if at else 'stop_grace', 'a text', value)
        if not duration(value):
            wrong(f'{at}.stop_grace' if at else 'stop_grace', duration_wanted, value)
    if seen != len(data):
        unknown(data, at, ('turn_timeout', 'silence_timeout', 'linger_timeout', 'transcript_mb', 'stop_grace'))
