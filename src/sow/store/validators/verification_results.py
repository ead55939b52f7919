"""Written by `make generate` from schemas/v1.1.0/verification-results.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
from sow.store.formats.validation import FORMATS

line, line_wanted = FORMATS['sow-line']
member, member_wanted = FORMATS['sow-member']
timestamp, timestamp_wanted = FORMATS['sow-timestamp']

def validate(data, at):
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
            validate_findings_item(item, (f'{at}.findings' if at else 'findings') + f'[{index}]')
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


def validate_findings_item(data, at):
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
