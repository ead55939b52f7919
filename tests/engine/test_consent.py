"""The engine refuses commands without consent, even if no question was asked before."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sow.domain.checks.task_checks import Consent
from sow.engine.checks.check_list import CheckFolder
from sow.engine.consent import NotAgreed
from sow.system.process.child_process import ProcessLimits, run_to_end


def run(command: str, agreed: Consent, folder: Path) -> int:
    limits = ProcessLimits(wall=60, silence=0, linger=0, size=1 << 20, grace=1)
    context: Any = SimpleNamespace(  # what a command needs of its run
        agreed=agreed,
        checks_folder=lambda name: str(folder),
        check_limits=lambda: limits,
        check_box=lambda *_, **__: None,
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    check_folder = CheckFolder(context, str(folder), environment, "baseline", 1, network="all")
    return run_to_end(check_folder.run({"kind": "test", "command": command})).evidence["exit"]


def test_a_command_without_consent_does_not_run(tmp_path: Path) -> None:
    """Nothing is started and no file is made; the exit code is 4."""
    with pytest.raises(NotAgreed) as refused:
        run("touch made", Consent(["touch other"], allow=["cat *"]), tmp_path)
    assert refused.value.exit_code == 4
    assert "touch made" in refused.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_command_with_consent_runs(tmp_path: Path) -> None:
    """The exact text with consent is run."""
    assert run("touch made", Consent(["touch made"]), tmp_path) == 0
    assert (tmp_path / "made").exists()
