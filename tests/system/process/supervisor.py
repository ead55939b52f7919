"""A turn's supervisor for tests, in a separate process, because it inherits orphans and changes its name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from support.paths import TESTS

MARK = uuid.uuid4().hex  # another one in every process, because every process with it is killed
PATIENCE = 60


def supervise(code: str, folder: Path) -> Any:
    """Returns the output of Python code that has the names of this module and of sow's process package."""
    result = subprocess.run(
        [sys.executable, "-c", f"from system.process.supervisor import *\n{code}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{TESTS}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def start(
    words: list[str],
    *,
    grace: float = 1,
    size: int = 0,
    task: str = "",
    census: Any = None,
    cwd: str = "",
    mark: str = MARK,
) -> Any:
    """Starts one supervised child, whose files are in the current folder."""
    from sow.system.process.child_process import Child, ProcessLimits

    number = len(list(Path().glob("*.out")))
    Path("prompt").touch()
    return Child(
        words,
        cwd=cwd or str(Path.cwd()),
        environment={"PATH": os.environ["PATH"], "SOW_TASK": task},
        stdin_path="prompt",
        stdout_path=f"{number}.out",
        stderr_path=f"{number}.err",
        mark=mark,
        limits=ProcessLimits(wall=0, silence=0, linger=0, size=size, grace=grace),
        process_table=census,
    )


def follow(child: Any) -> list[str]:
    """Reads every line of a child until it ends."""
    lines: list[str] = []
    while child.step(lines.append):
        time.sleep(0.01)
    return lines


def ended(child: Any) -> None:
    """Waits for the end of a child without a step, since a slow one would be scanned meanwhile."""
    os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)


def there(name: str) -> str:
    """Returns the content of a file, once it is written."""
    while not Path(name).exists() or not Path(name).read_text().endswith("\n"):
        time.sleep(0.01)
    return Path(name).read_text().strip()


def state(pid: int | str) -> str:
    """Returns the letter of a process's state, or an empty text when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def name(pid: int | str = "self") -> str:
    """Returns the name under which others see a process."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def tell(fact: Any) -> None:
    """Prints the last line of the supervisor's output."""
    print(json.dumps(fact))
