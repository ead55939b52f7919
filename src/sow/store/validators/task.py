"""Written by `make generate` from schemas/v1.1.0/task.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

agent, agent_wanted = FORMATS['sow-agent']
digest, digest_wanted = FORMATS['sow-digest']
line, line_wanted = FORMATS['sow-line']
task_id, task_id_wanted = FORMATS['sow-task-id']
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
    if 'task' in data:
        seen += 1
        value = data['task']
        validate_task(value, f'{at}.task' if at else 'task')
    else:
        missing(at, 'task')
    if seen != len(data):
        unknown(data, at, ('schema_version', 'revision', 'task'))


def validate_task(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'id' in data:
        seen += 1
        value = data['id']
        if type(value) is not str:
            wrong(f'{at}.id' if at else 'id', 'a text', value)
        if not task_id(value):
            wrong(f'{at}.id' if at else 'id', task_id_wanted, value)
    else:
        missing(at, 'id')
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
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('pending', 'in_progress', 'needs_review', 'completed', 'paused', 'failed', 'abandoned'):
            wrong(f'{at}.status' if at else 'status', 'one of pending, in_progress, needs_review, completed, paused, failed, abandoned', value)
    else:
        seen += 1
        data['status'] = 'pending'
    if 'assigned_agent' in data:
        seen += 1
        value = data['assigned_agent']
        if type(value) is not str:
            wrong(f'{at}.assigned_agent' if at else 'assigned_agent', 'a text', value)
        if not agent(value):
            wrong(f'{at}.assigned_agent' if at else 'assigned_agent', agent_wanted, value)
    else:
        missing(at, 'assigned_agent')
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        seen += 1
        data['iteration'] = 1
    if 'priority' in data:
        seen += 1
        value = data['priority']
        if type(value) not in (str, type(None)) or value not in ('low', 'medium', 'high'):
            wrong(f'{at}.priority' if at else 'priority', 'one of low, medium, high', value)
    else:
        seen += 1
        data['priority'] = 'medium'
    if 'depends_on' in data:
        seen += 1
        value = data['depends_on']
        if type(value) is not list:
            wrong(f'{at}.depends_on' if at else 'depends_on', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.depends_on' if at else 'depends_on') + f'[{index}]', 'a text', item)
            if not task_id(item):
                wrong((f'{at}.depends_on' if at else 'depends_on') + f'[{index}]', task_id_wanted, item)
        if len(set(value)) != len(value):
            wrong(f'{at}.depends_on' if at else 'depends_on', 'a list without repeats', value)
    else:
        seen += 1
        data['depends_on'] = []
    if 'criteria' in data:
        seen += 1
        value = data['criteria']
        if type(value) is not list:
            wrong(f'{at}.criteria' if at else 'criteria', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.criteria' if at else 'criteria') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 4000:
                wrong((f'{at}.criteria' if at else 'criteria') + f'[{index}]', '1 to 4000 characters long', item)
    else:
        seen += 1
        data['criteria'] = []
    if 'references' in data:
        seen += 1
        value = data['references']
        if type(value) is not list:
            wrong(f'{at}.references' if at else 'references', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.references' if at else 'references') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.references' if at else 'references') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.references' if at else 'references') + f'[{index}]', line_wanted, item)
    else:
        seen += 1
        data['references'] = []
    if 'context' in data:
        seen += 1
        value = data['context']
        if type(value) is not list:
            wrong(f'{at}.context' if at else 'context', 'a list', value)
        for index, item in enumerate(value):
            validate_task_context_item(item, (f'{at}.context' if at else 'context') + f'[{index}]')
    if 'source' in data:
        seen += 1
        value = data['source']
        validate_task_source(value, f'{at}.source' if at else 'source')
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
    if 'after' in data:
        seen += 1
        value = data['after']
        if type(value) is not list:
            wrong(f'{at}.after' if at else 'after', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.after' if at else 'after') + f'[{index}]', 'a text', item)
            if not task_id(item):
                wrong((f'{at}.after' if at else 'after') + f'[{index}]', task_id_wanted, item)
        if len(set(value)) != len(value):
            wrong(f'{at}.after' if at else 'after', 'a list without repeats', value)
    if 'checks' in data:
        seen += 1
        value = data['checks']
        if type(value) is not list:
            wrong(f'{at}.checks' if at else 'checks', 'a list', value)
        for index, item in enumerate(value):
            validate_task_checks_item(item, (f'{at}.checks' if at else 'checks') + f'[{index}]')
    if 'estimated_minutes' in data:
        seen += 1
        value = data['estimated_minutes']
        if type(value) not in (int, float):
            wrong(f'{at}.estimated_minutes' if at else 'estimated_minutes', 'a number', value)
        if value < 0:
            wrong(f'{at}.estimated_minutes' if at else 'estimated_minutes', 'at least 0', value)
    if 'type' in data:
        seen += 1
        value = data['type']
        if type(value) not in (str, type(None)) or value not in ('regular', 'component', 'integration'):
            wrong(f'{at}.type' if at else 'type', 'one of regular, component, integration', value)
    if 'worktree_group' in data:
        seen += 1
        value = data['worktree_group']
        if type(value) is not str:
            wrong(f'{at}.worktree_group' if at else 'worktree_group', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.worktree_group' if at else 'worktree_group', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.worktree_group' if at else 'worktree_group', line_wanted, value)
    if 'session_id' in data:
        seen += 1
        value = data['session_id']
        if type(value) is not str:
            wrong(f'{at}.session_id' if at else 'session_id', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.session_id' if at else 'session_id', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.session_id' if at else 'session_id', line_wanted, value)
    if 'question' in data:
        seen += 1
        value = data['question']
        validate_task_question(value, f'{at}.question' if at else 'question')
    if 'questions' in data:
        seen += 1
        value = data['questions']
        if type(value) is not list:
            wrong(f'{at}.questions' if at else 'questions', 'a list', value)
        for index, item in enumerate(value):
            validate_task_questions_item(item, (f'{at}.questions' if at else 'questions') + f'[{index}]')
    else:
        seen += 1
        data['questions'] = []
    if 'approval' in data:
        seen += 1
        value = data['approval']
        validate_task_approval(value, f'{at}.approval' if at else 'approval')
    if 'abandoned_reason' in data:
        seen += 1
        value = data['abandoned_reason']
        if type(value) is not str:
            wrong(f'{at}.abandoned_reason' if at else 'abandoned_reason', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.abandoned_reason' if at else 'abandoned_reason', '1 to 2000 characters long', value)
    if 'failed_reason' in data:
        seen += 1
        value = data['failed_reason']
        if type(value) is not str:
            wrong(f'{at}.failed_reason' if at else 'failed_reason', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.failed_reason' if at else 'failed_reason', '1 to 2000 characters long', value)
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
    if 'started_at' in data:
        seen += 1
        value = data['started_at']
        if type(value) is not str:
            wrong(f'{at}.started_at' if at else 'started_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.started_at' if at else 'started_at', timestamp_wanted, value)
    if 'completed_at' in data:
        seen += 1
        value = data['completed_at']
        if type(value) is not str:
            wrong(f'{at}.completed_at' if at else 'completed_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.completed_at' if at else 'completed_at', timestamp_wanted, value)
    if 'work' in data:
        seen += 1
        value = data['work']
        validate_task_work(value, f'{at}.work' if at else 'work')
    if 'evidence' in data:
        seen += 1
        value = data['evidence']
        if type(value) is not list:
            wrong(f'{at}.evidence' if at else 'evidence', 'a list', value)
        for index, item in enumerate(value):
            validate_task_evidence_item(item, (f'{at}.evidence' if at else 'evidence') + f'[{index}]')
    if 'reviews' in data:
        seen += 1
        value = data['reviews']
        if type(value) is not list:
            wrong(f'{at}.reviews' if at else 'reviews', 'a list', value)
        for index, item in enumerate(value):
            validate_task_reviews_item(item, (f'{at}.reviews' if at else 'reviews') + f'[{index}]')
    if 'result' in data:
        seen += 1
        value = data['result']
        if type(value) not in (str, type(None)) or value not in ('GREEN', 'YELLOW', 'RED', 'TIMEOUT', 'FAILED'):
            wrong(f'{at}.result' if at else 'result', 'one of GREEN, YELLOW, RED, TIMEOUT, FAILED', value)
    if 'retry_count' in data:
        seen += 1
        value = data['retry_count']
        if type(value) is not int:
            wrong(f'{at}.retry_count' if at else 'retry_count', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.retry_count' if at else 'retry_count', 'at least 0', value)
    if 'review_feedback' in data:
        seen += 1
        value = data['review_feedback']
        if type(value) is not str:
            wrong(f'{at}.review_feedback' if at else 'review_feedback', 'a text', value)
        if not 0 <= len(value) <= 20000:
            wrong(f'{at}.review_feedback' if at else 'review_feedback', '0 to 20000 characters long', value)
    if 'duration' in data:
        seen += 1
        value = data['duration']
        if type(value) not in (int, float):
            wrong(f'{at}.duration' if at else 'duration', 'a number', value)
        if value < 0:
            wrong(f'{at}.duration' if at else 'duration', 'at least 0', value)
    if 'protected' in data:
        seen += 1
        value = data['protected']
        if type(value) is not list:
            wrong(f'{at}.protected' if at else 'protected', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.protected' if at else 'protected') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 1000:
                wrong((f'{at}.protected' if at else 'protected') + f'[{index}]', '1 to 1000 characters long', item)
            if not line(item):
                wrong((f'{at}.protected' if at else 'protected') + f'[{index}]', line_wanted, item)
    if 'allow_empty' in data:
        seen += 1
        value = data['allow_empty']
        if type(value) is not bool:
            wrong(f'{at}.allow_empty' if at else 'allow_empty', 'true or false', value)
    if 'refusals' in data:
        seen += 1
        value = data['refusals']
        if type(value) is not list:
            wrong(f'{at}.refusals' if at else 'refusals', 'a list', value)
        for index, item in enumerate(value):
            validate_task_refusals_item(item, (f'{at}.refusals' if at else 'refusals') + f'[{index}]')
    if 'waivers' in data:
        seen += 1
        value = data['waivers']
        if type(value) is not list:
            wrong(f'{at}.waivers' if at else 'waivers', 'a list', value)
        for index, item in enumerate(value):
            validate_task_waivers_item(item, (f'{at}.waivers' if at else 'waivers') + f'[{index}]')
    if 'concerns' in data:
        seen += 1
        value = data['concerns']
        if type(value) is not list:
            wrong(f'{at}.concerns' if at else 'concerns', 'a list', value)
        for index, item in enumerate(value):
            validate_task_concerns_item(item, (f'{at}.concerns' if at else 'concerns') + f'[{index}]')
    if seen != len(data):
        unknown(data, at, ('id', 'name', 'status', 'assigned_agent', 'iteration', 'priority', 'depends_on', 'criteria', 'references', 'context', 'source', 'files', 'after', 'checks', 'estimated_minutes', 'type', 'worktree_group', 'session_id', 'question', 'questions', 'approval', 'abandoned_reason', 'failed_reason', 'created_at', 'updated_at', 'started_at', 'completed_at', 'work', 'evidence', 'reviews', 'result', 'retry_count', 'review_feedback', 'duration', 'protected', 'allow_empty', 'refusals', 'waivers', 'concerns'))
    if data.get('status') in ('completed',):
        if 'completed_at' not in data:
            missing(at, 'completed_at')
        if 'approval' not in data:
            missing(at, 'approval')
    if data.get('status') in ('abandoned',):
        if 'abandoned_reason' not in data:
            missing(at, 'abandoned_reason')


def validate_task_context_item(data, at):
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
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('sink', 'adr', 'knowledge', 'repo', 'upstream'):
            wrong(f'{at}.kind' if at else 'kind', 'one of sink, adr, knowledge, repo, upstream', value)
    else:
        missing(at, 'kind')
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) is not str:
            wrong(f'{at}.reason' if at else 'reason', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.reason' if at else 'reason', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.reason' if at else 'reason', line_wanted, value)
    else:
        missing(at, 'reason')
    if 'size' in data:
        seen += 1
        value = data['size']
        if type(value) is not int:
            wrong(f'{at}.size' if at else 'size', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.size' if at else 'size', 'at least 0', value)
    else:
        missing(at, 'size')
    if 'lines' in data:
        seen += 1
        value = data['lines']
        if type(value) is not str:
            wrong(f'{at}.lines' if at else 'lines', 'a text', value)
        if not 1 <= len(value) <= 40:
            wrong(f'{at}.lines' if at else 'lines', '1 to 40 characters long', value)
        if not line(value):
            wrong(f'{at}.lines' if at else 'lines', line_wanted, value)
    if seen != len(data):
        unknown(data, at, ('path', 'kind', 'reason', 'size', 'lines'))


def validate_task_source(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'plan' in data:
        seen += 1
        value = data['plan']
        if type(value) is not str:
            wrong(f'{at}.plan' if at else 'plan', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.plan' if at else 'plan', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.plan' if at else 'plan', line_wanted, value)
    else:
        missing(at, 'plan')
    if 'id' in data:
        seen += 1
        value = data['id']
        if type(value) is not str:
            wrong(f'{at}.id' if at else 'id', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.id' if at else 'id', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.id' if at else 'id', line_wanted, value)
    else:
        missing(at, 'id')
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
        unknown(data, at, ('plan', 'id', 'digest'))


def validate_task_checks_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('dependency', 'test', 'criterion', 'integration'):
            wrong(f'{at}.kind' if at else 'kind', 'one of dependency, test, criterion, integration', value)
    else:
        missing(at, 'kind')
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) is not str:
            wrong(f'{at}.command' if at else 'command', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.command' if at else 'command', '1 to 4000 characters long', value)
    else:
        missing(at, 'command')
    if 'expected' in data:
        seen += 1
        value = data['expected']
        if type(value) is not str:
            wrong(f'{at}.expected' if at else 'expected', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.expected' if at else 'expected', '1 to 4000 characters long', value)
    if 'criterion' in data:
        seen += 1
        value = data['criterion']
        if type(value) is not str:
            wrong(f'{at}.criterion' if at else 'criterion', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.criterion' if at else 'criterion', '1 to 4000 characters long', value)
    if seen != len(data):
        unknown(data, at, ('kind', 'command', 'expected', 'criterion'))


def validate_task_question(data, at):
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
    if 'text' in data:
        seen += 1
        value = data['text']
        if type(value) is not str:
            wrong(f'{at}.text' if at else 'text', 'a text', value)
        if not 1 <= len(value) <= 100000:
            wrong(f'{at}.text' if at else 'text', '1 to 100000 characters long', value)
    else:
        missing(at, 'text')
    if 'asked_at' in data:
        seen += 1
        value = data['asked_at']
        if type(value) is not str:
            wrong(f'{at}.asked_at' if at else 'asked_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.asked_at' if at else 'asked_at', timestamp_wanted, value)
    else:
        missing(at, 'asked_at')
    if seen != len(data):
        unknown(data, at, ('number', 'text', 'asked_at'))


def validate_task_questions_item(data, at):
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
    if 'text' in data:
        seen += 1
        value = data['text']
        if type(value) is not str:
            wrong(f'{at}.text' if at else 'text', 'a text', value)
        if not 1 <= len(value) <= 100000:
            wrong(f'{at}.text' if at else 'text', '1 to 100000 characters long', value)
    else:
        missing(at, 'text')
    if 'asked_at' in data:
        seen += 1
        value = data['asked_at']
        if type(value) is not str:
            wrong(f'{at}.asked_at' if at else 'asked_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.asked_at' if at else 'asked_at', timestamp_wanted, value)
    else:
        missing(at, 'asked_at')
    if 'answer' in data:
        seen += 1
        value = data['answer']
        if type(value) is not str:
            wrong(f'{at}.answer' if at else 'answer', 'a text', value)
        if not 1 <= len(value) <= 100000:
            wrong(f'{at}.answer' if at else 'answer', '1 to 100000 characters long', value)
    else:
        missing(at, 'answer')
    if 'answered_at' in data:
        seen += 1
        value = data['answered_at']
        if type(value) is not str:
            wrong(f'{at}.answered_at' if at else 'answered_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.answered_at' if at else 'answered_at', timestamp_wanted, value)
    else:
        missing(at, 'answered_at')
    if 'answered_by' in data:
        seen += 1
        value = data['answered_by']
        if type(value) is not str:
            wrong(f'{at}.answered_by' if at else 'answered_by', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.answered_by' if at else 'answered_by', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.answered_by' if at else 'answered_by', line_wanted, value)
    else:
        missing(at, 'answered_by')
    if seen != len(data):
        unknown(data, at, ('number', 'text', 'asked_at', 'answer', 'answered_at', 'answered_by'))


def validate_task_approval(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'by' in data:
        seen += 1
        value = data['by']
        if type(value) is not str:
            wrong(f'{at}.by' if at else 'by', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.by' if at else 'by', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.by' if at else 'by', line_wanted, value)
    else:
        missing(at, 'by')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) is not str:
            wrong(f'{at}.reason' if at else 'reason', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.reason' if at else 'reason', '1 to 2000 characters long', value)
    if seen != len(data):
        unknown(data, at, ('by', 'at', 'iteration', 'reason'))


def validate_task_work(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'base' in data:
        seen += 1
        value = data['base']
        if type(value) is not str:
            wrong(f'{at}.base' if at else 'base', 'a text', value)
        if not digest(value):
            wrong(f'{at}.base' if at else 'base', digest_wanted, value)
    else:
        missing(at, 'base')
    if 'commit' in data:
        seen += 1
        value = data['commit']
        if type(value) is not str:
            wrong(f'{at}.commit' if at else 'commit', 'a text', value)
        if not digest(value):
            wrong(f'{at}.commit' if at else 'commit', digest_wanted, value)
    else:
        missing(at, 'commit')
    if 'tree' in data:
        seen += 1
        value = data['tree']
        if type(value) is not str:
            wrong(f'{at}.tree' if at else 'tree', 'a text', value)
        if not digest(value):
            wrong(f'{at}.tree' if at else 'tree', digest_wanted, value)
    else:
        missing(at, 'tree')
    if seen != len(data):
        unknown(data, at, ('iteration', 'base', 'commit', 'tree'))


def validate_task_evidence_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('dependency', 'test', 'criterion', 'integration', 'merge', 'final'):
            wrong(f'{at}.kind' if at else 'kind', 'one of dependency, test, criterion, integration, merge, final', value)
    else:
        missing(at, 'kind')
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) is not str:
            wrong(f'{at}.command' if at else 'command', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.command' if at else 'command', '1 to 4000 characters long', value)
    else:
        missing(at, 'command')
    if 'exit' in data:
        seen += 1
        value = data['exit']
        if type(value) not in (int, type(None)):
            wrong(f'{at}.exit' if at else 'exit', 'a whole number or null', value)
        if value is not None:
            pass
    else:
        missing(at, 'exit')
    if 'seconds' in data:
        seen += 1
        value = data['seconds']
        if type(value) not in (int, float):
            wrong(f'{at}.seconds' if at else 'seconds', 'a number', value)
        if value < 0:
            wrong(f'{at}.seconds' if at else 'seconds', 'at least 0', value)
    else:
        missing(at, 'seconds')
    if 'output' in data:
        seen += 1
        value = data['output']
        if type(value) is not str:
            wrong(f'{at}.output' if at else 'output', 'a text', value)
        if not digest(value):
            wrong(f'{at}.output' if at else 'output', digest_wanted, value)
    else:
        missing(at, 'output')
    if 'tree' in data:
        seen += 1
        value = data['tree']
        if type(value) is not str:
            wrong(f'{at}.tree' if at else 'tree', 'a text', value)
        if not digest(value):
            wrong(f'{at}.tree' if at else 'tree', digest_wanted, value)
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'passed' in data:
        seen += 1
        value = data['passed']
        if type(value) is not bool:
            wrong(f'{at}.passed' if at else 'passed', 'true or false', value)
    else:
        missing(at, 'passed')
    if 'list' in data:
        seen += 1
        value = data['list']
        if type(value) is not str:
            wrong(f'{at}.list' if at else 'list', 'a text', value)
        if not digest(value):
            wrong(f'{at}.list' if at else 'list', digest_wanted, value)
    if 'setup' in data:
        seen += 1
        value = data['setup']
        if type(value) is not str:
            wrong(f'{at}.setup' if at else 'setup', 'a text', value)
        if not digest(value):
            wrong(f'{at}.setup' if at else 'setup', digest_wanted, value)
    if 'environment' in data:
        seen += 1
        value = data['environment']
        if type(value) is not str:
            wrong(f'{at}.environment' if at else 'environment', 'a text', value)
        if not digest(value):
            wrong(f'{at}.environment' if at else 'environment', digest_wanted, value)
    if 'scope' in data:
        seen += 1
        value = data['scope']
        if type(value) not in (str, type(None)) or value not in ('commit', 'folder'):
            wrong(f'{at}.scope' if at else 'scope', 'one of commit, folder', value)
    if 'tests' in data:
        seen += 1
        value = data['tests']
        validate_task_evidence_item_tests(value, f'{at}.tests' if at else 'tests')
    if seen != len(data):
        unknown(data, at, ('kind', 'command', 'exit', 'seconds', 'output', 'tree', 'at', 'iteration', 'passed', 'list', 'setup', 'environment', 'scope', 'tests'))


def validate_task_evidence_item_tests(data, at):
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


def validate_task_reviews_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'commit' in data:
        seen += 1
        value = data['commit']
        if type(value) is not str:
            wrong(f'{at}.commit' if at else 'commit', 'a text', value)
        if not digest(value):
            wrong(f'{at}.commit' if at else 'commit', digest_wanted, value)
    if 'verdict' in data:
        seen += 1
        value = data['verdict']
        if type(value) not in (str, type(None)) or value not in ('GREEN', 'YELLOW', 'RED'):
            wrong(f'{at}.verdict' if at else 'verdict', 'one of GREEN, YELLOW, RED', value)
    else:
        missing(at, 'verdict')
    if 'by' in data:
        seen += 1
        value = data['by']
        if type(value) is not str:
            wrong(f'{at}.by' if at else 'by', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.by' if at else 'by', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.by' if at else 'by', line_wanted, value)
    else:
        missing(at, 'by')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if 'findings' in data:
        seen += 1
        value = data['findings']
        if type(value) is not list:
            wrong(f'{at}.findings' if at else 'findings', 'a list', value)
        for index, item in enumerate(value):
            validate_task_reviews_item_findings_item(item, (f'{at}.findings' if at else 'findings') + f'[{index}]')
    else:
        missing(at, 'findings')
    if seen != len(data):
        unknown(data, at, ('iteration', 'commit', 'verdict', 'by', 'at', 'findings'))


def validate_task_reviews_item_findings_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'id' in data:
        seen += 1
        value = data['id']
        if type(value) is not str:
            wrong(f'{at}.id' if at else 'id', 'a text', value)
        if not 1 <= len(value) <= 64:
            wrong(f'{at}.id' if at else 'id', '1 to 64 characters long', value)
        if not line(value):
            wrong(f'{at}.id' if at else 'id', line_wanted, value)
    else:
        missing(at, 'id')
    if 'severity' in data:
        seen += 1
        value = data['severity']
        if type(value) not in (str, type(None)) or value not in ('error', 'warning', 'note'):
            wrong(f'{at}.severity' if at else 'severity', 'one of error, warning, note', value)
    else:
        missing(at, 'severity')
    if 'text' in data:
        seen += 1
        value = data['text']
        if type(value) is not str:
            wrong(f'{at}.text' if at else 'text', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.text' if at else 'text', '1 to 4000 characters long', value)
    else:
        missing(at, 'text')
    if 'rule' in data:
        seen += 1
        value = data['rule']
        if type(value) is not str:
            wrong(f'{at}.rule' if at else 'rule', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.rule' if at else 'rule', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.rule' if at else 'rule', line_wanted, value)
    if 'file' in data:
        seen += 1
        value = data['file']
        if type(value) is not str:
            wrong(f'{at}.file' if at else 'file', 'a text', value)
        if not 1 <= len(value) <= 1000:
            wrong(f'{at}.file' if at else 'file', '1 to 1000 characters long', value)
        if not line(value):
            wrong(f'{at}.file' if at else 'file', line_wanted, value)
    if 'symbol' in data:
        seen += 1
        value = data['symbol']
        if type(value) is not str:
            wrong(f'{at}.symbol' if at else 'symbol', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.symbol' if at else 'symbol', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.symbol' if at else 'symbol', line_wanted, value)
    if 'evidence' in data:
        seen += 1
        value = data['evidence']
        if type(value) is not str:
            wrong(f'{at}.evidence' if at else 'evidence', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.evidence' if at else 'evidence', '1 to 4000 characters long', value)
    if seen != len(data):
        unknown(data, at, ('id', 'severity', 'text', 'rule', 'file', 'symbol', 'evidence'))


def validate_task_refusals_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'tool' in data:
        seen += 1
        value = data['tool']
        if type(value) is not str:
            wrong(f'{at}.tool' if at else 'tool', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.tool' if at else 'tool', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.tool' if at else 'tool', line_wanted, value)
    else:
        missing(at, 'tool')
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) is not str:
            wrong(f'{at}.command' if at else 'command', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.command' if at else 'command', '1 to 4000 characters long', value)
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) is not str:
            wrong(f'{at}.reason' if at else 'reason', 'a text', value)
        if not 0 <= len(value) <= 2000:
            wrong(f'{at}.reason' if at else 'reason', '0 to 2000 characters long', value)
    else:
        missing(at, 'reason')
    if 'count' in data:
        seen += 1
        value = data['count']
        if type(value) is not int:
            wrong(f'{at}.count' if at else 'count', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.count' if at else 'count', 'at least 1', value)
    else:
        missing(at, 'count')
    if 'executor' in data:
        seen += 1
        value = data['executor']
        if type(value) is not str:
            wrong(f'{at}.executor' if at else 'executor', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.executor' if at else 'executor', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.executor' if at else 'executor', line_wanted, value)
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
        unknown(data, at, ('iteration', 'tool', 'command', 'reason', 'count', 'executor', 'at'))


def validate_task_waivers_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'command' in data:
        seen += 1
        value = data['command']
        if type(value) is not str:
            wrong(f'{at}.command' if at else 'command', 'a text', value)
        if not 1 <= len(value) <= 4000:
            wrong(f'{at}.command' if at else 'command', '1 to 4000 characters long', value)
    else:
        missing(at, 'command')
    if 'by' in data:
        seen += 1
        value = data['by']
        if type(value) is not str:
            wrong(f'{at}.by' if at else 'by', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.by' if at else 'by', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.by' if at else 'by', line_wanted, value)
    else:
        missing(at, 'by')
    if 'reason' in data:
        seen += 1
        value = data['reason']
        if type(value) is not str:
            wrong(f'{at}.reason' if at else 'reason', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.reason' if at else 'reason', '1 to 2000 characters long', value)
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
        unknown(data, at, ('command', 'by', 'reason', 'at'))


def validate_task_concerns_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('no_changes', 'refused', 'protected', 'tests', 'environment'):
            wrong(f'{at}.kind' if at else 'kind', 'one of no_changes, refused, protected, tests, environment', value)
    else:
        missing(at, 'kind')
    if 'text' in data:
        seen += 1
        value = data['text']
        if type(value) is not str:
            wrong(f'{at}.text' if at else 'text', 'a text', value)
        if not 1 <= len(value) <= 2000:
            wrong(f'{at}.text' if at else 'text', '1 to 2000 characters long', value)
        if not line(value):
            wrong(f'{at}.text' if at else 'text', line_wanted, value)
    else:
        missing(at, 'text')
    if 'merged' in data:
        seen += 1
        value = data['merged']
        if type(value) is not bool:
            wrong(f'{at}.merged' if at else 'merged', 'true or false', value)
    if seen != len(data):
        unknown(data, at, ('iteration', 'kind', 'text', 'merged'))
