"""Written by `make generate` from schemas/v1.2.0/task.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, anything, array, choice, flag, number, record, text

VERSION = text(form='sow-version')
TASK_ID = text(form='sow-task-id')
DIGEST = text(form='sow-digest')
TIMESTAMP = text(form='sow-timestamp')
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'revision': (number(0, whole=True), 0),
    'task': (record({
        'id': (TASK_ID, REQUIRED),
        'name': (text(1, 200, form='sow-line'), REQUIRED),
        'status': (choice('pending', 'in_progress', 'needs_review', 'completed', 'paused', 'failed', 'abandoned'), 'pending'),
        'assigned_agent': (text(form='sow-agent'), REQUIRED),
        'iteration': (number(1, whole=True), 1),
        'priority': (choice('low', 'medium', 'high'), 'medium'),
        'depends_on': (array(TASK_ID, unique=True), []),
        'criteria': (array(text(1, 4000)), []),
        'references': (array(text(1, 1000, form='sow-line')), []),
        'context': (array(record({
            'path': (text(1, 1000, form='sow-line'), REQUIRED),
            'kind': (choice('sink', 'adr', 'knowledge', 'repo', 'upstream'), REQUIRED),
            'reason': (text(1, 1000, form='sow-line'), REQUIRED),
            'size': (number(0, whole=True), REQUIRED),
            'lines': (text(1, 40, form='sow-line'), OPTIONAL),
        })), OPTIONAL),
        'source': (record({
            'plan': (text(1, 1000, form='sow-line'), REQUIRED),
            'id': (text(1, 200, form='sow-line'), REQUIRED),
            'digest': (DIGEST, REQUIRED),
        }), OPTIONAL),
        'files': (array(text(1, 1000, form='sow-line')), OPTIONAL),
        'after': (array(TASK_ID, unique=True), OPTIONAL),
        'checks': (array(record({
            'kind': (choice('dependency', 'test', 'criterion', 'integration'), REQUIRED),
            'command': (text(1, 4000), REQUIRED),
            'expected': (text(1, 4000), OPTIONAL),
            'criterion': (text(1, 4000), OPTIONAL),
        })), OPTIONAL),
        'estimated_minutes': (number(0), OPTIONAL),
        'type': (choice('regular', 'component', 'integration'), OPTIONAL),
        'worktree_group': (text(1, 200, form='sow-line'), OPTIONAL),
        'session_id': (text(1, 200, form='sow-line'), OPTIONAL),
        'question': (record({
            'number': (number(1, whole=True), REQUIRED),
            'text': (text(1, 100000), REQUIRED),
            'asked_at': (TIMESTAMP, REQUIRED),
        }), OPTIONAL),
        'questions': (array(record({
            'number': (number(1, whole=True), REQUIRED),
            'text': (text(1, 100000), REQUIRED),
            'asked_at': (TIMESTAMP, REQUIRED),
            'answer': (text(1, 100000), REQUIRED),
            'answered_at': (TIMESTAMP, REQUIRED),
            'answered_by': (text(1, 200, form='sow-line'), REQUIRED),
        })), []),
        'approval': (record({
            'by': (text(1, 200, form='sow-line'), REQUIRED),
            'at': (TIMESTAMP, REQUIRED),
            'iteration': (number(1, whole=True), REQUIRED),
            'reason': (text(1, 2000), OPTIONAL),
        }), OPTIONAL),
        'abandoned_reason': (text(1, 2000), OPTIONAL),
        'failed_reason': (text(1, 2000), OPTIONAL),
        'created_at': (TIMESTAMP, REQUIRED),
        'updated_at': (TIMESTAMP, REQUIRED),
        'started_at': (TIMESTAMP, OPTIONAL),
        'completed_at': (TIMESTAMP, OPTIONAL),
        'work': (record({
            'iteration': (number(1, whole=True), REQUIRED),
            'base': (DIGEST, REQUIRED),
            'commit': (DIGEST, REQUIRED),
            'tree': (DIGEST, REQUIRED),
        }), OPTIONAL),
        'evidence': (array(record({
            'kind': (choice('dependency', 'test', 'criterion', 'integration', 'merge', 'final'), REQUIRED),
            'command': (text(1, 4000), REQUIRED),
            'exit': (number(whole=True, null=True), REQUIRED),
            'seconds': (number(0), REQUIRED),
            'output': (DIGEST, REQUIRED),
            'tree': (DIGEST, OPTIONAL),
            'at': (TIMESTAMP, REQUIRED),
            'iteration': (number(1, whole=True), REQUIRED),
            'passed': (flag, REQUIRED),
            'list': (DIGEST, OPTIONAL),
            'setup': (DIGEST, OPTIONAL),
            'environment': (DIGEST, OPTIONAL),
            'scope': (choice('commit', 'folder'), OPTIONAL),
            'host': (text(1, 200, form='sow-line'), OPTIONAL),
            'tests': (record({
                'ran': (number(0, whole=True), REQUIRED),
                'failed': (number(0, whole=True), OPTIONAL),
                'skipped': (number(0, whole=True), OPTIONAL),
                'base': (number(0, whole=True), OPTIONAL),
            }), OPTIONAL),
        })), OPTIONAL),
        'reviews': (array(record({
            'iteration': (number(1, whole=True), REQUIRED),
            'commit': (DIGEST, OPTIONAL),
            'verdict': (choice('GREEN', 'YELLOW', 'RED'), REQUIRED),
            'by': (text(1, 200, form='sow-line'), REQUIRED),
            'at': (TIMESTAMP, REQUIRED),
            'findings': (array(record({
                'id': (text(1, 64, form='sow-line'), REQUIRED),
                'severity': (choice('error', 'warning', 'note'), REQUIRED),
                'text': (text(1, 4000), REQUIRED),
                'rule': (text(1, 200, form='sow-line'), OPTIONAL),
                'file': (text(1, 1000, form='sow-line'), OPTIONAL),
                'symbol': (text(1, 200, form='sow-line'), OPTIONAL),
                'evidence': (text(1, 4000), OPTIONAL),
            })), REQUIRED),
        })), OPTIONAL),
        'result': (choice('GREEN', 'YELLOW', 'RED', 'TIMEOUT', 'FAILED'), OPTIONAL),
        'retry_count': (number(0, whole=True), OPTIONAL),
        'review_feedback': (text(0, 20000), OPTIONAL),
        'duration': (number(0), OPTIONAL),
        'protected': (array(text(1, 1000, form='sow-line')), OPTIONAL),
        'allow_empty': (flag, OPTIONAL),
        'refusals': (array(record({
            'iteration': (number(1, whole=True), REQUIRED),
            'tool': (text(1, 200, form='sow-line'), REQUIRED),
            'command': (text(1, 4000), OPTIONAL),
            'reason': (text(0, 2000), REQUIRED),
            'count': (number(1, whole=True), REQUIRED),
            'executor': (text(1, 200, form='sow-line'), OPTIONAL),
            'at': (TIMESTAMP, REQUIRED),
        })), OPTIONAL),
        'waivers': (array(record({
            'command': (text(1, 4000), REQUIRED),
            'by': (text(1, 200, form='sow-line'), REQUIRED),
            'reason': (text(1, 2000), OPTIONAL),
            'at': (TIMESTAMP, REQUIRED),
        })), OPTIONAL),
        'concerns': (array(record({
            'iteration': (number(1, whole=True), REQUIRED),
            'kind': (choice('no_changes', 'refused', 'protected', 'tests', 'environment'), REQUIRED),
            'text': (text(1, 2000, form='sow-line'), REQUIRED),
            'merged': (flag, OPTIONAL),
        })), OPTIONAL),
        'follows': (record({
            'task': (TASK_ID, OPTIONAL),
            'findings': (array(text(1, 400, form='sow-line')), REQUIRED),
            'head': (text(form='sow-digest'), OPTIONAL),
            'session': (text(1, 200, form='sow-line'), OPTIONAL),
            'worktree': (TASK_ID, OPTIONAL),
        }), OPTIONAL),
    }, ('status', ('completed',), {'completed_at': anything, 'approval': anything}), ('status', ('abandoned',), {'abandoned_reason': anything})), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
