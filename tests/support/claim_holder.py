"""Another process that holds a claim, as a run in progress does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from conftest import Repo

HOLD = """
import sys
from sow.store.files.checkout_home import find
with find(option=sys.argv[1], environment={}, cwd="/").claim(sys.argv[2], purpose="running a plan") as claim:
    if sys.argv[3]:
        claim.record_run(sys.argv[3])
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def hold_claim(repo: Repo, name: str = "project", run: str = "") -> Iterator[int]:
    """Returns the process id of another process that holds the claim for this run during the block."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(repo.root), name, run], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield holder.pid
        holder.communicate()
