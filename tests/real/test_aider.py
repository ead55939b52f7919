"""The real aider against the stub model. It runs no command, so its task's status is inferred."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Repo
from support import shared_scenario

from real.cli_repo import CliRepo, stop, wait_for
from real.install import PINNED
from real.stub import Stub

pytestmark = pytest.mark.real
EDIT = "text:Here it is.\n\nmade.txt\n```\nmade\n```\n"


@pytest.fixture
def cli_repo(repo: Repo, tmp_path: Path) -> Iterator[CliRepo]:
    with Stub(tmp_path / "stub.jsonl") as stub:
        result = CliRepo("aider", repo, stub)
        result.settings(model="openai/stub-model")
        try:
            yield result
        finally:
            result.close()


def edits(number: int) -> str:
    """Returns the model's answer in a turn of the scenario: its edits as aider's blocks."""
    blocks = [
        f"{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"
        for path, old, new in shared_scenario.TURNS[number - 1].edits(number)
    ]
    return "\n".join(["text:Here it is.\n", *blocks])


def test_work_pause_resume_review_and_completion(cli_repo: CliRepo, tmp_path: Path, _project_template: Path) -> None:
    """It asks and hands in by edits of the files in its task folder, with the same files as any executor.

    It runs no command, so it leaves no note; its question is in its log.
    """
    cli_repo.settings("--edit-format", "diff", model="openai/stub-model")
    cues = [f"[[play:turn-{number}]]" for number in (1, 2, 3)]
    cli_repo.stub.plays |= {f"turn-{number}": [edits(number)] for number in (1, 2, 3)}
    result = shared_scenario.play(cli_repo.repo, cues)
    (tmp_path / "expected").mkdir()
    expected = shared_scenario.expected(tmp_path / "expected", _project_template, cues)
    assert result == [{path: text for path, text in item.items() if path != shared_scenario.NOTES} for item in expected]
    assert shared_scenario.turns(cli_repo.repo) == [shared_scenario.TURN_BY_TURN]
    kept = cli_repo.repo.root / ".sow/local/litter/.aider.tags.cache.v4/cache.db"
    assert kept.is_file() and list(cli_repo.repo.root.glob(".aider*")) == []
    assert "this is all that it would show you" in cli_repo.asked(0)
    assert f"in {shared_scenario.TASK_FOLDER}/state.yaml change `status: in_progress`" in cli_repo.asked(0)
    asked = [cli_repo.asked(number) for number in range(len(cli_repo.stub.requests()))]
    assert any(all(cue in text for cue in cues) for text in asked), "the last turn knows the first"


def test_work_review_sent_back_and_completion(cli_repo: CliRepo) -> None:
    """Without yolo it edits and commits, the status is inferred, and feedback continues the same history."""
    cli_repo.stub.plays["work"] = [EDIT]
    cli_repo.task("play:work")
    first = cli_repo.spawn()
    assert (first.code, cli_repo.status()) == (0, "needs_review"), first
    assert (cli_repo.repo.root / "made.txt").read_text() == "made\n"
    assert cli_repo.repo.git("show", "--stat", "--format=%an", "HEAD").startswith("Ada\n\n made.txt")
    turn = cli_repo.turn()
    assert (turn["outcome"], turn["inferred"], turn["tools"], turn["exit"]) == ("done", True, 1, 0)
    assert (turn["cost_usd"], turn["input_tokens"], turn["output_tokens"]) == (0.0006, 100, 20)
    assert "Here it is." in first.out
    session = cli_repo.session()["session_id"]
    assert cli_repo.repo.task("010")["session_id"] == session
    assert (cli_repo.repo.root / f".sow/local/sessions/010/1/{session}.md").is_file()
    assert "this is all that it would show you" in cli_repo.asked(0)

    cli_repo.stub.plays["again"] = ["text:Better.\n\nmade.txt\n```\nbetter\n```\n"]
    before = len(cli_repo.stub.requests())
    second = cli_repo.resume("Make it better [[play:again]]")
    assert (second.code, cli_repo.status()) == (0, "needs_review"), second
    asked = cli_repo.asked(before)
    assert "[[play:work]]" in asked and "Here it is." in asked and "Make it better" in asked
    assert (cli_repo.repo.root / "made.txt").read_text() == "better\n"
    assert (cli_repo.session()["session_id"], cli_repo.repo.task("010")["iteration"]) == (session, 2)

    cli_repo.repo.ok("task", "set", "--id", "010", "status", "completed")
    assert "session_id" not in cli_repo.repo.task("010")


def test_it_works_in_the_worktree_of_a_run(cli_repo: CliRepo) -> None:
    """A run's aider edits in its worktree, which git ignores for the checkout around it, and its work is merged."""
    cli_repo.stub.plays["work"] = [EDIT]
    (cli_repo.repo.root / "plan.md").write_text("# Plan\n\n## Task 1: Do the work [[play:work]]\n\nMake it.\n")
    cli_repo.repo.git("add", ".")
    cli_repo.repo.git("commit", "-q", "-m", "The plan")
    result = cli_repo.sow("run", "plan.md", "--review", "off", "--yes")
    assert (result.code, cli_repo.status()) == (0, "completed"), result
    assert cli_repo.repo.git("show", "HEAD:made.txt") == "made\n"
    assert cli_repo.repo.git("status", "--porcelain") == ""
    assert cli_repo.marked() == []


def test_a_lost_history_is_replaced(cli_repo: CliRepo) -> None:
    """A session without its file is not resumed: a fresh one gets the state on disk."""
    cli_repo.stub.plays["work"] = [EDIT]
    cli_repo.task("play:work")
    cli_repo.spawn()
    session = cli_repo.session()["session_id"]
    (cli_repo.repo.root / f".sow/local/sessions/010/1/{session}.md").unlink()
    before = len(cli_repo.stub.requests())
    cli_repo.stub.plays["again"] = ["text:Better.\n\nmade.txt\n```\nbetter\n```\n"]
    result = cli_repo.resume("Make it better [[play:again]]")
    assert (result.code, cli_repo.status()) == (0, "needs_review"), result
    assert cli_repo.turn(2)["outcome"] == "not_found"
    asked = cli_repo.asked(before)
    assert "An earlier session worked on this task and is gone" in asked and "Here it is." not in asked
    assert cli_repo.repo.task("010")["session_id"] == cli_repo.session(2)["session_id"] != session


@pytest.mark.parametrize(("status", "code", "outcome"), [("429", 4, "limited"), ("503", 1, "overloaded")])
def test_a_busy_model_is_a_typed_outcome(cli_repo: CliRepo, status: str, code: int, outcome: str) -> None:
    """aider would retry for over a minute; after a few retries it is stopped, and the turn has the reason."""
    cli_repo.task(f"status:{status}")
    result = cli_repo.spawn()
    assert (result.code, cli_repo.turn()["outcome"], cli_repo.status()) == (code, outcome, "in_progress"), result
    assert f"stub {status}" in result.err
    assert cli_repo.turn()["seconds"] < 60


def test_an_error_with_exit_code_0_is_a_failure(cli_repo: CliRepo) -> None:
    """A refused key ends aider with exit code 0, and the turn still fails."""
    cli_repo.task("status:401")
    result = cli_repo.spawn()
    assert (result.code, cli_repo.turn()["exit"], cli_repo.turn()["outcome"]) == (1, 0, "failed"), result
    assert "AuthenticationError" in result.err


def test_an_overcome_error_is_none(cli_repo: CliRepo) -> None:
    """A model that answers after two refusals has answered."""
    cli_repo.task("status:503x2")
    cli_repo.spawn()
    assert cli_repo.turn()["outcome"] == "done"


def test_ctrl_c_during_a_turn_leaves_no_process(cli_repo: CliRepo) -> None:
    """Ctrl-C while aider waits for the model ends it, and the session can continue."""
    cli_repo.task("hang:300")
    process = cli_repo.start()
    wait_for(lambda: cli_repo.stub.requests())
    assert cli_repo.marked() != []
    code, _ = stop(process, signal.SIGINT)
    assert code == 130
    assert cli_repo.marked() == []
    cli_repo.stub.plays["again"] = [EDIT]
    assert cli_repo.resume("Go on [[play:again]]").code == 0
    assert (cli_repo.status(), cli_repo.session()["turns"][0]["outcome"]) == ("needs_review", "interrupted")


def test_a_repository_with_settings_needs_trust(cli_repo: CliRepo) -> None:
    """aider obeys its files, so it is not started; in a trusted repository, and without yolo, no command runs."""
    root = cli_repo.repo.root
    (root / "load.txt").write_text("/run touch loaded.txt\n")
    lines = ["auto-test: true", "test-cmd: touch tested.txt", "lint-cmd: touch linted.txt", "load: load.txt"]
    (root / ".aider.conf.yml").write_text("\n".join(lines) + "\n")
    cli_repo.stub.plays["work"] = [EDIT]
    cli_repo.task("play:work")
    before = cli_repo.repo.snapshot()
    refused = cli_repo.spawn()
    assert (refused.code, cli_repo.repo.snapshot()) == (2, before), refused
    assert "aider would obey .aider.conf.yml of this repository" in refused.err
    cli_repo.trust()
    result = cli_repo.spawn()
    assert (result.code, cli_repo.status()) == (0, "needs_review"), result
    assert [name for name in ("loaded.txt", "tested.txt", "linted.txt") if (root / name).exists()] == []


def test_a_judge_changes_nothing(cli_repo: CliRepo) -> None:
    """An edit in a reviewer's answer is not applied, and does not hand in any work."""
    cli_repo.repo.ok("task", "create", "--name", "Review it [[play:work]]", "--agent", "reviewer")
    cli_repo.stub.plays["work"] = [EDIT]
    cli_repo.spawn(agent="reviewer")
    assert not (cli_repo.repo.root / "made.txt").exists()
    assert cli_repo.status() == "failed"


def test_doctor_knows_the_cli(cli_repo: CliRepo) -> None:
    """Doctor prints the pinned version, and finds every flag that sow depends on."""
    aider = {executor["name"]: executor for executor in cli_repo.sow("doctor", "--json").json["executors"]}["aider"]
    assert (aider["version"], aider["trouble"]) == (PINNED["aider"][2], None)
    assert (aider["flags_known"], aider["missing_flags"]) == (True, [])
