"""R8: a bad agent can neither hang sow nor use unlimited memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import FULL
from support.quick_cases import few_of
from support.simulated_workers import WorkerRepo, script, wait_for

MEGABYTE = 1 << 20
SIZE = (1024 if FULL else 50) * MEGABYTE
MEMORY = 100 * MEGABYTE


@few_of("step", ["flood", "long_line"], 1)
def test_endless_output_is_limited(worker: WorkerRepo, step: str) -> None:
    """A worker that prints without end is stopped at the limit, and its transcript is no larger than that."""
    worker.limits(transcript_mb=8)
    worker.scenario([{step: SIZE}, {"hang": True}])
    result = worker.spawn()
    assert result.code == 1
    assert "size" in result.err
    assert not worker.alive()
    assert worker.transcript().stat().st_size <= 8 * MEGABYTE


def test_a_long_line_is_not_kept(worker: WorkerRepo) -> None:
    """A line of many megabytes is cut, and the events after it are read as usual."""
    worker.scenario([{"long_line": SIZE}, {"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    call = worker.start("agent", "spawn", "implementer", "010", "--json")
    out, err = call.communicate(timeout=300)
    assert call.returncode == 0, err
    assert json.loads(out)["turn"]["tools"] == 2


@pytest.mark.full
def test_memory_is_limited(worker: WorkerRepo) -> None:
    """While a worker prints a lot, sow's own process stays small."""
    worker.scenario(
        [{"long_line": SIZE}, {"flood": SIZE}, {"run": ["touch", "begun"]}, {"sleep": 2}, {"status": "needs_review"}]
    )
    call = worker.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: (worker.repo.root / "begun").exists())
    peak = next(line for line in Path(f"/proc/{call.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    call.communicate(timeout=300)
    assert int(peak.split()[1]) * 1024 < MEMORY


@few_of(
    "steps",
    [
        [{"raw": "not json at all {"}],
        [{"raw": '{"type": 7, "message": [1, 2'}],
        [{"raw": '{"type": "result"'}],
        [{"raw": "[" * 100_000}],
        [{"raw": '{"type":"assistant","message":{"content":"no list"}}'}],
        [{"raw": '{"type":"result","usage":7,"permission_denials":{},"errors":"x","total_cost_usd":"much"}'}],
        [{"bytes": "c3"}],
        [{"bytes": "fffe000041"}],
        [{"bytes": "1b5d35323b633b1b5c"}],
    ],
    2,
)
def test_garbage_is_ignored(worker: WorkerRepo, steps: list[dict[str, str]]) -> None:
    """With any garbage between the events, the turn ends with the worker's result."""
    worker.scenario([*steps, {"raw": ""}, {"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    result = worker.spawn()
    assert result.code == 0, result
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert "\x1b" not in result.out + result.err


def test_a_closed_pipe_is_no_end(worker: WorkerRepo) -> None:
    """A worker that closes its output and lives on is ended by the silence limit."""
    worker.limits(silence_timeout="1s")
    worker.scenario([{"close_output": True}, {"hang": True}])
    assert worker.spawn().code == 1
    assert not worker.alive()


FLOODS = {
    "of the worker": "yes | head -c 400000000",
    "of one that it left behind": "(yes | head -c 400000000) & sleep 0.3",
    "on stderr": "yes | head -c 400000000 >&2",
}


@few_of("flood", FLOODS, 1)
def test_millions_of_short_lines_do_not_delay_sow(worker: WorkerRepo, flood: str) -> None:
    """Even if lines come faster than they are read, the limits hold, and the call ends soon after its worker."""
    script(worker, f"#!/bin/sh\n{FLOODS[flood]}\n", limits={"transcript_mb": 8, "stop_grace": "500ms"})
    result = worker.spawn("--executor", "script")
    assert result.code in (0, 1), result
    assert not worker.alive()
    assert all(worker.transcript(ending=ending).stat().st_size <= 8 * MEGABYTE for ending in ("out", "err"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("just words\n", "it is neither a program for this machine nor a script that begins with #!"),
        ("#!/no/such/interpreter\n", "the program that its first line (#!) names is missing"),
    ],
)
def test_a_broken_program_is_reported(worker: WorkerRepo, text: str, error: str) -> None:
    """A file with the execute permission that cannot run is an error with the reason."""
    script(worker, text)
    result = worker.spawn("--executor", "script")
    assert result.code == 1, result
    assert result.err.splitlines()[-2].endswith(error), result
    turn = worker.record()["turns"][0]
    assert (turn["outcome"], turn["reason"].endswith(error), "ended_at" in turn) == ("failed", True, True)
    assert worker.spawn("--fresh").err.count("was cut off") == 0


@pytest.mark.full
def test_a_prompt_of_two_megabytes_arrives(worker: WorkerRepo) -> None:
    """A long prompt reaches the worker completely, through its stdin."""
    worker.spawn()
    text = "long words " * 190_000
    result = worker.repo.sow("agent", "resume", "010", "-", stdin=text.encode())
    assert result.code == 0, result.err
    assert text.strip() in worker.transcript(2, "prompt").read_text()
