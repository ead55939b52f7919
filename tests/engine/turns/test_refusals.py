"""Refused commands of a spawned worker: on the screen, on its task, in its transcript and in the inbox."""

from __future__ import annotations

import yaml
from conftest import Repo
from support.simulated_workers import Yard, wait_for

INSTALL = {"refuse": "npm install left-pad"}
KEY = "agents.executors.simulated.settings.yolo_mode: true"


def refusals(repo: Repo) -> list[tuple[int, str, int]]:
    found = yaml.safe_load(repo.state("010"))["task"].get("refusals", [])
    return [(each["iteration"], each["command"], each["count"]) for each in found]


def test_a_refused_command_is_named_everywhere(yard: Yard) -> None:
    """It is told once while the turn goes on, and with its count at the end, on the task and in the inbox."""
    yard.scenario(
        [INSTALL, INSTALL, {"refuse": "curl x"}, {"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}]
    )
    result = yard.spawn()
    assert result.code == 0, result
    assert result.err.count("! refused: npm install left-pad (This command requires approval)") == 1
    told = "3 commands refused: npm install left-pad (2 times), curl x"
    assert told in result.err and KEY in result.err
    assert refusals(yard.repo) == [(1, "npm install left-pad", 2), (1, "curl x", 1)]
    shown = yard.repo.ok("task", "show", "010").out
    assert "npm install left-pad (iteration 1, 2 times): This command requires approval" in shown and KEY in shown
    inbox = yard.repo.ok("inbox").out
    assert told in inbox and KEY in inbox
    assert (
        "[refused] Bash: npm install left-pad\n  This command requires approval" in yard.transcript(1, "md").read_text()
    )


def test_the_transcript_has_the_results_of_calls(yard: Yard) -> None:
    """What a command said is in the readable transcript, and a failed one is marked."""
    yard.scenario([{"run": ["echo", "hello"]}, {"run": ["ls", "/no/such"]}, {"status": "needs_review"}])
    yard.spawn()
    text = yard.transcript(1, "md").read_text()
    assert "[tool] Bash: echo hello\n[output] hello\n" in text
    assert "[failed] " in text and "/no/such" in text.partition("[failed] ")[2]


def test_a_worker_that_could_do_nothing_says_what_it_was_refused(yard: Yard) -> None:
    """A turn in which everything was refused fails, with the commands and the setting."""
    yard.scenario([INSTALL])
    result = yard.spawn()
    assert "The worker was denied what it needed\n" in result.err
    assert result.err.count("to let the agent do everything") == 1  # the note says it once
    assert yard.repo.ok("inbox").out.count("npm install left-pad") == 1  # so does the inbox
    assert "npm install left-pad" in result.err and KEY in result.err
    assert yard.repo.task("010")["status"] == "failed"


def test_a_secret_in_a_refused_command_is_struck_out(yard: Yard) -> None:
    """The value of a secret variable is neither on the screen nor on the task nor in the transcript."""
    secret = "hush-hush-value-1234"
    yard.scenario([{"refuse": f"curl -H token:{secret} x"}, {"status": "needs_review"}])
    yard.repo.environment["MY_TOKEN"] = secret
    result = yard.spawn()
    assert "refused: curl" in result.err and secret not in result.err
    assert "curl" in yard.repo.state("010") and secret not in yard.repo.state("010")
    assert secret not in yard.transcript(1, "md").read_text()


def test_refusals_of_a_turn_that_was_cut_off_are_recorded(yard: Yard) -> None:
    """If sow is killed during a turn, the next call reads what was refused from the turn's output."""
    yard.scenario([INSTALL, {"hang": True}], [{"write": {"path": "a", "text": "b"}}, {"status": "needs_review"}])
    process = yard.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: yard.transcript(1, "md").exists() and "[refused]" in yard.transcript(1, "md").read_text())
    process.kill()
    process.communicate(timeout=300)
    assert refusals(yard.repo) == []
    assert yard.resume("go on").code == 0
    assert refusals(yard.repo) == [(1, "npm install left-pad", 1)]
