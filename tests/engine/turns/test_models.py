"""A model belongs to one CLI: which CLIs get it, and which do not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.simulated_workers import WorkerRepo

# A CLI that keeps its words for the test, and ends its turn as Claude Code does.
RECORDER = """#!{python}
import json, sys
with open({ledger!r}, "a") as file:
    file.write(json.dumps(sys.argv) + "\\n")
for line in {lines!r}:
    print(line)
"""
TURN = {
    "codex": ['{"type":"thread.started","thread_id":"1"}', '{"type":"turn.completed","usage":{}}'],
    "claude": ['{"type":"result","subtype":"success","is_error":false,"result":"ok"}'],
}


def program(worker: WorkerRepo, name: str) -> None:
    folder = worker.folder / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(RECORDER.format(python=sys.executable, ledger=str(worker.folder / "ledger"), lines=TURN[name]))
    path.chmod(0o755)
    worker.repo.environment["PATH"] = f"{folder}:{worker.repo.environment['PATH']}"


def models(worker: WorkerRepo) -> list[str]:
    """Returns the model of each call, or None."""
    calls = [json.loads(line) for line in (worker.folder / "ledger").read_text().splitlines()]
    return [words[words.index("--model") + 1] if "--model" in words else "" for words in calls]


def settings(worker: WorkerRepo, **executors: dict[str, Any]) -> None:
    """Returns settings with several executors of an implementer, of which the first has reached its limit."""
    limited = worker.folder / "limited.yaml"
    limited.write_text("tasks: {default: [[{limit: 60}]]}\n")
    first = {"type": "simulated", "settings": {"scenario": str(limited), "model": "its-own"}}
    agents = {
        "executors": {"first": first, **executors},
        "bindings": {"implementer": "first"},
        "fallbacks": {"implementer": list(executors)},
    }
    config = Path(worker.repo.environment["HOME"], ".config/sow/config.yaml")
    config.parent.mkdir(parents=True)
    config.write_text(yaml.safe_dump({"agents": agents}))
    del worker.repo.environment["SOW_AGENTS_IMPLEMENTER"]


@pytest.mark.parametrize(("own", "expected"), [({}, ""), ({"model": "gpt-5"}, "gpt-5")])
@pytest.mark.parametrize("wanted", [(), ("--model", "opus")])
def test_a_fallback_of_another_type_has_its_own_model(
    worker: WorkerRepo, own: dict[str, str], expected: str, wanted: tuple[str, ...]
) -> None:
    """Neither --model nor the first executor's model is passed to another CLI."""
    program(worker, "codex")
    settings(worker, second={"type": "codex", "settings": own})
    result = worker.spawn(*wanted)
    assert "second takes over" in result.err, result
    assert set(models(worker)) == {expected}
    assert [worker.record(number)["model"] for number in (1, 2)] == [wanted[1] if wanted else "its-own", expected]


def test_a_fallback_of_the_same_type_has_the_wanted_model(worker: WorkerRepo) -> None:
    """The same CLI knows the same models."""
    settings(worker, second={"type": "simulated", "settings": {"model": "haiku"}})
    assert worker.spawn("--model", "opus").code == 0
    assert [worker.record(number)["model"] for number in (1, 2)] == ["opus", "opus"]


def test_verbose_names_the_model_of_a_fallback(worker: WorkerRepo) -> None:
    """A line for each fallback has the model and the reason why it is not the wanted one."""
    program(worker, "codex")
    second, third = {"type": "codex", "settings": {"model": "gpt-5"}}, {"type": "codex"}
    settings(worker, second=second, third=third, fourth={"type": "simulated"})
    lines = worker.spawn("--model", "opus", "--verbose", "--dry-run").err.splitlines()
    assert lines[5:] == [
        "Settings: yolo_mode=false (default), model=opus (from --model)",
        "Fallback: second, model=gpt-5 (from config file); --model opus applies to simulated only",
        "Fallback: third, model=its own default; --model opus applies to simulated only",
        "Fallback: fourth, model=opus",
    ]
    lines = worker.spawn("--verbose", "--dry-run").err.splitlines()
    assert lines[6:8] == ["Fallback: second, model=gpt-5 (from config file)", "Fallback: third, model=its own default"]


def test_a_resume_keeps_the_sessions_model(worker: WorkerRepo) -> None:
    """A session keeps its first model; --model of a resume counts for that call."""
    program(worker, "claude")
    worker.spawn("--executor", "claude-code", "--model", "opus")
    for case in ((), ("--model", "haiku"), ()):
        worker.resume("go on", *case)
    assert models(worker)[:2] == ["opus", "opus"]  # the first turn and its reminder
    assert models(worker)[2:] == ["opus", "haiku", "opus"]
