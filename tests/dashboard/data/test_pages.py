"""The pages of a task and of a run: documents from real sessions, pins, evidence and journals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from hypothesis import given
from hypothesis import strategies as st
from support.claim_holder import hold_claim
from support.dashboard_data import facts_of
from support.journals import MadeUpRun
from support.plan_repo import PlanRepo
from support.workflow_repo import WorkflowRepo

from sow.dashboard.data import paging
from sow.dashboard.data.page_errors import PageNotFound
from sow.errors import SowError
from sow.reports.run_history import RunHistory
from sow.system import environment

SECRET = "hush-4711-hush-4711"


def run_of(plan_repo: PlanRepo) -> str:
    result: str = plan_repo.runs()[-1]["id"]
    return result


@pytest.mark.full
def test_the_page_of_a_task_has_sessions_and_reviews(finished: PlanRepo):
    """It has the document of `sow task show`, with every session, turn, review and evidence."""
    page = facts_of(finished.repo).task("020")
    shown = finished.repo.task("020")
    assert {key: page[key] for key in shown if key not in ("evidence", "reviews")} == {
        key: shown[key] for key in shown if key not in ("evidence", "reviews")
    }
    assert [(review["verdict"], review["iteration"]) for review in page["reviews"]] == [("RED", 1), ("GREEN", 2)]
    roles = [(session["role"], len(session["turns"])) for session in page["sessions"]]
    assert roles == [("implementer", 2), ("quality-control", 1), ("quality-control", 1)]
    turn = page["sessions"][0]["turns"][1]
    assert (turn["kind"], turn["iteration"], turn["outcome"], turn["live"]) == ("resume", 2, "done", False)
    assert page["row"]["id"] == "020"
    assert (page["acts"], page["worktree"]) == ([], None)
    assert page["branch"] == f"sow/task/{run_of(finished)}/020"


def test_the_page_of_a_task_has_its_acts(finished: PlanRepo, task_repo: Repo):
    """Each status has its acts, and a question can be answered."""
    assert facts_of(finished.repo).task("030")["acts"] == ["answer", "feedback", "abandon"]
    facts = facts_of(task_repo)
    assert facts.task("010")["acts"] == ["feedback", "abandon"]
    with hold_claim(task_repo, "task-010"):
        assert facts.task("010")["next"] == "an agent works on it; to watch it: sow watch 010"
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    assert facts.task("010")["acts"] == ["approve", "send-back", "feedback", "abandon"]
    task_repo.ok("approve", "010")
    assert facts.task("010")["acts"] == []


@pytest.mark.full
def test_the_page_of_a_task_has_its_refusals(plan_repo: PlanRepo):
    """The page lists refused commands, the setting that allows them, and concerns."""
    done = {"status": "needs_review"}
    plan_repo.simulated("barred", "implementer", [{"refuse": "npm install"}, {"refuse": "npm install"}, done])
    plan_repo.plan("First")
    assert plan_repo.run("--review", "off").code == 0
    page = facts_of(plan_repo.repo).task("010")
    (refused,) = page["refusals"]
    assert (refused["text"], refused["count"], refused["iteration"]) == ("npm install", 2, 1)
    assert "agents.executors.barred.settings.yolo_mode: true" in page["refusals_advice"]
    assert [concern["kind"] for concern in page["concerns"]] == ["refused", "no_changes"]


@pytest.mark.parametrize("ident", ["990", "first", "../010", "", "010/../020", "\x00"])
def test_an_unknown_task_turn_or_run_is_missing(finished: PlanRepo, ident: str):
    """A missing task, turn or run is one kind of error, whatever its name."""
    facts = facts_of(finished.repo)
    for ask in (facts.task, facts.run, facts.timeline):
        with pytest.raises(PageNotFound):
            ask(ident)
    with pytest.raises(PageNotFound):
        facts.transcript(ident, "1", "1", "", "", "")
    with pytest.raises(PageNotFound):
        facts.transcript("010", "9", "9", "", "", "")
    with pytest.raises(PageNotFound):
        facts.evidence("010", "99", "", "")


def test_a_transcript_is_read_page_by_page(finished: PlanRepo):
    """The pages of a transcript add up to the whole, however they are cut; no character is broken."""
    facts = facts_of(finished.repo)
    whole = facts.transcript("010", "1", "1", "out", "", "")
    assert (whole["more"], whole["live"]) == (False, False)
    assert "line 39 ä€😀" in whole["text"]
    for limit in ("4", "7", "100"):
        text, place = "", 0
        while True:
            page = facts.transcript("010", "1", "1", "out", str(place), limit)
            text, place = text + page["text"], page["next"]
            if not page["more"]:
                break
        assert text == whole["text"]
    assert facts.transcript("010", "1", "1", "out", "-10", "")["text"] == whole["text"][-4:]
    assert "[raw] line 0" in facts.transcript("010", "1", "1", "readable", "", "")["text"]
    with pytest.raises(SowError, match="no part"):
        facts.transcript("010", "1", "1", "../record.yaml", "", "")


@given(st.text(max_size=60), st.integers(4, 9))
def test_pages_add_up(text: str, limit: int):
    """The pages of any text, of any size, add up to the text."""
    result, place = "", 0
    while True:
        page = paging.text_page(text, str(place), str(limit), [])
        assert page["next"] > place or not page["more"]
        result, place = result + page["text"], page["next"]
        if not page["more"]:
            break
    assert result == text.encode("utf-8", "replace").decode()


def test_a_hundred_megabytes_are_not_read_at_once(tmp_path: Path):
    """A page of a huge file is read from its offset, and a file that grew shows its new end."""
    path = tmp_path / "turn-001.out"
    with path.open("wb") as file:
        file.truncate(100 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"the end\n")
    page = paging.file_page(str(path), "-8", "", [])
    assert (page["text"], page["size"], page["more"]) == ("the end\n", (100 << 20) + 8, False)
    first = paging.file_page(str(path), "", "999999999", [])
    assert (len(first["text"]), first["more"]) == (1 << 20, True)


@pytest.mark.parametrize("cut", range(24))
def test_no_secret_is_shown(tmp_path: Path, cut: int):
    """A secret in a file is masked, also if a page begins or ends within it."""
    path = tmp_path / "turn-001.md"
    path.write_text(f"ab{SECRET}cd")
    needles = environment.needles([SECRET])
    for start, limit in ((cut, 100), (0, max(cut, 4))):
        page = paging.file_page(str(path), str(start), str(limit), needles)
        assert not any(SECRET[at : at + 2] in page["text"] for at in range(len(SECRET) - 2))


def test_a_live_turn_shows_no_secret(plan_repo: PlanRepo):
    """A worker's own keys are in its file until the turn ends, and on no page."""
    plan_repo.repo.ok("init")
    plan_repo.settings["agents"]["executors"]["hand"]["settings"]["env"] = ["HAND_TOKEN"]
    plan_repo.configure()
    os.mkfifo(plan_repo.folder / "fifo")
    plan_repo.act("implementer", f"echo $HAND_TOKEN; echo said; cat {plan_repo.folder}/fifo; echo on > part.txt\n")
    plan_repo.plan("First")
    plan_repo.repo.environment["HAND_TOKEN"] = SECRET
    run = plan_repo.start()
    facts = facts_of(plan_repo.repo)
    page = _until_said(facts, plan_repo)
    assert page["live"]
    assert SECRET not in page["text"]
    assert facts.task("010")["sessions"][0]["turns"][0]["live"]
    assert facts.state()["tasks"][0]["running"]
    (plan_repo.folder / "fifo").write_text("go on\n")
    assert run.wait(60) == 0


def _until_said(facts: Any, plan_repo: PlanRepo) -> dict[str, Any]:
    from support.simulated_workers import wait_for

    def refresh() -> Any:
        try:
            page = facts.transcript("010", "1", "1", "readable", "", "")
        except SowError:
            return None
        return page if "said" in page["text"] else None

    result: dict[str, Any] = wait_for(refresh)
    return result


def test_a_diff_for_every_iteration(finished: PlanRepo):
    """Each pinned iteration is compared with its base; files are counted, long diffs are cut into pages."""
    facts = facts_of(finished.repo)
    last = facts.diff("020", "", "", "")
    assert [iteration["iteration"] for iteration in last["iterations"]] == [1, 2]
    assert last["iteration"] == 2
    assert "+better" in last["text"]
    first = facts.diff("020", "1", "", "")
    assert "+by 020" in first["text"]
    assert first["files"] == [{"path": "part_020.txt", "added": 1, "removed": 0}]
    assert not first["cut"]
    page = facts.diff("020", "1", "0", "20")
    assert (page["text"], page["more"]) == (first["text"][:20], True)
    assert "part_010.txt" not in first["text"]
    with pytest.raises(PageNotFound):
        facts.diff("020", "7", "", "")
    assert facts.diff("040", "", "", "")["iterations"] == []


def test_evidence_shows_the_output_of_a_check(finished: PlanRepo):
    """The kept output of a check is found by its digest."""
    facts = facts_of(finished.repo)
    (first, *_) = facts.task("010")["evidence"]
    assert (first["command"], first["passed"], len(first["digest"])) == ("cat part_010.txt", True, 64)
    assert facts.evidence("010", "0", "", "")["text"] == "by 010"


def test_a_run_has_one_diff(finished: PlanRepo):
    """The diff of a run has the files of all merged tasks, without sow's own state, page by page."""
    facts = facts_of(finished.repo)
    (run,) = facts.runs()["runs"]
    whole = facts.run_diff(run["id"], "", "")
    assert [file["path"] for file in whole["files"]] == ["part_010.txt", "part_020.txt"]
    assert "+better" in whole["text"] and ".sow/" not in whole["text"]
    page = facts.run_diff(run["id"], "0", "20")
    assert (page["text"], page["more"]) == (whole["text"][:20], True)


def test_runs_are_listed_with_their_sums(finished: PlanRepo):
    """The list has the fields of `sow runs list`, and time, speed-up and tokens; a report has everything."""
    facts = facts_of(finished.repo)
    (run,) = facts.runs()["runs"]
    (existing,) = finished.repo.ok("runs", "list", "--json").json["runs"]
    assert {key: run[key] for key in existing} == existing
    assert run["seconds"] > 0
    assert run["cost_usd"] is None
    assert facts.run(run["id"]) == finished.repo.ok("runs", "show", "--json").json
    shown = facts.timeline(run["id"])
    assert [lane["id"] for lane in shown["lanes"]] == ["010", "020", "030", "040"]
    assert {span["outcome"] for span in shown["spans"] if span["kind"] == "review"} == {"GREEN", "RED"}
    assert shown["next"] == os.path.getsize(f"{finished.repo.root}/.sow/local/runs/{run['id']}/journal.jsonl")


def test_the_journal_comes_in_pages(finished: PlanRepo):
    """Lines are read from an offset, a number at a time, or from the end; together they are all lines."""
    facts, run = facts_of(finished.repo), run_of(finished)
    whole = facts.entries(run, "", "")
    assert (whole["lines"][0]["event"], whole["lines"][-1]["event"]) == ("run_started", "run_ended")
    result: list[Any] = []
    place, more = "0", True
    while more:
        page = facts.entries(run, place, "3")
        result, place, more = result + page["lines"], str(page["next"]), page["more"]
    assert [entry["event"] for entry in result] == [line["event"] for line in whole["lines"]]
    assert facts.entries(run, "-300", "")["lines"][-1] == whole["lines"][-1]
    with pytest.raises(SowError, match="whole number"):
        facts.entries(run, "x", "")


def test_costs_add_up(repo: Repo):
    """Costs of turns are summed by agent, executor and run, and unknown ones are counted."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    journal.turn(1, 3, "010")
    journal.turn(4, 9, "010", executor="other", cost_usd=None, input_tokens=None, output_tokens=None)
    journal.end(10)
    costs = facts_of(repo).cost()
    (agent,) = costs["by_agent"]
    assert (agent["name"], agent["turns"], agent["seconds"], agent["cost_unknown_turns"]) == ("implementer", 2, 7, 1)
    assert (agent["cost_usd"], agent["input_tokens"]) == (0.25, 1000)
    assert [(row["name"], row["cost_usd"]) for row in costs["by_executor"]] == [("claude-code", 0.25), ("other", None)]
    assert [(row["name"], row["title"]) for row in costs["by_run"]] == [(journal.folder.id, "Add a login")]
    assert costs["total"]["turns"] == 2


def test_turns_outside_of_runs_have_costs(task_repo: Repo, tmp_path: Path):
    """A worker that was spawned by hand is in the sums, and in no run."""
    plan_repo = PlanRepo(task_repo, tmp_path)
    task_repo.ok("agent", "spawn", "implementer", "010")
    costs = facts_of(plan_repo.repo).cost()
    assert [(row["name"], row["turns"]) for row in costs["by_run"]] == [("outside of runs", 1)]
    assert costs["by_executor"][0]["name"] == "hand"


def test_the_library_shows_roles_and_executors(finished: PlanRepo):
    """Every role is listed with its executor; an unreadable file is reported and hides nothing else."""
    result = facts_of(finished.repo).library()
    players = {agent["name"]: agent["executor"] for agent in result["agents"]}
    assert players["implementer"] == "hand"
    assert (result["sinks"], result["repos"], result["problems"]) == ([], [], [])
    (Path(finished.repo.root) / ".sow/sinks").mkdir(exist_ok=True)
    index = Path(finished.repo.root) / ".sow/sinks/index.json"
    index.write_text("{")
    try:
        broken = facts_of(finished.repo).library()
    finally:
        index.unlink()
    assert len(broken["agents"]) == len(result["agents"])
    assert len(broken["problems"]) == 1


def test_a_workflow_has_its_page(repo: Repo, tmp_path: Path):
    """Agents, notes and verifiers are listed; an agent has a page like a task; approval is offered when it is due."""
    facts = facts_of(repo)
    with pytest.raises(PageNotFound):
        facts.workflow()
    WorkflowRepo(repo, tmp_path).begin().crew({"first": [], "second": ["first"]})
    repo.ok("workflow", "verify", "--executor", "simulated")
    facts.watch.refresh(whole=True)
    page = facts.workflow()
    shown = repo.ok("workflow", "status", "--json").json
    assert {key: page[key] for key in shown} == shown
    assert [row["id"] for row in page["members"]] == ["first", "second"]
    assert (page["notes"], page["verifiers"]["first"]) == ({"first": [], "second": []}, "first_verifier")
    assert page["acts"] == ["approve-workflow"]
    agent = facts.task("second")
    assert "Write what is asked for." in agent["description"]
    assert (agent["own_status"], agent["acts"], agent["row"]["waits_for"]) == ("pending", [], ["first"])
    assert facts.diff("second", "", "", "")["iterations"] == []


@pytest.mark.full
def test_a_finished_crew(repo: Repo, tmp_path: Path):
    """After a real run of a workflow its agents are done, its judges' verdicts are shown, and its turns are counted."""
    work = [
        {"write": {"path": "orchestration/agents/first/task_output/first.txt", "text": "one line\n"}},
        {"stand": "completion_drive_review"},
        {"stand": "ready_for_verification"},
        {"say": "done"},
    ]
    judged = [[{"say": "I read it.\n\nVerification: PASSED"}]]
    WorkflowRepo(repo, tmp_path).begin().crew({"first": []}).scripted({"first": [work], "first_verifier": judged})
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    repo.ok("workflow", "run", "--executor", "script")
    facts = facts_of(repo)
    state = facts.state()
    assert (state["run"]["kind"], state["run"]["go_on"]) == ("workflow", "sow workflow run --executor script")
    assert [(row["id"], row["status"], row["executor"]) for row in state["tasks"]] == [("first", "completed", "script")]
    shown = facts.timeline(state["run"]["id"])
    assert [(span["kind"], span["outcome"]) for span in shown["spans"]] == [("work", "done"), ("review", "passed")]
    page = facts.task("first")
    assert [(session["role"], len(session["turns"])) for session in page["sessions"]] == [("implementer", 1)]
    assert "[text] done" in facts.transcript("first", "1", "1", "readable", "", "")["text"]
    turns = {agent["name"]: agent["turns"] for agent in facts.cost()["by_agent"]}
    assert (turns["implementer"], turns["verifier"]) == (1, 1)


def test_one_request_reads_the_journal_once(finished: PlanRepo, monkeypatch: pytest.MonkeyPatch):
    """No page reads the journal of a run twice, and a list does not read an unchanged run again."""
    histories: list[RunHistory] = []
    make = RunHistory.__init__

    def count(history: RunHistory, **options: Any) -> None:
        histories.append(history)
        make(history, **options)

    monkeypatch.setattr(RunHistory, "__init__", count)
    facts, run = facts_of(finished.repo), run_of(finished)
    pages = {
        "state": facts.state,
        "task": lambda: facts.task("020"),
        "run": lambda: facts.run(run),
        "timeline": lambda: facts.timeline(run),
        "entries": lambda: facts.entries(run, "", ""),
        "runs": facts.runs,
        "cost": facts.cost,
    }
    counts = []
    for _ in range(2):
        for show in pages.values():
            histories.clear()
            assert show()
            counts.append(len(histories))
    assert counts == [1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0]


def test_a_stopped_run_is_reduced_once(repo: Repo, monkeypatch: pytest.MonkeyPatch):
    """The command that continues a run uses the history that the page already has."""
    repo.ok("task", "create", "--name", "One")
    repo.ok("task", "set", "--id", "010", "status", "in_progress")
    journal = MadeUpRun(repo, ["010"])
    journal.begin(asked=["retries"])
    journal.add(1, "task_started", task="010", iteration=1)
    monkeypatch.setattr("sow.reports.next_steps.read_history", lambda *_: pytest.fail("the journal is read again"))
    state = facts_of(repo).state()
    assert state["run"]["go_on"] in state["next"]["command"]
    assert "--retries 2" in state["run"]["go_on"]
