"""Written by `make generate` from schemas/v1.1.0/run.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

digest, digest_wanted = FORMATS['sow-digest']
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
    if 'run' in data:
        seen += 1
        value = data['run']
        validate_run(value, f'{at}.run' if at else 'run')
    else:
        missing(at, 'run')
    if seen != len(data):
        unknown(data, at, ('schema_version', 'revision', 'run'))


def validate_run(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'id' in data:
        seen += 1
        value = data['id']
        if type(value) is not str:
            wrong(f'{at}.id' if at else 'id', 'a text', value)
        if not 1 <= len(value) <= 40:
            wrong(f'{at}.id' if at else 'id', '1 to 40 characters long', value)
        if not line(value):
            wrong(f'{at}.id' if at else 'id', line_wanted, value)
    else:
        missing(at, 'id')
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
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.name' if at else 'name', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.name' if at else 'name', line_wanted, value)
    else:
        missing(at, 'name')
    if 'branch' in data:
        seen += 1
        value = data['branch']
        if type(value) is not str:
            wrong(f'{at}.branch' if at else 'branch', 'a text', value)
        if not 1 <= len(value) <= 255:
            wrong(f'{at}.branch' if at else 'branch', '1 to 255 characters long', value)
        if not line(value):
            wrong(f'{at}.branch' if at else 'branch', line_wanted, value)
    else:
        missing(at, 'branch')
    if 'base' in data:
        seen += 1
        value = data['base']
        if type(value) is not str:
            wrong(f'{at}.base' if at else 'base', 'a text', value)
        if not digest(value):
            wrong(f'{at}.base' if at else 'base', digest_wanted, value)
    else:
        missing(at, 'base')
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('running', 'waiting', 'stopped', 'ended'):
            wrong(f'{at}.status' if at else 'status', 'one of running, waiting, stopped, ended', value)
    else:
        missing(at, 'status')
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
        if type(value) is not int:
            wrong(f'{at}.exit' if at else 'exit', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.exit' if at else 'exit', 'at least 0', value)
    if 'plans' in data:
        seen += 1
        value = data['plans']
        if type(value) is not list:
            wrong(f'{at}.plans' if at else 'plans', 'a list', value)
        for index, item in enumerate(value):
            validate_run_plans_item(item, (f'{at}.plans' if at else 'plans') + f'[{index}]')
    else:
        missing(at, 'plans')
    if 'tasks' in data:
        seen += 1
        value = data['tasks']
        if type(value) is not list:
            wrong(f'{at}.tasks' if at else 'tasks', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.tasks' if at else 'tasks') + f'[{index}]', 'a text', item)
            if not worker(item):
                wrong((f'{at}.tasks' if at else 'tasks') + f'[{index}]', worker_wanted, item)
    else:
        missing(at, 'tasks')
    if 'settings' in data:
        seen += 1
        value = data['settings']
        validate_run_settings(value, f'{at}.settings' if at else 'settings')
    else:
        missing(at, 'settings')
    if 'pools' in data:
        seen += 1
        value = data['pools']
        if type(value) is not list:
            wrong(f'{at}.pools' if at else 'pools', 'a list', value)
        for index, item in enumerate(value):
            validate_run_pools_item(item, (f'{at}.pools' if at else 'pools') + f'[{index}]')
    if 'breaker' in data:
        seen += 1
        value = data['breaker']
        validate_run_breaker(value, f'{at}.breaker' if at else 'breaker')
    if 'spawns' in data:
        seen += 1
        value = data['spawns']
        if type(value) is not int:
            wrong(f'{at}.spawns' if at else 'spawns', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.spawns' if at else 'spawns', 'at least 0', value)
    if 'head' in data:
        seen += 1
        value = data['head']
        if type(value) is not str:
            wrong(f'{at}.head' if at else 'head', 'a text', value)
        if not digest(value):
            wrong(f'{at}.head' if at else 'head', digest_wanted, value)
    if 'merges' in data:
        seen += 1
        value = data['merges']
        if type(value) is not list:
            wrong(f'{at}.merges' if at else 'merges', 'a list', value)
        for index, item in enumerate(value):
            validate_run_merges_item(item, (f'{at}.merges' if at else 'merges') + f'[{index}]')
    if 'dropped' in data:
        seen += 1
        value = data['dropped']
        if type(value) is not list:
            wrong(f'{at}.dropped' if at else 'dropped', 'a list', value)
        for index, item in enumerate(value):
            validate_run_dropped_item(item, (f'{at}.dropped' if at else 'dropped') + f'[{index}]')
    if 'baselines' in data:
        seen += 1
        value = data['baselines']
        if type(value) is not list:
            wrong(f'{at}.baselines' if at else 'baselines', 'a list', value)
        for index, item in enumerate(value):
            validate_run_baselines_item(item, (f'{at}.baselines' if at else 'baselines') + f'[{index}]')
    if 'final' in data:
        seen += 1
        value = data['final']
        if type(value) is not list:
            wrong(f'{at}.final' if at else 'final', 'a list', value)
        for index, item in enumerate(value):
            validate_run_final_item(item, (f'{at}.final' if at else 'final') + f'[{index}]')
    if 'accepted' in data:
        seen += 1
        value = data['accepted']
        if type(value) is not list:
            wrong(f'{at}.accepted' if at else 'accepted', 'a list', value)
        for index, item in enumerate(value):
            if type(item) not in (str, type(None)) or item not in ('outside_imports', 'refused_setup'):
                wrong((f'{at}.accepted' if at else 'accepted') + f'[{index}]', 'one of outside_imports, refused_setup', item)
    if seen != len(data):
        unknown(data, at, ('id', 'project_id', 'name', 'branch', 'base', 'status', 'started_at', 'ended_at', 'exit', 'plans', 'tasks', 'settings', 'pools', 'breaker', 'spawns', 'head', 'merges', 'dropped', 'baselines', 'final', 'accepted'))


def validate_run_plans_item(data, at):
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
    if seen != len(data):
        unknown(data, at, ('path', 'digest'))


def validate_run_settings(data, at):
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
    else:
        missing(at, 'max_concurrency')
    if 'schedule' in data:
        seen += 1
        value = data['schedule']
        if type(value) not in (str, type(None)) or value not in ('ready', 'waves'):
            wrong(f'{at}.schedule' if at else 'schedule', 'one of ready, waves', value)
    else:
        missing(at, 'schedule')
    if 'isolation' in data:
        seen += 1
        value = data['isolation']
        if type(value) not in (str, type(None)) or value not in ('worktree', 'none'):
            wrong(f'{at}.isolation' if at else 'isolation', 'one of worktree, none', value)
    else:
        missing(at, 'isolation')
    if 'review' in data:
        seen += 1
        value = data['review']
        if type(value) not in (str, type(None)) or value not in ('on', 'off'):
            wrong(f'{at}.review' if at else 'review', 'one of on, off', value)
    else:
        missing(at, 'review')
    if 'retries' in data:
        seen += 1
        value = data['retries']
        if type(value) is not int:
            wrong(f'{at}.retries' if at else 'retries', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.retries' if at else 'retries', 'at least 0', value)
    else:
        missing(at, 'retries')
    if 'executor' in data:
        seen += 1
        value = data['executor']
        if type(value) is not str:
            wrong(f'{at}.executor' if at else 'executor', 'a text', value)
        if not 1 <= len(value) <= 64:
            wrong(f'{at}.executor' if at else 'executor', '1 to 64 characters long', value)
        if not line(value):
            wrong(f'{at}.executor' if at else 'executor', line_wanted, value)
    if 'agent' in data:
        seen += 1
        value = data['agent']
        if type(value) is not str:
            wrong(f'{at}.agent' if at else 'agent', 'a text', value)
        if not 1 <= len(value) <= 64:
            wrong(f'{at}.agent' if at else 'agent', '1 to 64 characters long', value)
        if not line(value):
            wrong(f'{at}.agent' if at else 'agent', line_wanted, value)
    if 'timeout' in data:
        seen += 1
        value = data['timeout']
        if type(value) not in (int, float):
            wrong(f'{at}.timeout' if at else 'timeout', 'a number', value)
        if value < 0:
            wrong(f'{at}.timeout' if at else 'timeout', 'at least 0', value)
    if 'max_cost' in data:
        seen += 1
        value = data['max_cost']
        if type(value) not in (int, float):
            wrong(f'{at}.max_cost' if at else 'max_cost', 'a number', value)
        if value < 0:
            wrong(f'{at}.max_cost' if at else 'max_cost', 'at least 0', value)
    if 'max_wait' in data:
        seen += 1
        value = data['max_wait']
        if type(value) not in (int, float):
            wrong(f'{at}.max_wait' if at else 'max_wait', 'a number', value)
        if value < 0:
            wrong(f'{at}.max_wait' if at else 'max_wait', 'at least 0', value)
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
        unknown(data, at, ('max_concurrency', 'schedule', 'isolation', 'review', 'retries', 'executor', 'agent', 'timeout', 'max_cost', 'max_wait', 'final_checks', 'history', 'baseline'))


def validate_run_pools_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'executor' in data:
        seen += 1
        value = data['executor']
        if type(value) is not str:
            wrong(f'{at}.executor' if at else 'executor', 'a text', value)
        if not 1 <= len(value) <= 64:
            wrong(f'{at}.executor' if at else 'executor', '1 to 64 characters long', value)
        if not line(value):
            wrong(f'{at}.executor' if at else 'executor', line_wanted, value)
    else:
        missing(at, 'executor')
    if 'until' in data:
        seen += 1
        value = data['until']
        if type(value) is not int:
            wrong(f'{at}.until' if at else 'until', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.until' if at else 'until', 'at least 0', value)
    else:
        missing(at, 'until')
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) is not str:
            wrong(f'{at}.reason' if at else 'reason', 'a text', value)
        if not 0 <= len(value) <= 2000:
            wrong(f'{at}.reason' if at else 'reason', '0 to 2000 characters long', value)
    else:
        missing(at, 'reason')
    if seen != len(data):
        unknown(data, at, ('executor', 'until', 'reason'))


def validate_run_breaker(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'failures' in data:
        seen += 1
        value = data['failures']
        if type(value) is not int:
            wrong(f'{at}.failures' if at else 'failures', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.failures' if at else 'failures', 'at least 0', value)
    else:
        missing(at, 'failures')
    if 'opened' in data:
        seen += 1
        value = data['opened']
        if type(value) is not int:
            wrong(f'{at}.opened' if at else 'opened', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.opened' if at else 'opened', 'at least 0', value)
    else:
        missing(at, 'opened')
    if 'until' in data:
        seen += 1
        value = data['until']
        if type(value) is not int:
            wrong(f'{at}.until' if at else 'until', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.until' if at else 'until', 'at least 0', value)
    else:
        missing(at, 'until')
    if seen != len(data):
        unknown(data, at, ('failures', 'opened', 'until'))


def validate_run_merges_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'task' in data:
        seen += 1
        value = data['task']
        if type(value) is not str:
            wrong(f'{at}.task' if at else 'task', 'a text', value)
        if not worker(value):
            wrong(f'{at}.task' if at else 'task', worker_wanted, value)
    else:
        missing(at, 'task')
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'work' in data:
        seen += 1
        value = data['work']
        if type(value) is not str:
            wrong(f'{at}.work' if at else 'work', 'a text', value)
        if not digest(value):
            wrong(f'{at}.work' if at else 'work', digest_wanted, value)
    else:
        missing(at, 'work')
    if 'commit' in data:
        seen += 1
        value = data['commit']
        if type(value) is not str:
            wrong(f'{at}.commit' if at else 'commit', 'a text', value)
        if not digest(value):
            wrong(f'{at}.commit' if at else 'commit', digest_wanted, value)
    else:
        missing(at, 'commit')
    if 'parent' in data:
        seen += 1
        value = data['parent']
        if type(value) is not str:
            wrong(f'{at}.parent' if at else 'parent', 'a text', value)
        if not digest(value):
            wrong(f'{at}.parent' if at else 'parent', digest_wanted, value)
    else:
        missing(at, 'parent')
    if 'tree' in data:
        seen += 1
        value = data['tree']
        if type(value) is not str:
            wrong(f'{at}.tree' if at else 'tree', 'a text', value)
        if not digest(value):
            wrong(f'{at}.tree' if at else 'tree', digest_wanted, value)
    else:
        missing(at, 'tree')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if seen != len(data):
        unknown(data, at, ('task', 'iteration', 'work', 'commit', 'parent', 'tree', 'at'))


def validate_run_dropped_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'task' in data:
        seen += 1
        value = data['task']
        if type(value) is not str:
            wrong(f'{at}.task' if at else 'task', 'a text', value)
        if not worker(value):
            wrong(f'{at}.task' if at else 'task', worker_wanted, value)
    else:
        missing(at, 'task')
    if 'head' in data:
        seen += 1
        value = data['head']
        if type(value) is not str:
            wrong(f'{at}.head' if at else 'head', 'a text', value)
        if not digest(value):
            wrong(f'{at}.head' if at else 'head', digest_wanted, value)
    else:
        missing(at, 'head')
    if 'parent' in data:
        seen += 1
        value = data['parent']
        if type(value) is not str:
            wrong(f'{at}.parent' if at else 'parent', 'a text', value)
        if not digest(value):
            wrong(f'{at}.parent' if at else 'parent', digest_wanted, value)
    else:
        missing(at, 'parent')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if seen != len(data):
        unknown(data, at, ('task', 'head', 'parent', 'at'))


def validate_run_baselines_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'list' in data:
        seen += 1
        value = data['list']
        if type(value) is not str:
            wrong(f'{at}.list' if at else 'list', 'a text', value)
        if not digest(value):
            wrong(f'{at}.list' if at else 'list', digest_wanted, value)
    else:
        missing(at, 'list')
    if 'tree' in data:
        seen += 1
        value = data['tree']
        if type(value) is not str:
            wrong(f'{at}.tree' if at else 'tree', 'a text', value)
        if not digest(value):
            wrong(f'{at}.tree' if at else 'tree', digest_wanted, value)
    else:
        missing(at, 'tree')
    if 'passed' in data:
        seen += 1
        value = data['passed']
        if type(value) is not bool:
            wrong(f'{at}.passed' if at else 'passed', 'true or false', value)
    else:
        missing(at, 'passed')
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) is not str:
            wrong(f'{at}.command' if at else 'command', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.command' if at else 'command', '1 to 4000 characters long', value)
    if 'exit' in data:
        seen += 1
        value = data['exit']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.exit' if at else 'exit', 'a whole number or null', value)
        if value is not None:
            pass
    if 'tests' in data:
        seen += 1
        value = data['tests']
        validate_run_baselines_item_tests(value, f'{at}.tests' if at else 'tests')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if seen != len(data):
        unknown(data, at, ('list', 'tree', 'passed', 'command', 'exit', 'tests', 'at'))


def validate_run_baselines_item_tests(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'ran' in data:
        seen += 1
        value = data['ran']
        if type(value) is not int:
            wrong(f'{at}.ran' if at else 'ran', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.ran' if at else 'ran', 'at least 0', value)
    else:
        missing(at, 'ran')
    if 'failed' in data:
        seen += 1
        value = data['failed']
        if type(value) is not int:
            wrong(f'{at}.failed' if at else 'failed', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.failed' if at else 'failed', 'at least 0', value)
    if 'skipped' in data:
        seen += 1
        value = data['skipped']
        if type(value) is not int:
            wrong(f'{at}.skipped' if at else 'skipped', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.skipped' if at else 'skipped', 'at least 0', value)
    if 'base' in data:
        seen += 1
        value = data['base']
        if type(value) is not int:
            wrong(f'{at}.base' if at else 'base', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.base' if at else 'base', 'at least 0', value)
    if seen != len(data):
        unknown(data, at, ('ran', 'failed', 'skipped', 'base'))


def validate_run_final_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'list' in data:
        seen += 1
        value = data['list']
        if type(value) is not str:
            wrong(f'{at}.list' if at else 'list', 'a text', value)
        if not digest(value):
            wrong(f'{at}.list' if at else 'list', digest_wanted, value)
    else:
        missing(at, 'list')
    if 'tree' in data:
        seen += 1
        value = data['tree']
        if type(value) is not str:
            wrong(f'{at}.tree' if at else 'tree', 'a text', value)
        if not digest(value):
            wrong(f'{at}.tree' if at else 'tree', digest_wanted, value)
    else:
        missing(at, 'tree')
    if 'passed' in data:
        seen += 1
        value = data['passed']
        if type(value) is not bool:
            wrong(f'{at}.passed' if at else 'passed', 'true or false', value)
    else:
        missing(at, 'passed')
    if 'tasks' in data:
        seen += 1
        value = data['tasks']
        if type(value) is not list:
            wrong(f'{at}.tasks' if at else 'tasks', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.tasks' if at else 'tasks') + f'[{index}]', 'a text', item)
            if not worker(item):
                wrong((f'{at}.tasks' if at else 'tasks') + f'[{index}]', worker_wanted, item)
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) is not str:
            wrong(f'{at}.command' if at else 'command', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.command' if at else 'command', '1 to 4000 characters long', value)
    if 'cause' in data:
        seen += 1
        value = data['cause']
        if type(value) not in (str, type(None)) or value not in ('before', 'user'):
            wrong(f'{at}.cause' if at else 'cause', 'one of before, user', value)
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if seen != len(data):
        unknown(data, at, ('list', 'tree', 'passed', 'tasks', 'command', 'cause', 'at'))
