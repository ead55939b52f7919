"""Written by `make generate` from schemas/v1.1.0/session.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

agent, agent_wanted = FORMATS['sow-agent']
line, line_wanted = FORMATS['sow-line']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']
uuid4, uuid4_wanted = FORMATS['sow-uuid4']
version, version_wanted = FORMATS['sow-version']
worker, worker_wanted = FORMATS['sow-worker']

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
    if 'session' in data:
        seen += 1
        value = data['session']
        validate_session(value, f'{at}.session' if at else 'session')
    else:
        missing(at, 'session')
    if seen != len(data):
        unknown(data, at, ('schema_version', 'revision', 'session'))


def validate_session(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'number' in data:
        seen += 1
        value = data['number']
        if type(value) is not int:
            wrong(f'{at}.number' if at else 'number', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.number' if at else 'number', 'at least 1', value)
    else:
        missing(at, 'number')
    if 'key' in data:
        seen += 1
        value = data['key']
        if type(value) is not str:
            wrong(f'{at}.key' if at else 'key', 'a text', value)
        if not uuid4(value):
            wrong(f'{at}.key' if at else 'key', uuid4_wanted, value)
    else:
        missing(at, 'key')
    if 'session_id' in data:
        seen += 1
        value = data['session_id']
        if type(value) is not str:
            wrong(f'{at}.session_id' if at else 'session_id', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.session_id' if at else 'session_id', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.session_id' if at else 'session_id', line_wanted, value)
    if 'project_id' in data:
        seen += 1
        value = data['project_id']
        if type(value) is not str:
            wrong(f'{at}.project_id' if at else 'project_id', 'a text', value)
        if not uuid4(value):
            wrong(f'{at}.project_id' if at else 'project_id', uuid4_wanted, value)
    if 'task' in data:
        seen += 1
        value = data['task']
        if type(value) is not str:
            wrong(f'{at}.task' if at else 'task', 'a text', value)
        if not worker(value):
            wrong(f'{at}.task' if at else 'task', worker_wanted, value)
    else:
        missing(at, 'task')
    if 'role' in data:
        seen += 1
        value = data['role']
        if type(value) is not str:
            wrong(f'{at}.role' if at else 'role', 'a text', value)
        if not agent(value):
            wrong(f'{at}.role' if at else 'role', agent_wanted, value)
    else:
        missing(at, 'role')
    if 'executor' in data:
        seen += 1
        value = data['executor']
        if type(value) is not str:
            wrong(f'{at}.executor' if at else 'executor', 'a text', value)
        if not agent(value):
            wrong(f'{at}.executor' if at else 'executor', agent_wanted, value)
    else:
        missing(at, 'executor')
    if 'type' in data:
        seen += 1
        value = data['type']
        if type(value) is not str:
            wrong(f'{at}.type' if at else 'type', 'a text', value)
        if not agent(value):
            wrong(f'{at}.type' if at else 'type', agent_wanted, value)
    else:
        missing(at, 'type')
    if 'model' in data:
        seen += 1
        value = data['model']
        if type(value) is not str:
            wrong(f'{at}.model' if at else 'model', 'a text', value)
        if not 0 <= len(value) <= 200:
            wrong(f'{at}.model' if at else 'model', '0 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.model' if at else 'model', line_wanted, value)
    else:
        seen += 1
        data['model'] = ''
    if 'cwd' in data:
        seen += 1
        value = data['cwd']
        if type(value) is not str:
            wrong(f'{at}.cwd' if at else 'cwd', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.cwd' if at else 'cwd', '1 to 4000 characters long', value)
    else:
        missing(at, 'cwd')
    if 'mark' in data:
        seen += 1
        value = data['mark']
        if type(value) is not str:
            wrong(f'{at}.mark' if at else 'mark', 'a text', value)
        if not 8 <= len(value) <= 64:
            wrong(f'{at}.mark' if at else 'mark', '8 to 64 characters long', value)
        if not line(value):
            wrong(f'{at}.mark' if at else 'mark', line_wanted, value)
    else:
        missing(at, 'mark')
    if 'started_at' in data:
        seen += 1
        value = data['started_at']
        if type(value) is not str:
            wrong(f'{at}.started_at' if at else 'started_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.started_at' if at else 'started_at', timestamp_wanted, value)
    else:
        missing(at, 'started_at')
    if 'total_cost_usd' in data:
        seen += 1
        value = data['total_cost_usd']
        if type(value) not in (int, float, type(None)):
            wrong(f'{at}.total_cost_usd' if at else 'total_cost_usd', 'a number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.total_cost_usd' if at else 'total_cost_usd', 'at least 0', value)
    if 'total_input_tokens' in data:
        seen += 1
        value = data['total_input_tokens']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.total_input_tokens' if at else 'total_input_tokens', 'a whole number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.total_input_tokens' if at else 'total_input_tokens', 'at least 0', value)
    if 'total_output_tokens' in data:
        seen += 1
        value = data['total_output_tokens']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.total_output_tokens' if at else 'total_output_tokens', 'a whole number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.total_output_tokens' if at else 'total_output_tokens', 'at least 0', value)
    if 'turns' in data:
        seen += 1
        value = data['turns']
        if type(value) is not list:
            wrong(f'{at}.turns' if at else 'turns', 'a list', value)
        for index, item in enumerate(value):
            validate_session_turns_item(item, (f'{at}.turns' if at else 'turns') + f'[{index}]')
    else:
        seen += 1
        data['turns'] = []
    if seen != len(data):
        unknown(data, at, ('number', 'key', 'session_id', 'project_id', 'task', 'role', 'executor', 'type', 'model', 'cwd', 'mark', 'started_at', 'total_cost_usd', 'total_input_tokens', 'total_output_tokens', 'turns'))


def validate_session_turns_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'number' in data:
        seen += 1
        value = data['number']
        if type(value) is not int:
            wrong(f'{at}.number' if at else 'number', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.number' if at else 'number', 'at least 1', value)
    else:
        missing(at, 'number')
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('spawn', 'resume', 'reminder', 'recovery', 'review'):
            wrong(f'{at}.kind' if at else 'kind', 'one of spawn, resume, reminder, recovery, review', value)
    else:
        missing(at, 'kind')
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    if 'started_at' in data:
        seen += 1
        value = data['started_at']
        if type(value) is not str:
            wrong(f'{at}.started_at' if at else 'started_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.started_at' if at else 'started_at', timestamp_wanted, value)
    else:
        missing(at, 'started_at')
    if 'ended_at' in data:
        seen += 1
        value = data['ended_at']
        if type(value) is not str:
            wrong(f'{at}.ended_at' if at else 'ended_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.ended_at' if at else 'ended_at', timestamp_wanted, value)
    if 'exit' in data:
        seen += 1
        value = data['exit']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.exit' if at else 'exit', 'a whole number or null', value)
        if value is not None:
            pass
    if 'outcome' in data:
        seen += 1
        value = data['outcome']
        if type(value) is not str:
            wrong(f'{at}.outcome' if at else 'outcome', 'a text', value)
        if not 1 <= len(value) <= 40:
            wrong(f'{at}.outcome' if at else 'outcome', '1 to 40 characters long', value)
        if not line(value):
            wrong(f'{at}.outcome' if at else 'outcome', line_wanted, value)
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) is not str:
            wrong(f'{at}.reason' if at else 'reason', 'a text', value)
        if not 0 <= len(value) <= 2000:
            wrong(f'{at}.reason' if at else 'reason', '0 to 2000 characters long', value)
    else:
        seen += 1
        data['reason'] = ''
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) is not str:
            wrong(f'{at}.status' if at else 'status', 'a text', value)
        if not 1 <= len(value) <= 40:
            wrong(f'{at}.status' if at else 'status', '1 to 40 characters long', value)
        if not line(value):
            wrong(f'{at}.status' if at else 'status', line_wanted, value)
    if 'inferred' in data:
        seen += 1
        value = data['inferred']
        if type(value) is not bool:
            wrong(f'{at}.inferred' if at else 'inferred', 'true or false', value)
    else:
        seen += 1
        data['inferred'] = False
    if 'tools' in data:
        seen += 1
        value = data['tools']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.tools' if at else 'tools', 'a whole number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.tools' if at else 'tools', 'at least 0', value)
    if 'cost_usd' in data:
        seen += 1
        value = data['cost_usd']
        if type(value) not in (int, float, type(None)):
            wrong(f'{at}.cost_usd' if at else 'cost_usd', 'a number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.cost_usd' if at else 'cost_usd', 'at least 0', value)
    if 'input_tokens' in data:
        seen += 1
        value = data['input_tokens']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.input_tokens' if at else 'input_tokens', 'a whole number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.input_tokens' if at else 'input_tokens', 'at least 0', value)
    if 'output_tokens' in data:
        seen += 1
        value = data['output_tokens']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.output_tokens' if at else 'output_tokens', 'a whole number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.output_tokens' if at else 'output_tokens', 'at least 0', value)
    if 'agent_turns' in data:
        seen += 1
        value = data['agent_turns']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.agent_turns' if at else 'agent_turns', 'a whole number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.agent_turns' if at else 'agent_turns', 'at least 0', value)
    if 'seconds' in data:
        seen += 1
        value = data['seconds']
        if type(value) not in (int, float, type(None)):
            wrong(f'{at}.seconds' if at else 'seconds', 'a number or null', value)
        if value is not None:
            if value < 0:
                wrong(f'{at}.seconds' if at else 'seconds', 'at least 0', value)
    if 'redacted' in data:
        seen += 1
        value = data['redacted']
        if type(value) is not int:
            wrong(f'{at}.redacted' if at else 'redacted', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.redacted' if at else 'redacted', 'at least 0', value)
    else:
        seen += 1
        data['redacted'] = 0
    if 'unstruck' in data:
        seen += 1
        value = data['unstruck']
        if type(value) is not list:
            wrong(f'{at}.unstruck' if at else 'unstruck', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.unstruck' if at else 'unstruck') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 200:
                wrong((f'{at}.unstruck' if at else 'unstruck') + f'[{index}]', '1 to 200 characters long', item)
            if not line(item):
                wrong((f'{at}.unstruck' if at else 'unstruck') + f'[{index}]', line_wanted, item)
    if seen != len(data):
        unknown(data, at, ('number', 'kind', 'iteration', 'started_at', 'ended_at', 'exit', 'outcome', 'reason', 'status', 'inferred', 'tools', 'cost_usd', 'input_tokens', 'output_tokens', 'agent_turns', 'seconds', 'redacted', 'unstruck'))
