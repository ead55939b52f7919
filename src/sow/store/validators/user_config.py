"""Written by `make generate` from schemas/v1.1.0/user-config.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

agent, agent_wanted = FORMATS['sow-agent']
duration, duration_wanted = FORMATS['sow-duration']
line, line_wanted = FORMATS['sow-line']
tokens, tokens_wanted = FORMATS['sow-tokens']

def validate(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
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
    if 'run' in data:
        seen += 1
        value = data['run']
        if value is not None:
            validate_run(value, f'{at}.run' if at else 'run')
    else:
        seen += 1
        data['run'] = {}
    if 'review' in data:
        seen += 1
        value = data['review']
        if value is not None:
            validate_review(value, f'{at}.review' if at else 'review')
    else:
        seen += 1
        data['review'] = {}
    if 'budgets' in data:
        seen += 1
        value = data['budgets']
        if value is not None:
            validate_budgets(value, f'{at}.budgets' if at else 'budgets')
    else:
        seen += 1
        data['budgets'] = {}
    if 'checks' in data:
        seen += 1
        value = data['checks']
        if value is not None:
            validate_checks(value, f'{at}.checks' if at else 'checks')
    else:
        seen += 1
        data['checks'] = {}
    if 'worktree' in data:
        seen += 1
        value = data['worktree']
        if value is not None:
            validate_worktree(value, f'{at}.worktree' if at else 'worktree')
    else:
        seen += 1
        data['worktree'] = {}
    if 'context' in data:
        seen += 1
        value = data['context']
        if value is not None:
            validate_context(value, f'{at}.context' if at else 'context')
    else:
        seen += 1
        data['context'] = {}
    if 'knowledge' in data:
        seen += 1
        value = data['knowledge']
        if value is not None:
            validate_knowledge(value, f'{at}.knowledge' if at else 'knowledge')
    else:
        seen += 1
        data['knowledge'] = {}
    if 'sandbox' in data:
        seen += 1
        value = data['sandbox']
        if value is not None:
            validate_sandbox(value, f'{at}.sandbox' if at else 'sandbox')
    else:
        seen += 1
        data['sandbox'] = {}
    if 'notify' in data:
        seen += 1
        value = data['notify']
        if value is not None:
            validate_notify(value, f'{at}.notify' if at else 'notify')
    else:
        seen += 1
        data['notify'] = {}
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
        unknown(data, at, ('agents', 'limits', 'run', 'review', 'budgets', 'checks', 'worktree', 'context', 'knowledge', 'sandbox', 'notify', 'trust'))


def validate_agents(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'executors' in data:
        seen += 1
        value = data['executors']
        if value is not None:
            validate_agents_executors(value, f'{at}.executors' if at else 'executors')
    if 'default' in data:
        seen += 1
        value = data['default']
        if type(value) is not str:
            wrong(f'{at}.default' if at else 'default', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.default' if at else 'default', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.default' if at else 'default', line_wanted, value)
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
    if 'directories' in data:
        seen += 1
        value = data['directories']
        if type(value) is not list:
            wrong(f'{at}.directories' if at else 'directories', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.directories' if at else 'directories') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 4000:
                wrong((f'{at}.directories' if at else 'directories') + f'[{index}]', '1 to 4000 characters long', item)
            if not line(item):
                wrong((f'{at}.directories' if at else 'directories') + f'[{index}]', line_wanted, item)
    if seen != len(data):
        unknown(data, at, ('executors', 'default', 'bindings', 'fallbacks', 'directories'))


def validate_agents_executors(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        validate_agents_executors_value(value, f'{at}.{key}')


def validate_agents_executors_value(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'type' in data:
        seen += 1
        value = data['type']
        if type(value) is not str:
            wrong(f'{at}.type' if at else 'type', 'a text', value)
        if not agent(value):
            wrong(f'{at}.type' if at else 'type', agent_wanted, value)
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
        return wrong(at, "a mapping", data)
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
    if 'max_concurrency' in data:
        seen += 1
        value = data['max_concurrency']
        if type(value) is not int:
            wrong(f'{at}.max_concurrency' if at else 'max_concurrency', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.max_concurrency' if at else 'max_concurrency', 'at least 1', value)
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
        unknown(data, at, ('yolo_mode', 'model', 'max_concurrency', 'binary', 'command', 'env', 'allow_empty', 'scenario'))


def validate_agents_bindings(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
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
        return wrong(at, "a mapping", data)
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
        return wrong(at, "a mapping", data)
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


def validate_run(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'max_concurrency' in data:
        seen += 1
        value = data['max_concurrency']
        if type(value) is not int:
            wrong(f'{at}.max_concurrency' if at else 'max_concurrency', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.max_concurrency' if at else 'max_concurrency', 'at least 1', value)
    if 'schedule' in data:
        seen += 1
        value = data['schedule']
        if type(value) not in (str, type(None)) or value not in ('ready', 'waves'):
            wrong(f'{at}.schedule' if at else 'schedule', 'one of ready, waves', value)
    if 'isolation' in data:
        seen += 1
        value = data['isolation']
        if type(value) not in (str, type(None)) or value not in ('worktree', 'none'):
            wrong(f'{at}.isolation' if at else 'isolation', 'one of worktree, none', value)
    if 'retries' in data:
        seen += 1
        value = data['retries']
        if type(value) is not int:
            wrong(f'{at}.retries' if at else 'retries', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.retries' if at else 'retries', 'at least 0', value)
    if 'max_wait' in data:
        seen += 1
        value = data['max_wait']
        if type(value) is not str:
            wrong(f'{at}.max_wait' if at else 'max_wait', 'a text', value)
        if not duration(value):
            wrong(f'{at}.max_wait' if at else 'max_wait', duration_wanted, value)
    if 'final_checks' in data:
        seen += 1
        value = data['final_checks']
        if type(value) not in (str, type(None)) or value not in ('on', 'off'):
            wrong(f'{at}.final_checks' if at else 'final_checks', 'one of on, off', value)
    if 'history' in data:
        seen += 1
        value = data['history']
        if type(value) not in (str, type(None)) or value not in ('squash', 'full'):
            wrong(f'{at}.history' if at else 'history', 'one of squash, full', value)
    if 'baseline' in data:
        seen += 1
        value = data['baseline']
        if type(value) not in (str, type(None)) or value not in ('on', 'off'):
            wrong(f'{at}.baseline' if at else 'baseline', 'one of on, off', value)
    if seen != len(data):
        unknown(data, at, ('max_concurrency', 'schedule', 'isolation', 'retries', 'max_wait', 'final_checks', 'history', 'baseline'))


def validate_review(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'enabled' in data:
        seen += 1
        value = data['enabled']
        if type(value) is not bool:
            wrong(f'{at}.enabled' if at else 'enabled', 'true or false', value)
    if 'agents' in data:
        seen += 1
        value = data['agents']
        if type(value) is not list:
            wrong(f'{at}.agents' if at else 'agents', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.agents' if at else 'agents') + f'[{index}]', 'a text', item)
            if not agent(item):
                wrong((f'{at}.agents' if at else 'agents') + f'[{index}]', agent_wanted, item)
    if seen != len(data):
        unknown(data, at, ('enabled', 'agents'))


def validate_budgets(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'run_usd' in data:
        seen += 1
        value = data['run_usd']
        if type(value) not in (int, float, type(None)):
            wrong(f'{at}.run_usd' if at else 'run_usd', 'a number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.run_usd' if at else 'run_usd', 'at least 0', value)
    if 'task_usd' in data:
        seen += 1
        value = data['task_usd']
        if type(value) not in (int, float, type(None)):
            wrong(f'{at}.task_usd' if at else 'task_usd', 'a number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.task_usd' if at else 'task_usd', 'at least 0', value)
    if 'run_tokens' in data:
        seen += 1
        value = data['run_tokens']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.run_tokens' if at else 'run_tokens', 'a whole number or null', value)
        if value is not None:
            if value < 1:
                wrong(f'{at}.run_tokens' if at else 'run_tokens', 'at least 1', value)
    if 'run_time' in data:
        seen += 1
        value = data['run_time']
        if type(value) not in (str, type(None)):
            wrong(f'{at}.run_time' if at else 'run_time', 'a text or null', value)
        if value is not None:
            if not duration(value):
                wrong(f'{at}.run_time' if at else 'run_time', duration_wanted, value)
    if 'run_spawns' in data:
        seen += 1
        value = data['run_spawns']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.run_spawns' if at else 'run_spawns', 'a whole number or null', value)
        if value is not None:
            if value < 1:
                wrong(f'{at}.run_spawns' if at else 'run_spawns', 'at least 1', value)
    if seen != len(data):
        unknown(data, at, ('run_usd', 'task_usd', 'run_tokens', 'run_time', 'run_spawns'))


def validate_checks(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'timeout' in data:
        seen += 1
        value = data['timeout']
        if type(value) is not str:
            wrong(f'{at}.timeout' if at else 'timeout', 'a text', value)
        if not duration(value):
            wrong(f'{at}.timeout' if at else 'timeout', duration_wanted, value)
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
    if 'parallel' in data:
        seen += 1
        value = data['parallel']
        if type(value) is not int:
            wrong(f'{at}.parallel' if at else 'parallel', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.parallel' if at else 'parallel', 'at least 1', value)
    if 'allow' in data:
        seen += 1
        value = data['allow']
        if type(value) is not list:
            wrong(f'{at}.allow' if at else 'allow', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.allow' if at else 'allow') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.allow' if at else 'allow') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.allow' if at else 'allow') + f'[{index}]', line_wanted, item)
    if seen != len(data):
        unknown(data, at, ('timeout', 'env', 'parallel', 'allow'))


def validate_worktree(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'link' in data:
        seen += 1
        value = data['link']
        if type(value) is not list:
            wrong(f'{at}.link' if at else 'link', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.link' if at else 'link') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.link' if at else 'link') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.link' if at else 'link') + f'[{index}]', line_wanted, item)
    if 'copy' in data:
        seen += 1
        value = data['copy']
        if type(value) is not list:
            wrong(f'{at}.copy' if at else 'copy', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.copy' if at else 'copy') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.copy' if at else 'copy') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.copy' if at else 'copy') + f'[{index}]', line_wanted, item)
    if 'setup' in data:
        seen += 1
        value = data['setup']
        if type(value) is not list:
            wrong(f'{at}.setup' if at else 'setup', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not list:
                wrong((f'{at}.setup' if at else 'setup') + f'[{index}]', 'a list', item)
            for index_below, item_below in enumerate(item):
                if type(item_below) is not str:
                    wrong(((f'{at}.setup' if at else 'setup') + f'[{index}]') + f'[{index_below}]', 'a text', item_below)
                if not 0 <= len(item_below) <= 4000:
                    wrong(((f'{at}.setup' if at else 'setup') + f'[{index}]') + f'[{index_below}]', '0 to 4000 characters long', item_below)
    if seen != len(data):
        unknown(data, at, ('link', 'copy', 'setup'))


def validate_context(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'enabled' in data:
        seen += 1
        value = data['enabled']
        if type(value) is not bool:
            wrong(f'{at}.enabled' if at else 'enabled', 'true or false', value)
    if 'budget' in data:
        seen += 1
        value = data['budget']
        if type(value) is not str:
            wrong(f'{at}.budget' if at else 'budget', 'a text', value)
        if not tokens(value):
            wrong(f'{at}.budget' if at else 'budget', tokens_wanted, value)
    if seen != len(data):
        unknown(data, at, ('enabled', 'budget'))


def validate_knowledge(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'sink_mb' in data:
        seen += 1
        value = data['sink_mb']
        if type(value) is not int:
            wrong(f'{at}.sink_mb' if at else 'sink_mb', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.sink_mb' if at else 'sink_mb', 'at least 1', value)
    if 'repo_mb' in data:
        seen += 1
        value = data['repo_mb']
        if type(value) is not int:
            wrong(f'{at}.repo_mb' if at else 'repo_mb', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.repo_mb' if at else 'repo_mb', 'at least 1', value)
    if 'timeout' in data:
        seen += 1
        value = data['timeout']
        if type(value) is not str:
            wrong(f'{at}.timeout' if at else 'timeout', 'a text', value)
        if not duration(value):
            wrong(f'{at}.timeout' if at else 'timeout', duration_wanted, value)
    if seen != len(data):
        unknown(data, at, ('sink_mb', 'repo_mb', 'timeout'))


def validate_sandbox(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'mode' in data:
        seen += 1
        value = data['mode']
        if type(value) not in (str, type(None)) or value not in ('auto', 'off', 'bwrap'):
            wrong(f'{at}.mode' if at else 'mode', 'one of auto, off, bwrap', value)
    if 'roles' in data:
        seen += 1
        value = data['roles']
        if value is not None:
            validate_sandbox_roles(value, f'{at}.roles' if at else 'roles')
    if 'read' in data:
        seen += 1
        value = data['read']
        if type(value) is not list:
            wrong(f'{at}.read' if at else 'read', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.read' if at else 'read') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.read' if at else 'read') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.read' if at else 'read') + f'[{index}]', line_wanted, item)
    if 'write' in data:
        seen += 1
        value = data['write']
        if type(value) is not list:
            wrong(f'{at}.write' if at else 'write', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.write' if at else 'write') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.write' if at else 'write') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.write' if at else 'write') + f'[{index}]', line_wanted, item)
    if seen != len(data):
        unknown(data, at, ('mode', 'roles', 'read', 'write'))


def validate_sandbox_roles(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if type(value) not in (str, type(None)) or value not in ('auto', 'off', 'bwrap'):
            wrong(f'{at}.{key}', 'one of auto, off, bwrap', value)


def validate_notify(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) not in (list, str):
            wrong(f'{at}.command' if at else 'command', 'a list or a text', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.command' if at else 'command') + f'[{index}]', 'a text', item)
            if not 0 <= len(item) <= 4000:
                wrong((f'{at}.command' if at else 'command') + f'[{index}]', '0 to 4000 characters long', item)
    if 'bell' in data:
        seen += 1
        value = data['bell']
        if type(value) is not bool:
            wrong(f'{at}.bell' if at else 'bell', 'true or false', value)
    if seen != len(data):
        unknown(data, at, ('command', 'bell'))
