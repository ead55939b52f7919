"""Locks on a system without them. The guarantees of locks are in tests/guarantees/locks."""

from __future__ import annotations

import subprocess
import sys

WITHOUT_LOCKS = "import sys; sys.modules['fcntl'] = None; from sow.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_a_system_without_file_locks(repo):
    """A command that needs a lock says that there are none, and changes nothing (A8)."""
    before = repo.git("status", "--porcelain", "--ignored")
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS, "task", "create", "--name", "Add login"],
        cwd=repo.root,
        env=repo.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "error: this system has no file locks\nhint: run sow on Linux, on macOS, or in WSL on Windows\n"
    )
    assert repo.git("status", "--porcelain", "--ignored") == before
