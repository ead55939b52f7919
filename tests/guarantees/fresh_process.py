"""A process with one thread and all imports done, which forks fast and safely."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.paths import TESTS

LONGEST = 3600
CALL = """
import json, sys
from importlib import import_module
sys.path[:0] = json.loads(sys.argv[1])
print(json.dumps(getattr(import_module(sys.argv[2]), sys.argv[3])(*sys.argv[4:])))
"""


def in_fresh_process(function: Callable[..., Any], *arguments: str | Path, prefix: Sequence[str] = ()) -> Any:
    """Calls a function of a test module in a process of its own, and returns its result."""
    paths = json.dumps([str(TESTS)])
    command = [*prefix, sys.executable, "-c", CALL, paths, function.__module__, function.__name__, *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            code = process.wait(LONGEST)
        finally:
            with contextlib.suppress(ProcessLookupError):  # children that wait for a sign live on when it fails
                os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        err.seek(0)
        assert code == 0, err.read()
        return json.loads(out.read())


def fork(act: Callable[[], Any]) -> int:
    """Runs a function in a child, which ends with 0, or with 1 after an error."""
    child = os.fork()
    if child:
        return child
    try:
        act()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def ended(child: int) -> int:
    """Waits for the child; returns its exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill(child: int) -> int:
    """Sends kill -9, and waits until the process is gone."""
    os.kill(child, signal.SIGKILL)
    return ended(child)


def shard() -> tuple[int, int]:
    """Returns the part of a full count: SHARD=2/8 is the second of eight."""
    number, _, of = os.environ.get("SHARD", "1/1").partition("/")
    return int(number), int(of)
