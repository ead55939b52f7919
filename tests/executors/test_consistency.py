"""One scenario with every executor leaves equal state files, except for ids, times and costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fakes
import pytest
import yaml
from conftest import Repo
from support import shared_scenario
from support.quick_cases import few_of
from support.shared_scenario import ANSWER, FEEDBACK, NOTES, QUESTION, TURNS, Picture

from sow.executors.settings import ADAPTERS
from sow.executors.settings import adapter as find_adapter

CUE = "[[sh:worker]]"
# A worker that keeps no session starts a new one for each turn.
FRESH = [shared_scenario.TURN_BY_TURN[:1], *[[("recovery", "done", "needs_review", False)]] * 2]


def hire(repo: Repo, kind: str, folder: Path) -> None:
    """Makes an executor of this type the implementer; its program is a fake, or comes with sow."""
    folder.mkdir()
    shared_scenario.write_worker(folder / "worker")
    repo.environment["PATH"] = f"{folder}:{repo.environment['PATH']}"
    edits = folder / "edits.json"
    edits.write_text(json.dumps([turn.edits(number) for number, turn in enumerate(TURNS, 1)]))
    repo.environment |= {"AIDER_STAND_IN_EDITS": str(edits), "AMP_API_KEY": "dummy-key-of-amp"}
    own: dict[str, dict[str, Any]] = {"command": {"command": ["worker"]}, "simulated": shared_scenario.scripted(folder)}
    if kind not in own:
        fakes.install(repo, find_adapter(kind).capabilities.binary, folder)
    shared_scenario.bind(repo, kind, own.get(kind, {"yolo_mode": True}))


@pytest.fixture(scope="module")
def expected(_project_template: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    """Returns the files of the simulated agent."""
    return shared_scenario.expected(tmp_path_factory.mktemp("expected"), _project_template, [CUE] * 3)


def test_the_scenario_uses_every_step(expected: list[Picture]) -> None:
    """It pauses with a question, is answered, handed in, sent back, handed in again and completed."""
    states = [yaml.safe_load(item[f"{shared_scenario.TASK_FOLDER}/state.yaml"])["task"] for item in expected]
    assert [state["status"] for state in states] == ["paused", "needs_review", "needs_review", "completed"]
    assert [state["iteration"] for state in states] == [1, 2, 3, 3]
    assert [state.get("session_id") for state in states] == ["ID", "ID", "ID", None]
    assert (states[0]["question"]["text"], states[1]["questions"][0]["answer"]) == (QUESTION, f"{ANSWER} {CUE}")
    assert [json.loads(item[NOTES])["notes"][0]["status"] for item in expected] == ["escalated", *["resolved"] * 3]
    files = [expected[-1][f"{shared_scenario.TASK_FOLDER}/feedback/00{number}.md"] for number in (1, 2)]
    assert f"{ANSWER} {CUE}" in files[0] and f"{FEEDBACK} {CUE}" in files[1]
    log = expected[-1][f"{shared_scenario.TASK_FOLDER}/log.md"]
    assert [f"implementer-{number}" in log for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert expected[-1][shared_scenario.FILE].splitlines() == [turn.line for turn in TURNS]


@few_of("kind", ADAPTERS, 2)
def test_every_executor_leaves_the_same_state(repo: Repo, kind: str, tmp_path: Path, expected: list[Picture]) -> None:
    """After every step of the scenario the state files, logs, feedback and notes are those of any other executor.

    Two CLIs cannot do all of it. Windsurf keeps no session: an answer and a review lead to a fresh one each, and the
    files are equal, except for the project's log, which names the commands. aider runs no command: it edits the
    files of its task folder, and asks in its log without a note; all else is equal.
    """
    hire(repo, kind, tmp_path / "bin")
    resumes = find_adapter(kind).capabilities.resumes
    result = shared_scenario.play(repo, [CUE] * 3, resumes=resumes)
    without = {NOTES} if kind == "aider" else set() if resumes else {".sow/project/log.md"}
    assert all(path in text for text in expected for path in (NOTES, *without))
    wanted = [{path: text for path, text in item.items() if path not in without} for item in expected]
    assert [{path: text for path, text in item.items() if path not in without} for item in result] == wanted
    assert shared_scenario.turns(repo) == ([shared_scenario.TURN_BY_TURN] if resumes else FRESH)


@pytest.mark.full
def test_aiders_cache_is_kept_out_of_the_repository(repo: Repo, tmp_path: Path) -> None:
    """Its cache is kept between turns, but not in the repository; a user's own cache stays."""
    hire(repo, "aider", tmp_path / "bin")
    beside, away = repo.root / ".aider.tags.cache.v4", repo.root / ".sow/local/litter/.aider.tags.cache.v4"
    repo.ok("task", "create", "--name", shared_scenario.NAME, "--agent", "implementer")
    repo.ok("agent", "spawn", "implementer", "010")
    repo.ok("agent", "resume", "010", ANSWER)
    assert not beside.exists() and (away / "00/cache.val").read_text() == "xx"
    beside.mkdir()
    repo.ok("agent", "resume", "010", FEEDBACK)
    assert (beside / "00/cache.val").read_text() == "x" and (away / "00/cache.val").read_text() == "xx"
