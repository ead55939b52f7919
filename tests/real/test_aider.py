"""The real aider against the stub model. It runs no command, so its task's status is inferred from what it did."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Repo
from support import scenario

from real.install import PINNED
from real.stub import Stub
from real.workshop import Workshop, stop, wait_for

pytestmark = pytest.mark.real
EDIT = "text:Here it is.\n\nmade.txt\n```\nmade\n```\n"


@pytest.fixture
def workshop(repo: Repo, tmp_path: Path) -> Iterator[Workshop]:
    with Stub(tmp_path / "stub.jsonl") as stub:
        found = Workshop("aider", repo, stub)
        found.settings(model="openai/stub-model")
        try:
            yield found
        finally:
            found.close()


def edits(number: int) -> str:
    """What the model answers in a turn of the scenario: its edits as aider's blocks."""
    blocks = [
        f"{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"
        for path, old, new in scenario.TURNS[number - 1].edits(number)
    ]
    return "\n".join(["text:Here it is.\n", *blocks])


def test_work_pause_resume_review_and_completion(workshop: Workshop, tmp_path: Path, _project_template: Path) -> None:
    """It asks and hands in by edits of the files on its desk, and leaves what any executor leaves.

    It runs no command, so it leaves no note; its question is in its log.
    """
    workshop.settings("--edit-format", "diff", model="openai/stub-model")
    cues = [f"[[play:turn-{number}]]" for number in (1, 2, 3)]
    workshop.stub.plays |= {f"turn-{number}": [edits(number)] for number in (1, 2, 3)}
    found = scenario.play(workshop.repo, cues)
    (tmp_path / "expected").mkdir()
    expected = scenario.expected(tmp_path / "expected", _project_template, cues)
    assert found == [{path: text for path, text in each.items() if path != scenario.NOTES} for each in expected]
    assert scenario.turns(workshop.repo) == [scenario.TURN_BY_TURN]
    kept = workshop.repo.root / ".sow/local/litter/.aider.tags.cache.v4/cache.db"
    assert kept.is_file() and list(workshop.repo.root.glob(".aider*")) == []
    assert "this is all that it would show you" in workshop.asked(0)
    assert f"in {scenario.DESK}/state.yaml change `status: in_progress`" in workshop.asked(0)
    asked = [workshop.asked(number) for number in range(len(workshop.stub.requests()))]
    assert any(all(cue in each for cue in cues) for each in asked), "the last turn knows the first"


def test_work_review_sent_back_and_completion(workshop: Workshop) -> None:
    """Without yolo it edits and commits, the status is inferred, feedback goes on in the same history, and it ends."""
    workshop.stub.plays["work"] = [EDIT]
    workshop.task("play:work")
    first = workshop.spawn()
    assert (first.code, workshop.status()) == (0, "needs_review"), first
    assert (workshop.repo.root / "made.txt").read_text() == "made\n"
    assert workshop.repo.git("show", "--stat", "--format=%an", "HEAD").startswith("Ada\n\n made.txt")
    turn = workshop.turn()
    assert (turn["outcome"], turn["inferred"], turn["tools"], turn["exit"]) == ("done", True, 1, 0)
    assert (turn["cost_usd"], turn["input_tokens"], turn["output_tokens"]) == (0.0006, 100, 20)
    assert "Here it is." in first.out
    session = workshop.session()["session_id"]
    assert workshop.repo.task("010")["session_id"] == session
    assert (workshop.repo.root / f".sow/local/sessions/010/1/{session}.md").is_file()
    assert "this is all that it would show you" in workshop.asked(0)

    workshop.stub.plays["again"] = ["text:Better.\n\nmade.txt\n```\nbetter\n```\n"]
    before = len(workshop.stub.requests())
    second = workshop.resume("Make it better [[play:again]]")
    assert (second.code, workshop.status()) == (0, "needs_review"), second
    asked = workshop.asked(before)
    assert "[[play:work]]" in asked and "Here it is." in asked and "Make it better" in asked
    assert (workshop.repo.root / "made.txt").read_text() == "better\n"
    assert (workshop.session()["session_id"], workshop.repo.task("010")["iteration"]) == (session, 2)

    workshop.repo.ok("task", "set", "--id", "010", "status", "completed")
    assert "session_id" not in workshop.repo.task("010")


def test_it_works_in_the_worktree_of_a_run(workshop: Workshop) -> None:
    """A run's aider edits in its worktree, which git ignores for the checkout around it, and its work is merged."""
    workshop.stub.plays["work"] = [EDIT]
    (workshop.repo.root / "plan.md").write_text("# Plan\n\n## Task 1: Do the work [[play:work]]\n\nMake it.\n")
    workshop.repo.git("add", ".")
    workshop.repo.git("commit", "-q", "-m", "The plan")
    result = workshop.sow("run", "plan.md", "--review", "off", "--yes")
    assert (result.code, workshop.status()) == (0, "completed"), result
    assert workshop.repo.git("show", "HEAD:made.txt") == "made\n"
    assert workshop.repo.git("status", "--porcelain") == ""
    assert workshop.marked() == []


def test_a_lost_history_starts_afresh_with_the_packet(workshop: Workshop) -> None:
    """A session whose file is gone is not resumed: a fresh one is told what is on disk."""
    workshop.stub.plays["work"] = [EDIT]
    workshop.task("play:work")
    workshop.spawn()
    session = workshop.session()["session_id"]
    (workshop.repo.root / f".sow/local/sessions/010/1/{session}.md").unlink()
    before = len(workshop.stub.requests())
    workshop.stub.plays["again"] = ["text:Better.\n\nmade.txt\n```\nbetter\n```\n"]
    result = workshop.resume("Make it better [[play:again]]")
    assert (result.code, workshop.status()) == (0, "needs_review"), result
    assert workshop.turn(2)["outcome"] == "not_found"
    asked = workshop.asked(before)
    assert "An earlier session worked on this task and is gone" in asked and "Here it is." not in asked
    assert workshop.repo.task("010")["session_id"] == workshop.session(2)["session_id"] != session


@pytest.mark.parametrize(("status", "code", "outcome"), [("429", 4, "limited"), ("503", 1, "overloaded")])
def test_a_busy_model_is_a_typed_outcome(workshop: Workshop, status: str, code: int, outcome: str) -> None:
    """aider would retry for over a minute; after a few tries it is stopped, and the turn says what it was."""
    workshop.task(f"status:{status}")
    result = workshop.spawn()
    assert (result.code, workshop.turn()["outcome"], workshop.status()) == (code, outcome, "in_progress"), result
    assert f"stub {status}" in result.err
    assert workshop.turn()["seconds"] < 60


def test_an_error_is_no_success_although_the_exit_code_is_0(workshop: Workshop) -> None:
    """A refused key ends aider with exit code 0, and the turn is failed all the same."""
    workshop.task("status:401")
    result = workshop.spawn()
    assert (result.code, workshop.turn()["exit"], workshop.turn()["outcome"]) == (1, 0, "failed"), result
    assert "AuthenticationError" in result.err


def test_an_error_that_was_overcome_is_none(workshop: Workshop) -> None:
    """A model that answers after two refusals has answered."""
    workshop.task("status:503x2")
    workshop.spawn()
    assert workshop.turn()["outcome"] == "done"


def test_a_kill_in_mid_turn_leaves_no_process(workshop: Workshop) -> None:
    """Ctrl-C while aider waits for the model ends it, and the session can go on."""
    workshop.task("hang:300")
    process = workshop.start()
    wait_for(lambda: workshop.stub.requests())
    assert workshop.marked() != []
    code, _ = stop(process, signal.SIGINT)
    assert code == 130
    assert workshop.marked() == []
    workshop.stub.plays["again"] = [EDIT]
    assert workshop.resume("Go on [[play:again]]").code == 0
    assert (workshop.status(), workshop.session()["turns"][0]["outcome"]) == ("needs_review", "interrupted")


def test_a_repository_with_settings_has_to_be_trusted(workshop: Workshop) -> None:
    """aider obeys what it finds, so it is not started; in a trusted repository, and without yolo, no command runs."""
    root = workshop.repo.root
    (root / "load.txt").write_text("/run touch loaded.txt\n")
    lines = ["auto-test: true", "test-cmd: touch tested.txt", "lint-cmd: touch linted.txt", "load: load.txt"]
    (root / ".aider.conf.yml").write_text("\n".join(lines) + "\n")
    workshop.stub.plays["work"] = [EDIT]
    workshop.task("play:work")
    before = workshop.repo.snapshot()
    refused = workshop.spawn()
    assert (refused.code, workshop.repo.snapshot()) == (2, before), refused
    assert "aider would obey .aider.conf.yml of this repository" in refused.err
    workshop.trust()
    result = workshop.spawn()
    assert (result.code, workshop.status()) == (0, "needs_review"), result
    assert [name for name in ("loaded.txt", "tested.txt", "linted.txt") if (root / name).exists()] == []


def test_a_judge_changes_nothing(workshop: Workshop) -> None:
    """A reviewer only talks: an edit in its answer is not applied, and its work is handed in by nobody."""
    workshop.repo.ok("task", "create", "--name", "Review it [[play:work]]", "--agent", "reviewer")
    workshop.stub.plays["work"] = [EDIT]
    workshop.spawn(agent="reviewer")
    assert not (workshop.repo.root / "made.txt").exists()
    assert workshop.status() == "failed"


def test_the_doctor_knows_it(workshop: Workshop) -> None:
    """The doctor tells the pinned version, and that the help has every flag that sow depends on."""
    found = {each["name"]: each for each in workshop.sow("doctor", "--json").json["executors"]}["aider"]
    assert (found["version"], found["trouble"]) == (PINNED["aider"][2], None)
    assert (found["flags_known"], found["missing_flags"]) == (True, [])
