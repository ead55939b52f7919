"""Written by `make generate` from schemas/v1.2.0/workflow.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, flag, mapping, number, record, text

VERSION = text(form='sow-version')
TIMESTAMP = text(form='sow-timestamp')
DIGEST = text(form='sow-digest')
SESSION_TASK = text(0, 120, form='sow-session-task')
NAME = text(form='sow-member')
OUTPUT = record({
    'path': (text(1, 1000, form='sow-line'), REQUIRED),
    'version': (number(1, whole=True), REQUIRED),
    'digest': (DIGEST, REQUIRED),
    'at': (TIMESTAMP, REQUIRED),
})
FINDING = record({
    'id': (text(1, 64, form='sow-line'), REQUIRED),
    'severity': (choice('error', 'warning', 'note'), REQUIRED),
    'text': (text(1, 4000), REQUIRED),
    'rule': (text(1, 200, form='sow-line'), OPTIONAL),
    'file': (text(1, 1000, form='sow-line'), OPTIONAL),
    'symbol': (text(1, 200, form='sow-line'), OPTIONAL),
    'evidence': (text(1, 4000), OPTIONAL),
})
RESULT = record({
    'result': (choice('passed', 'failed'), REQUIRED),
    'missing_evidence': (array(text(1, 20000)), REQUIRED),
    'findings': (array(FINDING), REQUIRED),
    'round': (number(1, whole=True), REQUIRED),
    'verifier': (NAME, REQUIRED),
    'at': (TIMESTAMP, REQUIRED),
})
QUESTION = record({
    'number': (number(1, whole=True), REQUIRED),
    'text': (text(1, 100000), REQUIRED),
    'asked_at': (TIMESTAMP, REQUIRED),
    'kind': (choice('user', 'failed', 'rounds', 'verifier', 'loop', 'approval'), REQUIRED),
})
MEMBER = record({
    'status': (choice('pending', 'working', 'completion_drive_review', 'ready_for_verification', 'verified', 'blocked', 'session_complete', 'failed'), REQUIRED),
    'task_id': (SESSION_TASK, REQUIRED),
    'kind': (choice('doer', 'solution_architect'), REQUIRED),
    'agent': (text(form='sow-agent'), REQUIRED),
    'verifier': (NAME, REQUIRED),
    'dependencies': (array(NAME), REQUIRED),
    'iteration': (number(1, whole=True), REQUIRED),
    'tries': (number(0, whole=True), REQUIRED),
    'rounds': (number(0, whole=True), REQUIRED),
    'verifier_tries': (number(0, whole=True), OPTIONAL),
    'last_update': (text(form='sow-timestamp', null=True), REQUIRED),
    'session_id': (text(1, 200, form='sow-line'), OPTIONAL),
    'session_start': (number(0, whole=True), OPTIONAL),
    'outputs': (array(OUTPUT), REQUIRED),
    'read': (mapping(number(1, whole=True)), REQUIRED),
    'result': (RESULT, OPTIONAL),
    'question': (QUESTION, OPTIONAL),
    'feedback': (text(1, 100000), OPTIONAL),
    'inferred': (flag, OPTIONAL),
    'requested_by': (array(NAME), OPTIONAL),
    'pending_answer': (text(1, 100000), OPTIONAL),
})
ESCALATION = record({
    'member': (NAME, REQUIRED),
    'task_id': (SESSION_TASK, REQUIRED),
    'note_id': (text(form='sow-note-id'), REQUIRED),
    'description': (text(1, 20000), REQUIRED),
    'at': (TIMESTAMP, REQUIRED),
    'route': (choice('user', 'solution_architect', 'answer', 'loop'), OPTIONAL),
    'question': (text(1, 100000), OPTIONAL),
    'resolution': (text(1, 100000), OPTIONAL),
    'resolved_at': (TIMESTAMP, OPTIONAL),
})
ANSWERED = record({
    'number': (number(1, whole=True), REQUIRED),
    'member': (text(form='sow-member'), REQUIRED),
    'kind': (choice('user', 'failed', 'rounds', 'verifier', 'loop', 'approval'), REQUIRED),
    'text': (text(1, 100000), REQUIRED),
    'asked_at': (TIMESTAMP, REQUIRED),
    'answer': (text(1, 100000), REQUIRED),
    'answered_at': (TIMESTAMP, REQUIRED),
    'answered_by': (text(1, 200, form='sow-line'), REQUIRED),
})
DOCUMENT = record({
    'schema_version': (VERSION, REQUIRED),
    'revision': (number(0, whole=True), 0),
    'workflow': (record({
        'id': (text(form='sow-uuid4'), REQUIRED),
        'name': (text(form='sow-member'), REQUIRED),
        'task_id': (text(1, 120, form='sow-line'), REQUIRED),
        'status': (choice('pending', 'in_progress', 'blocked', 'completed', 'failed'), REQUIRED),
        'branch': (text(0, 255, form='sow-line'), OPTIONAL),
        'created_at': (TIMESTAMP, REQUIRED),
        'updated_at': (TIMESTAMP, REQUIRED),
        'session_start': (TIMESTAMP, OPTIONAL),
        'plan_digest': (DIGEST, OPTIONAL),
        'verified': (record({
            'digest': (DIGEST, REQUIRED),
            'sections': (mapping(DIGEST, text(form='sow-member')), REQUIRED),
            'passed': (flag, REQUIRED),
            'at': (TIMESTAMP, REQUIRED),
            'by': (text(1, 200, form='sow-line'), REQUIRED),
        }), OPTIONAL),
        'approval': (record({
            'digest': (DIGEST, REQUIRED),
            'sections': (mapping(DIGEST, text(form='sow-member')), REQUIRED),
            'by': (text(1, 200, form='sow-line'), REQUIRED),
            'at': (TIMESTAMP, REQUIRED),
            'how': (text(1, 200, form='sow-line'), REQUIRED),
        }), OPTIONAL),
        'question_number': (number(0, whole=True), REQUIRED),
        'members': (mapping(MEMBER, text(form='sow-member')), REQUIRED),
        'escalations': (array(ESCALATION), REQUIRED),
        'answers': (array(ANSWERED), OPTIONAL),
    }), REQUIRED),
})


def validate(data):
    DOCUMENT(data)
