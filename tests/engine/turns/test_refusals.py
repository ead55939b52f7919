"""Refused commands of a worker appear on the screen, on its task, in its transcript and in the inbox."""

from __future__ import annotations

import yaml
from conftest import Repo
from support.simulated_workers import WorkerRepo, wait_for

INSTALL = {"refuse": "npm install left-pad"}
KEY = "agents.executors.simulated.settings.yolo_mode: true"


def refusals(repo: Repo) -> list[tuple[int, str, int]]:
    result = yaml.safe_load(repo.state("010"))["task"].get("refusals", [])
    return [(entry["iteration"], entry["command"], entry["count"]) for entry in result]


def test_a_refused_command_is_named_everywhere(worker: WorkerRepo) -> None:
    """It is printed once during the turn, and with its count at the end, on the task and in the inbox."""
    worker.scenario(
        [INSTALL, INSTALL, {"refuse": "curl x"}, {"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}]
    )
    result = worker.spawn()
    assert result.code == 0, result
    assert result.err.count("! refused: npm install left-pad (This command requires approval)") == 1
    messages = "3 commands refused: npm install left-pad (2 times), curl x"
    assert messages in result.err and KEY in result.err
    assert refusals(worker.repo) == [(1, "npm install left-pad", 2), (1, "curl x", 1)]
    shown = worker.repo.ok("task", "show", "010").out
    assert "npm install left-pad (iteration 1, 2 times): This command requires approval" in shown and KEY in shown
    inbox = worker.repo.ok("inbox").out
    assert messages in inbox and KEY in inbox
    assert (
        "[refused] Bash: npm install left-pad\n  This command requires approval"
        in worker.transcript(1, "md").read_text()
    )


def test_the_transcript_has_the_results_of_calls(worker: WorkerRepo) -> None:
    """A command's output is in the readable transcript, and a failed one is marked."""
    worker.scenario([{"run": ["echo", "hello"]}, {"run": ["ls", "/no/such"]}, {"status": "needs_review"}])
    worker.spawn()
    text = worker.transcript(1, "md").read_text()
    assert "[tool] Bash: echo hello\n[output] hello\n" in text
    assert "[failed] " in text and "/no/such" in text.partition("[failed] ")[2]


def test_a_worker_with_only_refusals_fails(worker: WorkerRepo) -> None:
    """A turn in which everything was refused fails, with the commands and the setting."""
    worker.scenario([INSTALL])
    result = worker.spawn()
    assert "The worker was denied what it needed\n" in result.err
    assert result.err.count("to let the agent do everything") == 1  # the note says it once
    assert worker.repo.ok("inbox").out.count("npm install left-pad") == 1  # so does the inbox
    assert "npm install left-pad" in result.err and KEY in result.err
    assert worker.repo.task("010")["status"] == "failed"


def test_a_secret_in_a_refused_command_is_masked(worker: WorkerRepo) -> None:
    """The value of a secret variable is neither on the screen nor on the task nor in the transcript."""
    secret = "hush-hush-value-1234"
    worker.scenario([{"refuse": f"curl -H token:{secret} x"}, {"status": "needs_review"}])
    worker.repo.environment["MY_TOKEN"] = secret
    result = worker.spawn()
    assert "refused: curl" in result.err and secret not in result.err
    assert "curl" in worker.repo.state("010") and secret not in worker.repo.state("010")
    assert secret not in worker.transcript(1, "md").read_text()


def test_refusals_of_an_interrupted_turn_are_recorded(worker: WorkerRepo) -> None:
    """If sow is killed during a turn, the next call reads the refusals from the turn's output."""
    worker.scenario([INSTALL, {"hang": True}], [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    process = worker.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: worker.transcript(1, "md").exists() and "[refused]" in worker.transcript(1, "md").read_text())
    process.kill()
    process.communicate(timeout=300)
    assert refusals(worker.repo) == []
    assert worker.resume("go on").code == 0
    assert refusals(worker.repo) == [(1, "npm install left-pad", 1)]
