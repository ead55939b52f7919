"""Settles findings of a request: `follow_up_call.py FILE`, with the findings and the pushed commit as JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from sow.cli.main import run_forwarded
from sow.engine.delivery.finding import RequestFinding
from sow.engine.delivery.follow_up import run_follow_ups
from sow.errors import SowError
from sow.store.files import checkout_home
from sow.store.runs import run_folder


def main(path: str) -> int:
    data = json.loads(Path(path).read_text())
    home = checkout_home.find(option="", environment=os.environ, cwd=os.getcwd())
    findings = [RequestFinding(**finding) for finding in data["findings"]]
    delivered = run_folder.load(home, data["run"])
    try:
        results = run_follow_ups(home, os.environ, delivered, findings, data["head"], verbs=run_forwarded)
    except SowError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    print(json.dumps([asdict(result) for result in results]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
