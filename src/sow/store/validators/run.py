"""Written by `make generate` from schemas/v1.2.0/run.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, flag, number, record, text

VERSION = text(form='sow-version')
TIMESTAMP = text(form='sow-timestamp')
WORKER = text(form='sow-worker')
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'revision': (number(0, whole=True), 0),
    'run': (record({
        'id': (text(1, 40, form='sow-line'), REQUIRED),
        'project_id': (text(form='sow-uuid4'), REQUIRED),
        'name': (text(1, 200, form='sow-line'), REQUIRED),
        'branch': (text(1, 255, form='sow-line'), REQUIRED),
        'base': (text(form='sow-digest'), REQUIRED),
        'status': (choice('running', 'waiting', 'stopped', 'ended'), REQUIRED),
        'started_at': (TIMESTAMP, REQUIRED),
        'ended_at': (TIMESTAMP, OPTIONAL),
        'exit': (number(0, whole=True), OPTIONAL),
        'plans': (array(record({
            'path': (text(1, 1000, form='sow-line'), REQUIRED),
            'digest': (text(form='sow-digest'), REQUIRED),
        })), REQUIRED),
        'tasks': (array(WORKER), REQUIRED),
        'settings': (record({
            'max_concurrency': (number(1, whole=True), REQUIRED),
            'schedule': (choice('ready', 'waves'), REQUIRED),
            'isolation': (choice('worktree', 'none'), REQUIRED),
            'review': (choice('on', 'off'), REQUIRED),
            'retries': (number(0, whole=True), REQUIRED),
            'executor': (text(1, 64, form='sow-line'), OPTIONAL),
            'agent': (text(1, 64, form='sow-line'), OPTIONAL),
            'timeout': (number(0), OPTIONAL),
            'max_cost': (number(0), OPTIONAL),
            'max_wait': (number(0), OPTIONAL),
            'final_checks': (choice('on', 'off'), OPTIONAL),
            'history': (choice('squash', 'full'), OPTIONAL),
            'network': (choice('all', 'model', 'none'), OPTIONAL),
            'sandbox': (choice('off', 'auto', 'bwrap'), OPTIONAL),
            'baseline': (choice('on', 'off'), OPTIONAL),
            'on': (text(1, 2000, form='sow-line'), OPTIONAL),
            'cluster': (text(1, 2000, form='sow-line'), OPTIONAL),
        }), REQUIRED),
        'pools': (array(record({
            'executor': (text(1, 64, form='sow-line'), REQUIRED),
            'account': (text(1, 200, form='sow-line'), OPTIONAL),
            'until': (number(0, whole=True), REQUIRED),
            'reason': (text(0, 2000), REQUIRED),
        })), OPTIONAL),
        'breaker': (record({
            'failures': (number(0, whole=True), REQUIRED),
            'opened': (number(0, whole=True), REQUIRED),
            'until': (number(0, whole=True), REQUIRED),
        }), OPTIONAL),
        'spawns': (number(0, whole=True), OPTIONAL),
        'head': (text(form='sow-digest'), OPTIONAL),
        'merges': (array(record({
            'task': (WORKER, REQUIRED),
            'iteration': (number(1, whole=True), REQUIRED),
            'work': (text(form='sow-digest'), REQUIRED),
            'commit': (text(form='sow-digest'), REQUIRED),
            'parent': (text(form='sow-digest'), REQUIRED),
            'tree': (text(form='sow-digest'), REQUIRED),
            'at': (TIMESTAMP, REQUIRED),
        })), OPTIONAL),
        'dropped': (array(record({
            'task': (WORKER, REQUIRED),
            'head': (text(form='sow-digest'), REQUIRED),
            'parent': (text(form='sow-digest'), REQUIRED),
            'at': (TIMESTAMP, REQUIRED),
        })), OPTIONAL),
        'baselines': (array(record({
            'list': (text(form='sow-digest'), REQUIRED),
            'tree': (text(form='sow-digest'), REQUIRED),
            'passed': (flag, REQUIRED),
            'command': (text(1, 4000), OPTIONAL),
            'exit': (number(whole=True, null=True), OPTIONAL),
            'tests': (record({
                'ran': (number(0, whole=True), REQUIRED),
                'failed': (number(0, whole=True), OPTIONAL),
                'skipped': (number(0, whole=True), OPTIONAL),
                'base': (number(0, whole=True), OPTIONAL),
            }), OPTIONAL),
            'at': (TIMESTAMP, REQUIRED),
        })), OPTIONAL),
        'final': (array(record({
            'list': (text(form='sow-digest'), REQUIRED),
            'tree': (text(form='sow-digest'), REQUIRED),
            'passed': (flag, REQUIRED),
            'tasks': (array(WORKER), OPTIONAL),
            'command': (text(1, 4000), OPTIONAL),
            'cause': (choice('before', 'user'), OPTIONAL),
            'at': (TIMESTAMP, REQUIRED),
        })), OPTIONAL),
        'accepted': (array(choice('outside_imports', 'refused_setup')), OPTIONAL),
        'delivery': (record({
            'remote': (text(1, 200, form='sow-line'), REQUIRED),
            'owner': (text(1, 200, form='sow-line'), REQUIRED),
            'fork': (text(1, 200, form='sow-line'), OPTIONAL),
            'branch': (text(1, 255, form='sow-line'), REQUIRED),
            'base': (text(1, 255, form='sow-line'), REQUIRED),
            'state': (choice('open', 'merged', 'closed'), REQUIRED),
            'drafted': (flag, OPTIONAL),
            'number': (number(1, whole=True), OPTIONAL),
            'url': (text(1, 2000, form='sow-line'), OPTIONAL),
            'source': (text(form='sow-digest'), OPTIONAL),
            'head': (text(form='sow-digest'), OPTIONAL),
            'merge_commit': (text(form='sow-digest'), OPTIONAL),
            'merged_head': (text(form='sow-digest'), OPTIONAL),
            'method': (choice('merge', 'squash', 'rebase'), OPTIONAL),
            'merged_at': (TIMESTAMP, OPTIONAL),
            'waiting_since': (record({
                'head': (text(form='sow-digest'), REQUIRED),
                'at': (TIMESTAMP, REQUIRED),
            }), OPTIONAL),
            'writing': (text(1, 200, form='sow-line'), OPTIONAL),
            'own_comments': (array(text(1, 200, form='sow-line')), OPTIONAL),
            'handled': (array(record({
                'key': (text(1, 400, form='sow-line'), REQUIRED),
                'outcome': (choice('follow_up', 'rerun', 'ignored', 'asked'), REQUIRED),
                'tasks': (array(WORKER), OPTIONAL),
                'at': (TIMESTAMP, REQUIRED),
            })), OPTIONAL),
        }), OPTIONAL),
    }), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
