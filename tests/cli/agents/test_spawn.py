"""sow agent spawn: prints at once which agent starts, prints notes as they appear, and sums up the turn."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
import yaml
from support.simulated_workers import WorkerRepo, end, wait_for

WAIT = {"run": ["sh", "-c", "touch begun; while [ ! -e go ]; do sleep 0.02; done"]}
SPAWN = ("agent", "spawn", "implementer", "010")


@pytest.fixture
def waiting(worker: WorkerRepo) -> Iterator[WorkerRepo]:
    """A worker that waits for the file `go` before it prints or does anything, and then hands in."""
    worker.scenario([WAIT, {"say": "Built it."}, {"status": "needs_review"}])
    yield worker
    (worker.repo.root / "go").touch()


def lines_until(call: subprocess.Popen[bytes], wanted: str) -> list[str]:
    """Returns the lines that a call prints on stderr, up to one with this text."""
    assert call.stderr
    lines: list[str] = []
    while not lines or wanted not in lines[-1]:
        line = call.stderr.readline().decode()
        assert line, f"{wanted!r} was never printed: {lines}"
        lines.append(line.rstrip("\n"))
    return lines


def finish(worker: WorkerRepo, call: subprocess.Popen[bytes]) -> str:
    (worker.repo.root / "go").touch()
    out, _ = call.communicate(timeout=300)
    assert call.returncode == 0
    return out.decode()


def test_the_start_is_printed_before_the_first_event(waiting: WorkerRepo) -> None:
    """Role, executor, model and session are printed before the CLI prints anything (A22)."""
    call = waiting.start(*SPAWN, "--model", "swift")
    try:
        line = lines_until(call, "implementer on")[-1]
        session = waiting.record()["session_id"]
        assert line == f"implementer on simulated (model swift), session {session}"
        assert finish(waiting, call).splitlines()[-1] == "task 010: status is needs_review"
    finally:
        end(call) if call.poll() is None else None


def test_the_start_line_names_a_resume_or_a_reminder(worker: WorkerRepo) -> None:
    """Each turn begins with a line that says what kind of turn it is."""
    worker.scenario([{"say": "Hello"}], [{"status": "needs_review"}], [{"status": "needs_review"}])
    spawned = worker.spawn().err
    assert "implementer on simulated (default model), session " in spawned
    assert "implementer reminded on simulated (default model), session " in spawned
    assert "implementer resumes on simulated (default model), session " in worker.resume("Shorter").err


def test_a_note_is_printed_once_and_at_once(waiting: WorkerRepo) -> None:
    """A fallback is named before its turn, and not again at the end (A21); the cost is that of both turns (A20)."""
    config = waiting.folder / "home/.config/sow/config.yaml"
    config.parent.mkdir(parents=True)
    (waiting.folder / "limited.yaml").write_text("tasks: {default: [[{say: Hello}, {limit: 60}]]}\n")
    first = {"type": "simulated", "settings": {"scenario": str(waiting.folder / "limited.yaml")}}
    agents = {"executors": {"first": first}, "fallbacks": {"implementer": ["simulated"]}}
    config.write_text(yaml.safe_dump({"agents": {**agents, "bindings": {"implementer": "first"}}}))
    del waiting.repo.environment["SOW_AGENTS_IMPLEMENTER"]
    call = waiting.start(*SPAWN)
    try:
        lines_until(call, "note: first has reached its limit: simulated takes over")
        lines_until(call, "implementer on simulated")
        wait_for(lambda: (waiting.repo.root / "begun").exists())
        (waiting.repo.root / "go").touch()
        rest = lines_until(call, "cost $")
        assert not any("takes over" in line for line in rest)
        costs = [waiting.record(number)["turns"][0]["cost_usd"] for number in (1, 2)]
        assert min(costs) > 0 and rest[-1].startswith("2 turns: ") and f"cost ${sum(costs):.4f}," in rest[-1]
        call.communicate(timeout=300)
    finally:
        end(call) if call.poll() is None else None


def test_a_missing_fallback_does_not_stop_a_spawn(worker: WorkerRepo) -> None:
    """A fallback that is not installed is named, and the role's own executor works (A18)."""
    config = worker.folder / "home/.config/sow/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("agents: {fallbacks: {implementer: [codex]}}\n")
    worker.scenario([{"write": {"path": "a.txt", "text": "a\n"}}, {"status": "needs_review"}])
    result = worker.spawn()
    assert result.code == 0, result
    assert "note: the fallback codex is left out: codex is not installed (sow config edit)" in result.err


def test_the_cost_covers_a_reminder(worker: WorkerRepo) -> None:
    """A reminder is a turn of the same call: time, cost and tokens are sums, and --json lists both turns (A20)."""
    worker.scenario([{"say": "I am done."}], [{"say": "So I am."}, {"status": "needs_review"}])
    result = worker.spawn()
    turns = worker.record()["turns"]
    tokens = sum(turn["input_tokens"] for turn in turns)
    assert re.search(rf"^2 turns: [\dms. ]+, cost \$\d+\.\d+, tokens {tokens:,} in, ", result.err, re.MULTILINE), result
    worker.scenario([{"say": "Hm."}], [{"status": "needs_review"}])
    again = worker.repo.ok(*SPAWN, "--fresh", "--json").json
    assert [turn["kind"] for turn in again["turns"]] == ["recovery", "reminder"]
