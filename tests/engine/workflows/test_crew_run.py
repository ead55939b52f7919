"""The run of a workflow, each path once, with agents that are functions."""

from __future__ import annotations

import json

import pytest
from support.in_process_crew import CrewRepo, Turn, design, member, obedient_agent

from sow.errors import SowError
from sow.executors.adapter import Outcome
from sow.reports import run_report
from sow.store.runs import run_folder
from sow.store.workflows import members

FAILED = {"result": "failed", "missing_evidence": ["a test run"], "findings": [{"text": "the output is too short"}]}


def test_a_crew_completes_its_work(crew_repo: CrewRepo) -> None:
    """Every agent works, is verified after its dependencies, and its session is archived."""
    design(crew_repo.home(), [member("data"), member("api", "data"), member("page", "api")])
    assert crew_repo.run(obedient_agent) == 0
    assert set(crew_repo.statuses().values()) == {"session_complete"}
    assert crew_repo.log == [
        "data:spawn",
        "checker:review",
        "api:spawn",
        "checker:review",
        "page:spawn",
        "checker:review",
    ]
    assert crew_repo.workflow()["status"] == "completed"
    archived = sorted(
        path.parent.parent.name for path in crew_repo.root.glob("orchestration/agents/*/*/session_2*.json")
    )
    assert archived == ["api", "data", "page"]
    assert not list(crew_repo.root.glob("orchestration/agents/*/completion_drive/session_current.json"))
    assert crew_repo.run(obedient_agent) == 0
    assert len(crew_repo.log) == 6


def test_groups_run_in_parallel(crew_repo: CrewRepo) -> None:
    """Agents of one group work at the same time, and one of a later group waits for all of them."""
    names = ["data", "api", "page", "docs"]
    design(crew_repo.home(), [member(name) for name in names], groups=["data", ["api", "page"], "docs"])
    assert crew_repo.run(obedient_agent) == 0
    spawned = [text for text in crew_repo.log if text.endswith("spawn")]
    assert spawned == ["data:spawn", "api:spawn", "page:spawn", "docs:spawn"]
    assert crew_repo.log.index("page:spawn") == crew_repo.log.index("api:spawn") + 1
    assert crew_repo.log.index("docs:spawn") == len(crew_repo.log) - 2


def test_a_failed_verification_sends_the_work_back(crew_repo: CrewRepo) -> None:
    """The findings are in the agent's folder and in the next prompt; passing removes them, and all are kept."""
    prompts: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier":
            return turn.say(**(FAILED if len(prompts) == 1 else {"result": "passed"}))
        prompts.append(turn.prompt)
        if len(prompts) == 2:
            assert (
                json.loads((crew_repo.root / "orchestration/agents/data/verification_results.json").read_text())[
                    "round"
                ]
                == 1
            )
        turn.write(f"version {len(prompts)}\n")
        turn.hand_in()
        return "done"

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.log == ["data:spawn", "checker:review", "data:resume", "checker:review"]
    assert "the output is too short" in prompts[1]
    assert "a test run" in prompts[1]
    task_folder = crew_repo.root / "orchestration/agents/data"
    assert not (task_folder / "verification_results.json").exists()
    rounds = [
        json.loads(path.read_text())["result"] for path in sorted((task_folder / "verification_history").iterdir())
    ]
    assert rounds == ["failed", "passed"]
    assert crew_repo.members()["data"]["outputs"][0]["version"] == 2
    messages = [(event["result"], event["reason"]) for event in crew_repo.events_of("verification")]
    assert messages == [("failed", "a test run"), ("passed", "")]


def test_five_failed_verifications_are_a_question(crew_repo: CrewRepo) -> None:
    """The fifth failure asks a person, whose answer gives the agent new verifications."""
    answers = {"result": "failed"}

    def script(turn: Turn) -> str:
        return (
            turn.say(**({**FAILED, **answers} if answers["result"] == "failed" else answers))
            if turn.role == "verifier"
            else obedient_agent(turn)
        )

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 4
    assert crew_repo.log.count("checker:review") == 5
    assert crew_repo.members()["data"]["question"]["kind"] == "rounds"
    assert crew_repo.workflow()["status"] == "blocked"
    answers["result"] = "passed"
    assert crew_repo.answer("It may be short") == 1
    assert crew_repo.run(script) == 0


def test_a_missing_output_needs_no_verifier(crew_repo: CrewRepo) -> None:
    """A verification without the outputs of the plan fails, and the agent gets the missing paths."""
    prompts: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier":
            return turn.say(result="passed")
        prompts.append(turn.prompt)
        if len(prompts) > 1:
            turn.write()
        turn.hand_in()
        return "done"

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.log == ["data:spawn", "data:resume", "checker:review"]
    assert "task_output/out.md" in prompts[1]


@pytest.mark.parametrize("kind", ["failed", "timeout"])
def test_three_bad_turns_fail_an_agent(crew_repo: CrewRepo, kind: str) -> None:
    """A crash or a time-out is retried twice; then the agent has failed and asks, and the rest continues (C6)."""
    crash = [True]

    def script(turn: Turn) -> str | Outcome:
        return Outcome(kind, reason="it broke") if turn.name == "data" and crash else obedient_agent(turn)

    design(
        crew_repo.home(), [member("data"), member("other"), member("api", "data")], groups=[["data", "other"], "api"]
    )
    assert crew_repo.run(script) == 1
    assert crew_repo.statuses() == {"data": "failed", "other": "verified", "api": "pending"}
    assert [line for line in crew_repo.log if line.startswith("data")] == ["data:spawn", "data:resume", "data:resume"]
    assert crew_repo.members()["data"]["question"]["kind"] == "failed"
    home = crew_repo.home()
    (folder,) = run_folder.all_folders(home)
    rows = run_report.report_data(home, folder)["tasks"]
    assert {row["id"]: row["tries"] for row in rows} == {"data": 3, "other": 1, "api": 0}
    crash.clear()
    crew_repo.answer("Try it again")
    assert crew_repo.run(script) == 0


def test_a_silent_agent_is_reminded_once(crew_repo: CrewRepo) -> None:
    """A turn that ends in working without outputs gets a reminder, and then counts as a failed turn."""

    def script(turn: Turn) -> str:
        return "I am done" if turn.name == "data" else obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 1
    assert crew_repo.log == ["data:spawn", "data:reminder", *["data:resume", "data:reminder"] * 2]


def test_a_silent_hand_in_is_inferred(crew_repo: CrewRepo) -> None:
    """Existing outputs without unresolved notes count as handed in; an escalated note counts as blocked."""

    def script(turn: Turn) -> str:
        if turn.name != "data":
            return obedient_agent(turn)
        if turn.kind == "spawn":
            turn.escalate("Which colour?")
        turn.write()
        return "done"

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.log == ["data:spawn", "workflow_architect:review", "data:resume", "checker:review"]


def test_an_answer_passes_the_architect(crew_repo: CrewRepo) -> None:
    """A user's question is asked, answered, checked by the architect, written into the note, and in the next prompt."""
    prompts: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            prompts.append(turn.prompt)
            if len(prompts) == 1:
                return turn.decide("user", "Must an address be unique?")
            return turn.decide("answer", "Make it unique, as the person says")
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Unique?")
            turn.set("blocked")
            return "blocked"
        prompts.append(turn.prompt) if turn.name == "data" else None
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 4
    question = crew_repo.members()["data"]["question"]
    assert (question["number"], question["kind"]) == (1, "user")
    assert "Must an address be unique?" in question["text"]
    assert crew_repo.events_of("question")[0]["number"] == "w1"
    crew_repo.answer("Yes, unique")
    assert crew_repo.run(script) == 0
    assert "Yes, unique" in prompts[1] and "| Goal: " in prompts[1]
    assert "Make it unique, as the person says" in prompts[2]
    (note,) = next(crew_repo.sessions())["notes"]
    assert (note["status"], note["resolved_by"]) == ("resolved", "user")
    assert note["resolution"] == "Make it unique, as the person says"


def test_a_technical_question_goes_to_the_solution_architect(crew_repo: CrewRepo) -> None:
    """It works, is verified like any agent, and its decision goes through the architect into the note."""
    seen: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            seen.append(turn.prompt)
            return (
                turn.decide("solution_architect", "Which hash?") if len(seen) == 1 else turn.decide("answer", "Argon2")
            )
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Which hash?", "security")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.log == [
        "data:spawn",
        "workflow_architect:review",
        "solution_architect_agent:spawn",
        "solution_verifier:review",
        "workflow_architect:review",
        "data:resume",
        "checker:review",
    ]
    assert "Use the first." in seen[1]
    assert crew_repo.statuses() == {"data": "session_complete", "solution_architect_agent": "session_complete"}
    notes = [note for session in crew_repo.sessions() for note in session["notes"]]
    assert [note["resolved_by"] for note in notes] == ["workflow_executor"]


def test_the_same_question_three_times_is_a_loop(crew_repo: CrewRepo) -> None:
    """Normal resolution stops, and the architect and the person get the whole history, also after a restart."""
    calls: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            calls.append(turn.prompt)
            if "analysis" in turn.prompt:
                return turn.say(analysis="They wait for each other")
            return turn.decide("answer", f"Answer {len(calls)}")
        if turn.name == "data" and len(calls) < 4:
            turn.escalate("Which colour is it?" + " " * len(calls))
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 4
    assert len(calls) == 3
    question = crew_repo.members()["data"]["question"]
    assert question["kind"] == "loop"
    assert "They wait for each other" in question["text"]
    assert "Answer 1" in question["text"]
    crew_repo.answer("Blue, for good")
    assert crew_repo.run(script) == 0
    assert "Blue, for good" in calls[3]


def test_notes_are_answered_in_order(crew_repo: CrewRepo) -> None:
    """The agent that was blocked first is served first, with all its notes together."""
    heard: list[list[str]] = []

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect":
            heard.append(turn.asked)
            return turn.decide("answer")
        if turn.kind == "spawn" and turn.name in ("first", "second"):
            for number in range(2 if turn.name == "first" else 1):
                turn.escalate(f"What about {turn.name} {number} {'x' * number}?")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    design(crew_repo.home(), [member("second"), member("first")], groups=[["first", "second"]])
    assert crew_repo.run(script) == 0
    assert sorted(heard) == [["note_001"], ["note_001", "note_002"]]


def test_an_unreadable_architect_is_a_question(crew_repo: CrewRepo) -> None:
    """After one more turn in the same session the person decides; nothing is guessed."""

    def script(turn: Turn) -> str:
        if turn.role == "workflow-architect" and "The person answers" not in turn.prompt:
            return "I would say: yes"
        if turn.name == "data" and turn.kind == "spawn":
            turn.escalate("Which colour?")
            turn.set("blocked")
            return "blocked"
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 4
    assert crew_repo.log == ["data:spawn", "workflow_architect:review", "workflow_architect:reminder"]
    assert "Which colour?" in crew_repo.members()["data"]["question"]["text"]
    crew_repo.answer("Blue")
    assert crew_repo.run(script) == 0


def test_a_verifier_without_a_result_verifies_nothing(crew_repo: CrewRepo) -> None:
    """Three unreadable verifier turns are a question, and the agent is not verified."""
    mute = [True]

    def script(turn: Turn) -> str:
        return "It looks fine to me" if turn.role == "verifier" and mute else obedient_agent(turn)

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 4
    assert crew_repo.statuses() == {"data": "ready_for_verification"}
    assert crew_repo.log == ["data:spawn", *["checker:review", "checker:reminder"] * 3]
    assert crew_repo.members()["data"]["question"]["kind"] == "verifier"
    mute.clear()
    crew_repo.answer("Ask it once more")
    assert crew_repo.run(script) == 0


def test_an_agent_cannot_verify_itself(crew_repo: CrewRepo) -> None:
    """An edit of shared_status.json to `verified` does not count, is set aside, and the agent is informed."""
    prompts: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name != "data":
            return obedient_agent(turn)
        prompts.append(turn.prompt)
        view = crew_repo.root / "orchestration/shared_status.json"
        if len(prompts) == 1:
            turn.write()
            view.write_text(view.read_text().replace('"working"', '"verified"'))
            return "done"
        turn.hand_in()
        return "done"

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.log[-1] == "checker:review"
    assert list(crew_repo.root.glob("orchestration/agents/data/set_aside/*shared_status.json"))


def test_a_legal_edit_of_the_view_counts(crew_repo: CrewRepo) -> None:
    """An agent without sow edits its own entry, and its legal move is read from there."""

    def script(turn: Turn) -> str:
        if turn.name != "data":
            return obedient_agent(turn)
        turn.write()
        view = crew_repo.root / "orchestration/shared_status.json"
        view.write_text(view.read_text().replace('"working"', '"ready_for_verification"'))
        return "done"

    design(crew_repo.home(), [member("data")])
    assert crew_repo.run(script) == 0
    assert crew_repo.log == ["data:spawn", "checker:review"]


def test_an_agent_is_told_of_a_changed_input(crew_repo: CrewRepo) -> None:
    """Outputs have versions: the prompt of an agent names an input that is newer than the one it read."""
    prompts: list[str] = []

    def script(turn: Turn) -> str:
        if turn.name == "api":
            prompts.append(turn.prompt)
            if len(prompts) == 1:
                turn.escalate("May I?")
                turn.set("blocked")
                members.record_outputs(turn.home, "data", {"agents/data/task_output/out.md": "ab" * 32})
                return "blocked"
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data"), member("api", "data")])
    assert crew_repo.run(script) == 0
    assert "agents/data/task_output/out.md (version 2, you read 1)" in prompts[1]
    assert crew_repo.members()["api"]["read"] == {"agents/data/task_output/out.md": 2}


def test_an_unapproved_design_is_not_run(crew_repo: CrewRepo) -> None:
    """Without verification and approval of the current plan nothing starts."""
    home = crew_repo.home()
    design(home, [member("data")])
    path = crew_repo.root / "orchestration/workflow_coordination_plan.md"
    path.write_text(path.read_text().replace("the output is there", "the output is good"))
    with pytest.raises(SowError, match="approved"):
        crew_repo.run(obedient_agent)
    assert crew_repo.log == []


def test_an_unneeded_solution_architect_does_not_matter(crew_repo: CrewRepo) -> None:
    """A solution architect works only when it is asked; the workflow is complete without it."""
    architect = member("solver", role="solution_architect", agent="solution-architect")
    design(crew_repo.home(), [member("data"), architect], groups=["data"])
    assert crew_repo.run(obedient_agent) == 0
    assert crew_repo.statuses() == {"data": "session_complete", "solver": "pending"}
    assert crew_repo.workflow()["status"] == "completed"
