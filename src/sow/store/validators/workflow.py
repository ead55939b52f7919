"""Written by `make generate` from schemas/v1.1.0/workflow.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

agent, agent_wanted = FORMATS['sow-agent']
digest, digest_wanted = FORMATS['sow-digest']
line, line_wanted = FORMATS['sow-line']
member, member_wanted = FORMATS['sow-member']
note_id, note_id_wanted = FORMATS['sow-note-id']
session_task, session_task_wanted = FORMATS['sow-session-task']
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
    if 'workflow' in data:
        seen += 1
        value = data['workflow']
        validate_workflow(value, f'{at}.workflow' if at else 'workflow')
    else:
        missing(at, 'workflow')
    if seen != len(data):
        unknown(data, at, ('schema_version', 'revision', 'workflow'))


def validate_workflow(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'id' in data:
        seen += 1
        value = data['id']
        if type(value) is not str:
            wrong(f'{at}.id' if at else 'id', 'a text', value)
        if not uuid4(value):
            wrong(f'{at}.id' if at else 'id', uuid4_wanted, value)
    else:
        missing(at, 'id')
    if 'name' in data:
        seen += 1
        value = data['name']
        if type(value) is not str:
            wrong(f'{at}.name' if at else 'name', 'a text', value)
        if not member(value):
            wrong(f'{at}.name' if at else 'name', member_wanted, value)
    else:
        missing(at, 'name')
    if 'task_id' in data:
        seen += 1
        value = data['task_id']
        if type(value) is not str:
            wrong(f'{at}.task_id' if at else 'task_id', 'a text', value)
        if not 1 <= len(value) <= 120:
            wrong(f'{at}.task_id' if at else 'task_id', '1 to 120 characters long', value)
        if not line(value):
            wrong(f'{at}.task_id' if at else 'task_id', line_wanted, value)
    else:
        missing(at, 'task_id')
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('pending', 'in_progress', 'blocked', 'completed', 'failed'):
            wrong(f'{at}.status' if at else 'status', 'one of pending, in_progress, blocked, completed, failed', value)
    else:
        missing(at, 'status')
    if 'branch' in data:
        seen += 1
        value = data['branch']
        if type(value) is not str:
            wrong(f'{at}.branch' if at else 'branch', 'a text', value)
        if not 0 <= len(value) <= 255:
            wrong(f'{at}.branch' if at else 'branch', '0 to 255 characters long', value)
        if not line(value):
            wrong(f'{at}.branch' if at else 'branch', line_wanted, value)
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
    if 'session_start' in data:
        seen += 1
        value = data['session_start']
        if type(value) is not str:
            wrong(f'{at}.session_start' if at else 'session_start', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.session_start' if at else 'session_start', timestamp_wanted, value)
    if 'plan_digest' in data:
        seen += 1
        value = data['plan_digest']
        if type(value) is not str:
            wrong(f'{at}.plan_digest' if at else 'plan_digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.plan_digest' if at else 'plan_digest', digest_wanted, value)
    if 'verified' in data:
        seen += 1
        value = data['verified']
        validate_workflow_verified(value, f'{at}.verified' if at else 'verified')
    if 'approval' in data:
        seen += 1
        value = data['approval']
        validate_workflow_approval(value, f'{at}.approval' if at else 'approval')
    if 'question_number' in data:
        seen += 1
        value = data['question_number']
        if type(value) is not int:
            wrong(f'{at}.question_number' if at else 'question_number', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.question_number' if at else 'question_number', 'at least 0', value)
    else:
        missing(at, 'question_number')
    if 'members' in data:
        seen += 1
        value = data['members']
        validate_workflow_members(value, f'{at}.members' if at else 'members')
    else:
        missing(at, 'members')
    if 'escalations' in data:
        seen += 1
        value = data['escalations']
        if type(value) is not list:
            wrong(f'{at}.escalations' if at else 'escalations', 'a list', value)
        for index, item in enumerate(value):
            validate_workflow_escalations_item(item, (f'{at}.escalations' if at else 'escalations') + f'[{index}]')
    else:
        missing(at, 'escalations')
    if 'answers' in data:
        seen += 1
        value = data['answers']
        if type(value) is not list:
            wrong(f'{at}.answers' if at else 'answers', 'a list', value)
        for index, item in enumerate(value):
            validate_workflow_answers_item(item, (f'{at}.answers' if at else 'answers') + f'[{index}]')
    if seen != len(data):
        unknown(data, at, ('id', 'name', 'task_id', 'status', 'branch', 'created_at', 'updated_at', 'session_start', 'plan_digest', 'verified', 'approval', 'question_number', 'members', 'escalations', 'answers'))


def validate_workflow_verified(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'digest' in data:
        seen += 1
        value = data['digest']
        if type(value) is not str:
            wrong(f'{at}.digest' if at else 'digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.digest' if at else 'digest', digest_wanted, value)
    else:
        missing(at, 'digest')
    if 'sections' in data:
        seen += 1
        value = data['sections']
        validate_workflow_verified_sections(value, f'{at}.sections' if at else 'sections')
    else:
        missing(at, 'sections')
    if 'passed' in data:
        seen += 1
        value = data['passed']
        if type(value) is not bool:
            wrong(f'{at}.passed' if at else 'passed', 'true or false', value)
    else:
        missing(at, 'passed')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
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
    if seen != len(data):
        unknown(data, at, ('digest', 'sections', 'passed', 'at', 'by'))


def validate_workflow_verified_sections(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if not member(key):
            wrong(at, member_wanted, key)
        if type(value) is not str:
            wrong(f'{at}.{key}', 'a text', value)
        if not digest(value):
            wrong(f'{at}.{key}', digest_wanted, value)


def validate_workflow_approval(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'digest' in data:
        seen += 1
        value = data['digest']
        if type(value) is not str:
            wrong(f'{at}.digest' if at else 'digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.digest' if at else 'digest', digest_wanted, value)
    else:
        missing(at, 'digest')
    if 'sections' in data:
        seen += 1
        value = data['sections']
        validate_workflow_approval_sections(value, f'{at}.sections' if at else 'sections')
    else:
        missing(at, 'sections')
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
    if 'how' in data:
        seen += 1
        value = data['how']
        if type(value) is not str:
            wrong(f'{at}.how' if at else 'how', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.how' if at else 'how', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.how' if at else 'how', line_wanted, value)
    else:
        missing(at, 'how')
    if seen != len(data):
        unknown(data, at, ('digest', 'sections', 'by', 'at', 'how'))


def validate_workflow_approval_sections(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if not member(key):
            wrong(at, member_wanted, key)
        if type(value) is not str:
            wrong(f'{at}.{key}', 'a text', value)
        if not digest(value):
            wrong(f'{at}.{key}', digest_wanted, value)


def validate_workflow_members(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if not member(key):
            wrong(at, member_wanted, key)
        validate_workflow_members_value(value, f'{at}.{key}')


def validate_workflow_members_value(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'status' in data:
        seen += 1
        value = data['status']
        if type(value) not in (str, type(None)) or value not in ('pending', 'working', 'completion_drive_review', 'ready_for_verification', 'verified', 'blocked', 'session_complete', 'failed'):
            wrong(f'{at}.status' if at else 'status', 'one of pending, working, completion_drive_review, ready_for_verification, verified, blocked, session_complete, failed', value)
    else:
        missing(at, 'status')
    if 'task_id' in data:
        seen += 1
        value = data['task_id']
        if type(value) is not str:
            wrong(f'{at}.task_id' if at else 'task_id', 'a text', value)
        if not 0 <= len(value) <= 120:
            wrong(f'{at}.task_id' if at else 'task_id', '0 to 120 characters long', value)
        if not session_task(value):
            wrong(f'{at}.task_id' if at else 'task_id', session_task_wanted, value)
    else:
        missing(at, 'task_id')
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('doer', 'solution_architect'):
            wrong(f'{at}.kind' if at else 'kind', 'one of doer, solution_architect', value)
    else:
        missing(at, 'kind')
    if 'agent' in data:
        seen += 1
        value = data['agent']
        if type(value) is not str:
            wrong(f'{at}.agent' if at else 'agent', 'a text', value)
        if not agent(value):
            wrong(f'{at}.agent' if at else 'agent', agent_wanted, value)
    else:
        missing(at, 'agent')
    if 'verifier' in data:
        seen += 1
        value = data['verifier']
        if type(value) is not str:
            wrong(f'{at}.verifier' if at else 'verifier', 'a text', value)
        if not member(value):
            wrong(f'{at}.verifier' if at else 'verifier', member_wanted, value)
    else:
        missing(at, 'verifier')
    if 'dependencies' in data:
        seen += 1
        value = data['dependencies']
        if type(value) is not list:
            wrong(f'{at}.dependencies' if at else 'dependencies', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.dependencies' if at else 'dependencies') + f'[{index}]', 'a text', item)
            if not member(item):
                wrong((f'{at}.dependencies' if at else 'dependencies') + f'[{index}]', member_wanted, item)
    else:
        missing(at, 'dependencies')
    if 'iteration' in data:
        seen += 1
        value = data['iteration']
        if type(value) is not int:
            wrong(f'{at}.iteration' if at else 'iteration', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.iteration' if at else 'iteration', 'at least 1', value)
    else:
        missing(at, 'iteration')
    if 'tries' in data:
        seen += 1
        value = data['tries']
        if type(value) is not int:
            wrong(f'{at}.tries' if at else 'tries', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.tries' if at else 'tries', 'at least 0', value)
    else:
        missing(at, 'tries')
    if 'rounds' in data:
        seen += 1
        value = data['rounds']
        if type(value) is not int:
            wrong(f'{at}.rounds' if at else 'rounds', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.rounds' if at else 'rounds', 'at least 0', value)
    else:
        missing(at, 'rounds')
    if 'verifier_tries' in data:
        seen += 1
        value = data['verifier_tries']
        if type(value) is not int:
            wrong(f'{at}.verifier_tries' if at else 'verifier_tries', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.verifier_tries' if at else 'verifier_tries', 'at least 0', value)
    if 'last_update' in data:
        seen += 1
        value = data['last_update']
        if type(value) not in (str, type(None)):
            wrong(f'{at}.last_update' if at else 'last_update', 'a text or null', value)
        if value is not None:
            if not timestamp(value):
                wrong(f'{at}.last_update' if at else 'last_update', timestamp_wanted, value)
    else:
        missing(at, 'last_update')
    if 'session_id' in data:
        seen += 1
        value = data['session_id']
        if type(value) is not str:
            wrong(f'{at}.session_id' if at else 'session_id', 'a text', value)
        if not 1 <= len(value) <= 200:
            wrong(f'{at}.session_id' if at else 'session_id', '1 to 200 characters long', value)
        if not line(value):
            wrong(f'{at}.session_id' if at else 'session_id', line_wanted, value)
    if 'session_start' in data:
        seen += 1
        value = data['session_start']
        if type(value) is not int:
            wrong(f'{at}.session_start' if at else 'session_start', 'a whole number', value)
        if value < 0:
            wrong(f'{at}.session_start' if at else 'session_start', 'at least 0', value)
    if 'outputs' in data:
        seen += 1
        value = data['outputs']
        if type(value) is not list:
            wrong(f'{at}.outputs' if at else 'outputs', 'a list', value)
        for index, item in enumerate(value):
            validate_workflow_members_value_outputs_item(item, (f'{at}.outputs' if at else 'outputs') + f'[{index}]')
    else:
        missing(at, 'outputs')
    if 'read' in data:
        seen += 1
        value = data['read']
        validate_workflow_members_value_read(value, f'{at}.read' if at else 'read')
    else:
        missing(at, 'read')
    if 'result' in data:
        seen += 1
        value = data['result']
        validate_workflow_members_value_result(value, f'{at}.result' if at else 'result')
    if 'question' in data:
        seen += 1
        value = data['question']
        validate_workflow_members_value_question(value, f'{at}.question' if at else 'question')
    if 'feedback' in data:
        seen += 1
        value = data['feedback']
        if type(value) is not str:
            wrong(f'{at}.feedback' if at else 'feedback', 'a text', value)
        if not 1 <= len(value) <= 100000:
            wrong(f'{at}.feedback' if at else 'feedback', '1 to 100000 characters long', value)
    if 'inferred' in data:
        seen += 1
        value = data['inferred']
        if type(value) is not bool:
            wrong(f'{at}.inferred' if at else 'inferred', 'true or false', value)
    if 'requested_by' in data:
        seen += 1
        value = data['requested_by']
        if type(value) is not list:
            wrong(f'{at}.requested_by' if at else 'requested_by', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.requested_by' if at else 'requested_by') + f'[{index}]', 'a text', item)
            if not member(item):
                wrong((f'{at}.requested_by' if at else 'requested_by') + f'[{index}]', member_wanted, item)
    if 'pending_answer' in data:
        seen += 1
        value = data['pending_answer']
        if type(value) is not str:
            wrong(f'{at}.pending_answer' if at else 'pending_answer', 'a text', value)
        if not 1 <= len(value) <= 100000:
            wrong(f'{at}.pending_answer' if at else 'pending_answer', '1 to 100000 characters long', value)
    if seen != len(data):
        unknown(data, at, ('status', 'task_id', 'kind', 'agent', 'verifier', 'dependencies', 'iteration', 'tries', 'rounds', 'verifier_tries', 'last_update', 'session_id', 'session_start', 'outputs', 'read', 'result', 'question', 'feedback', 'inferred', 'requested_by', 'pending_answer'))


def validate_workflow_members_value_outputs_item(data, at):
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
    if 'version' in data:
        seen += 1
        value = data['version']
        if type(value) is not int:
            wrong(f'{at}.version' if at else 'version', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.version' if at else 'version', 'at least 1', value)
    else:
        missing(at, 'version')
    if 'digest' in data:
        seen += 1
        value = data['digest']
        if type(value) is not str:
            wrong(f'{at}.digest' if at else 'digest', 'a text', value)
        if not digest(value):
            wrong(f'{at}.digest' if at else 'digest', digest_wanted, value)
    else:
        missing(at, 'digest')
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
        unknown(data, at, ('path', 'version', 'digest', 'at'))


def validate_workflow_members_value_read(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    for key, value in data.items():
        if type(key) is not str:
            wrong(at, "a mapping with names as keys", key)
        if type(value) is not int:
            wrong(f'{at}.{key}', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.{key}', 'at least 1', value)


def validate_workflow_members_value_result(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'result' in data:
        seen += 1
        value = data['result']
        if type(value) not in (str, type(None)) or value not in ('passed', 'failed'):
            wrong(f'{at}.result' if at else 'result', 'one of passed, failed', value)
    else:
        missing(at, 'result')
    if 'missing_evidence' in data:
        seen += 1
        value = data['missing_evidence']
        if type(value) is not list:
            wrong(f'{at}.missing_evidence' if at else 'missing_evidence', 'a list', value)
        for index, item in enumerate(value):
            if type(item) is not str:
                wrong((f'{at}.missing_evidence' if at else 'missing_evidence') + f'[{index}]', 'a text', item)
            if not 1 <= len(item) <= 20000:
                wrong((f'{at}.missing_evidence' if at else 'missing_evidence') + f'[{index}]', '1 to 20000 characters long', item)
    else:
        missing(at, 'missing_evidence')
    if 'findings' in data:
        seen += 1
        value = data['findings']
        if type(value) is not list:
            wrong(f'{at}.findings' if at else 'findings', 'a list', value)
        for index, item in enumerate(value):
            validate_workflow_members_value_result_findings_item(item, (f'{at}.findings' if at else 'findings') + f'[{index}]')
    else:
        missing(at, 'findings')
    if 'round' in data:
        seen += 1
        value = data['round']
        if type(value) is not int:
            wrong(f'{at}.round' if at else 'round', 'a whole number', value)
        if value < 1:
            wrong(f'{at}.round' if at else 'round', 'at least 1', value)
    else:
        missing(at, 'round')
    if 'verifier' in data:
        seen += 1
        value = data['verifier']
        if type(value) is not str:
            wrong(f'{at}.verifier' if at else 'verifier', 'a text', value)
        if not member(value):
            wrong(f'{at}.verifier' if at else 'verifier', member_wanted, value)
    else:
        missing(at, 'verifier')
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
        unknown(data, at, ('result', 'missing_evidence', 'findings', 'round', 'verifier', 'at'))


def validate_workflow_members_value_result_findings_item(data, at):
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


def validate_workflow_members_value_question(data, at):
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
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('user', 'failed', 'rounds', 'verifier', 'loop', 'approval'):
            wrong(f'{at}.kind' if at else 'kind', 'one of user, failed, rounds, verifier, loop, approval', value)
    else:
        missing(at, 'kind')
    if seen != len(data):
        unknown(data, at, ('number', 'text', 'asked_at', 'kind'))


def validate_workflow_escalations_item(data, at):
    if type(data) is not dict:
        return wrong(at, "a mapping", data)
    seen = 0
    if 'member' in data:
        seen += 1
        value = data['member']
        if type(value) is not str:
            wrong(f'{at}.member' if at else 'member', 'a text', value)
        if not member(value):
            wrong(f'{at}.member' if at else 'member', member_wanted, value)
    else:
        missing(at, 'member')
    if 'task_id' in data:
        seen += 1
        value = data['task_id']
        if type(value) is not str:
            wrong(f'{at}.task_id' if at else 'task_id', 'a text', value)
        if not 0 <= len(value) <= 120:
            wrong(f'{at}.task_id' if at else 'task_id', '0 to 120 characters long', value)
        if not session_task(value):
            wrong(f'{at}.task_id' if at else 'task_id', session_task_wanted, value)
    else:
        missing(at, 'task_id')
    if 'note_id' in data:
        seen += 1
        value = data['note_id']
        if type(value) is not str:
            wrong(f'{at}.note_id' if at else 'note_id', 'a text', value)
        if not note_id(value):
            wrong(f'{at}.note_id' if at else 'note_id', note_id_wanted, value)
    else:
        missing(at, 'note_id')
    if 'description' in data:
        seen += 1
        value = data['description']
        if type(value) is not str:
            wrong(f'{at}.description' if at else 'description', 'a text', value)
        if not 1 <= len(value) <= 20000:
            wrong(f'{at}.description' if at else 'description', '1 to 20000 characters long', value)
    else:
        missing(at, 'description')
    if 'at' in data:
        seen += 1
        value = data['at']
        if type(value) is not str:
            wrong(f'{at}.at' if at else 'at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.at' if at else 'at', timestamp_wanted, value)
    else:
        missing(at, 'at')
    if 'route' in data:
        seen += 1
        value = data['route']
        if type(value) not in (str, type(None)) or value not in ('user', 'solution_architect', 'answer', 'loop'):
            wrong(f'{at}.route' if at else 'route', 'one of user, solution_architect, answer, loop', value)
    if 'question' in data:
        seen += 1
        value = data['question']
        if type(value) is not str:
            wrong(f'{at}.question' if at else 'question', 'a text', value)
        if not 1 <= len(value) <= 100000:
            wrong(f'{at}.question' if at else 'question', '1 to 100000 characters long', value)
    if 'resolution' in data:
        seen += 1
        value = data['resolution']
        if type(value) is not str:
            wrong(f'{at}.resolution' if at else 'resolution', 'a text', value)
        if not 1 <= len(value) <= 100000:
            wrong(f'{at}.resolution' if at else 'resolution', '1 to 100000 characters long', value)
    if 'resolved_at' in data:
        seen += 1
        value = data['resolved_at']
        if type(value) is not str:
            wrong(f'{at}.resolved_at' if at else 'resolved_at', 'a text', value)
        if not timestamp(value):
            wrong(f'{at}.resolved_at' if at else 'resolved_at', timestamp_wanted, value)
    if seen != len(data):
        unknown(data, at, ('member', 'task_id', 'note_id', 'description', 'at', 'route', 'question', 'resolution', 'resolved_at'))


def validate_workflow_answers_item(data, at):
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
    if 'member' in data:
        seen += 1
        value = data['member']
        if type(value) is not str:
            wrong(f'{at}.member' if at else 'member', 'a text', value)
        if not member(value):
            wrong(f'{at}.member' if at else 'member', member_wanted, value)
    else:
        missing(at, 'member')
    if 'kind' in data:
        seen += 1
        value = data['kind']
        if type(value) not in (str, type(None)) or value not in ('user', 'failed', 'rounds', 'verifier', 'loop', 'approval'):
            wrong(f'{at}.kind' if at else 'kind', 'one of user, failed, rounds, verifier, loop, approval', value)
    else:
        missing(at, 'kind')
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
        unknown(data, at, ('number', 'member', 'kind', 'text', 'asked_at', 'answer', 'answered_at', 'answered_by'))
