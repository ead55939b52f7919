"""S1 for workers: no value that somebody types becomes a flag of an agent CLI, or starts anything."""

from __future__ import annotations

import shlex

import pytest
from conftest import Repo
from hostile import HOSTILE

SPAWN = ("agent", "spawn", "implementer", "010", "--executor", "simulated", "--dry-run")
FIELDS = {
    "model": lambda value: (*SPAWN, f"--model={value}"),
    "timeout": lambda value: (*SPAWN, f"--timeout={value}"),
    "executor": lambda value: ("agent", "spawn", "implementer", "010", "--dry-run", f"--executor={value}"),
    "agent": lambda value: ("agent", "spawn", "--dry-run", "--", value, "010"),
    "task": lambda value: ("agent", "spawn", "--dry-run", "--", "implementer", value),
    "prompt": lambda value: ("prompt", "--", value),
    "shown agent": lambda value: ("agent", "show", "--", value),
}
VALUES = [each for each in dict.fromkeys(HOSTILE) if each and "\0" not in each and len(each) < 10_000]


@pytest.mark.parametrize("field", FIELDS)
def test_a_hostile_value_is_refused_or_stays_one_word(repo: Repo, field: str):
    """Every third hostile value is refused before anything changes, or reaches the command line as one plain word."""
    repo.ok("task", "create", "--name", "Add login")
    before = repo.snapshot()
    for value in [*VALUES[::3], "--dangerously-skip-permissions", "-x"]:
        result = repo.sow(*FIELDS[field](value))
        assert "Traceback" not in result.err, value
        if result.code == 0 and field == "model":
            words = shlex.split(result.out.splitlines()[0])
            assert words[words.index("--model") + 1] == value
            assert not value.startswith("-")
        elif result.code:
            assert result.code == 2, (value, result)
    assert repo.snapshot() == before
    assert repo.sow(*FIELDS["model"]("--dangerously-skip-permissions")).code == 2
