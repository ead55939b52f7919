"""Written by `make generate` from schemas/v1.2.0/user-config.json: change the schema, not this file."""

from sow.store.formats.validation import OPTIONAL, REQUIRED, array, choice, flag, mapping, number, record, text

DOCUMENT = record({
    'agents': (record({
        'executors': (mapping(record({
            'type': (text(form='sow-agent'), REQUIRED),
            'settings': (record({
                'yolo_mode': (flag, False),
                'model': (text(1, 200, form='sow-line'), OPTIONAL),
                'max_concurrency': (number(1, whole=True), OPTIONAL),
                'binary': (text(1, 1000, form='sow-line'), OPTIONAL),
                'command': (array(text(0, 4000), least=1), OPTIONAL),
                'env': (array(text(1, 200, form='sow-line')), []),
                'allow_empty': (flag, False),
                'scenario': (text(1, 4000, form='sow-line'), OPTIONAL),
            }, null=True), {}),
            'custom_args': (array(text(0, 4000), instead=type(None)), []),
        }), null=True), OPTIONAL),
        'default': (text(1, 200, form='sow-line'), OPTIONAL),
        'bindings': (mapping(text(1, 200, form='sow-line'), null=True), OPTIONAL),
        'fallbacks': (mapping(array(text(1, 200, form='sow-line')), null=True), OPTIONAL),
        'directories': (array(text(1, 4000, form='sow-line')), OPTIONAL),
    }, null=True), {}),
    'limits': (record({
        'turn_timeout': (text(form='sow-duration'), OPTIONAL),
        'silence_timeout': (text(form='sow-duration'), OPTIONAL),
        'linger_timeout': (text(form='sow-duration'), OPTIONAL),
        'transcript_mb': (number(1, whole=True), OPTIONAL),
        'stop_grace': (text(form='sow-duration'), OPTIONAL),
    }, null=True), {}),
    'run': (record({
        'max_concurrency': (number(1, whole=True), OPTIONAL),
        'schedule': (choice('ready', 'waves'), OPTIONAL),
        'isolation': (choice('worktree', 'none'), OPTIONAL),
        'retries': (number(0, whole=True), OPTIONAL),
        'max_wait': (text(form='sow-duration'), OPTIONAL),
        'final_checks': (choice('on', 'off'), OPTIONAL),
        'history': (choice('squash', 'full'), OPTIONAL),
        'baseline': (choice('on', 'off'), OPTIONAL),
    }, null=True), {}),
    'review': (record({
        'enabled': (flag, OPTIONAL),
        'agents': (array(text(form='sow-agent')), OPTIONAL),
    }, null=True), {}),
    'budgets': (record({
        'run_usd': (number(0, null=True), OPTIONAL),
        'task_usd': (number(0, null=True), OPTIONAL),
        'run_tokens': (number(1, whole=True, null=True), OPTIONAL),
        'run_time': (text(form='sow-duration', null=True), OPTIONAL),
        'run_spawns': (number(1, whole=True, null=True), OPTIONAL),
    }, null=True), {}),
    'checks': (record({
        'timeout': (text(form='sow-duration'), OPTIONAL),
        'env': (array(text(1, 200, form='sow-line')), OPTIONAL),
        'parallel': (number(1, whole=True), OPTIONAL),
        'allow': (array(text(1, 1000, form='sow-line')), OPTIONAL),
    }, null=True), {}),
    'worktree': (record({
        'link': (array(text(1, 1000, form='sow-line')), OPTIONAL),
        'copy': (array(text(1, 1000, form='sow-line')), OPTIONAL),
        'setup': (array(array(text(0, 4000))), OPTIONAL),
    }, null=True), {}),
    'context': (record({
        'enabled': (flag, OPTIONAL),
        'budget': (text(form='sow-tokens'), OPTIONAL),
    }, null=True), {}),
    'knowledge': (record({
        'sink_mb': (number(1, whole=True), OPTIONAL),
        'repo_mb': (number(1, whole=True), OPTIONAL),
        'timeout': (text(form='sow-duration'), OPTIONAL),
    }, null=True), {}),
    'sandbox': (record({
        'mode': (choice('auto', 'off', 'bwrap'), OPTIONAL),
        'roles': (mapping(choice('auto', 'off', 'bwrap'), null=True), OPTIONAL),
        'network': (choice('all', 'model', 'none'), OPTIONAL),
        'network_roles': (mapping(choice('all', 'model', 'none'), null=True), OPTIONAL),
        'hosts': (array(text(1, 1000, form='sow-line')), OPTIONAL),
        'read': (array(text(1, 1000, form='sow-line')), OPTIONAL),
        'write': (array(text(1, 1000, form='sow-line')), OPTIONAL),
        'env': (array(text(1, 200, form='sow-line')), OPTIONAL),
    }, null=True), {}),
    'notify': (record({
        'command': (array(text(0, 4000), instead=str), OPTIONAL),
        'bell': (flag, OPTIONAL),
    }, null=True), {}),
    'deliver': (record({
        'bots': (array(text(1, 200, form='sow-line')), OPTIONAL),
        'check_wait': (text(form='sow-duration'), OPTIONAL),
    }, null=True), {}),
    'cluster': (record({
        'address': (text(0, 200, form='sow-line'), OPTIONAL),
        'namespace': (text(0, 200, form='sow-line'), OPTIONAL),
        'name': (text(form='sow-agent'), OPTIONAL),
        'transfer': (text(0, 2000, form='sow-line'), OPTIONAL),
        'sign': (text(0, 4000, form='sow-line'), OPTIONAL),
        'tls_ca': (text(0, 4000, form='sow-line'), OPTIONAL),
        'tls_cert': (text(0, 4000, form='sow-line'), OPTIONAL),
        'tls_key': (text(0, 4000, form='sow-line'), OPTIONAL),
        'lost_after': (text(form='sow-duration'), OPTIONAL),
        'wait_for_host': (text(form='sow-duration'), OPTIONAL),
        'fetch_mb': (number(1, whole=True), OPTIONAL),
    }, null=True), {}),
    'host': (record({
        'name': (text(0, 64, form='sow-line'), OPTIONAL),
        'capacity': (mapping(number(1, whole=True, instead=text(form='sow-capacity'))), OPTIONAL),
        'signers': (text(0, 4000, form='sow-line'), OPTIONAL),
        'transfers': (array(text(1, 2000, form='sow-line')), OPTIONAL),
        'keep': (text(form='sow-duration'), OPTIONAL),
        'checkpoint': (text(form='sow-duration'), OPTIONAL),
        'checks': (number(0, whole=True), OPTIONAL),
    }, null=True), {}),
    'trust': (array(text(1, 4000, form='sow-line'), instead=type(None)), []),
})


def validate(data):
    DOCUMENT(data)
