"""The prompts of workers and judges in a workflow, and their time limits."""

from __future__ import annotations

import pytest
from support.in_process_crew import CrewRepo, Turn, design, member, obedient_agent

from sow.domain.workflows.crew_plan import TIMEOUT
from sow.store.projects import project as projects


def tell_verifier(crew_repo: CrewRepo) -> None:
    path = crew_repo.root / "orchestration/agents/checker/agent_instructions.md"
    path.parent.mkdir(parents=True)
    path.write_text("# checker\n\nOpen every file.\n")
    crew_repo.approve()


def test_a_verifier_sees_outputs_criteria_and_notes(crew_repo: CrewRepo) -> None:
    """Its prompt has the outputs, the resolved notes with their authors, and its own instructions."""
    seen: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier":
            seen.append(turn.prompt)
        elif turn.name == "data":
            note = turn.note("The name is short")
            turn.resolve(note)
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data", criteria=["it has ten rows"])])
    tell_verifier(crew_repo)
    assert crew_repo.run(script) == 0
    (prompt,) = seen
    assert "agents/data/task_output/out.md (version 1)" in prompt and "it has ten rows" in prompt
    assert "The name is short" in prompt and "resolved by agent_self: as it is elsewhere" in prompt
    assert "Your own instructions are in" in prompt and "agents/checker/agent_instructions.md" in prompt


def test_members_and_verifiers_know_the_project_s_decisions(crew_repo: CrewRepo) -> None:
    """If the checkout has a project, its goal and decisions are in both prompts (B3)."""
    seen: dict[str, str] = {}

    def script(turn: Turn) -> str:
        seen[turn.role] = turn.prompt
        return obedient_agent(turn)

    home = crew_repo.home()
    design(home, [member("data")])
    projects.add_memory(home, "Gates open inwards", by="ada", now="2026-01-31T09:00:00Z")
    assert crew_repo.run(script) == 0
    assert len(seen) == 2
    for prompt in seen.values():
        assert f"| Goal: {projects.load(home)['name']}\n" in prompt
        assert "| Decided 2026-01-31T09:00:00Z · ada: Gates open inwards" in prompt


def test_similar_notes_of_others_reach_the_verifier(crew_repo: CrewRepo) -> None:
    """Different assumptions of two agents about one topic are in the verifier's prompt together."""
    seen: list[str] = []

    def script(turn: Turn) -> str:
        if turn.role == "verifier" and "the work of page" in turn.prompt:
            seen.append(turn.prompt)
        elif turn.name in ("api", "page"):
            word = "a string" if turn.name == "api" else "a number"
            turn.resolve(turn.note(f"The user id in users.json is {word}"))
        return obedient_agent(turn)

    design(crew_repo.home(), [member("api"), member("page")], groups=["api", "page"])
    assert crew_repo.run(script) == 0
    (prompt,) = seen
    beside = prompt.partition("side by side:\n")[2].partition("\n\n")[0]
    assert "is a string" in beside and "is a number" in beside


IN_PLAN = "its timeout in the coordination plan"


@pytest.mark.parametrize(
    ("planned", "given", "expected", "late"),
    [
        ("", 0, TIMEOUT, f"{IN_PLAN} (1h)"),
        ("90s", 0, 90, f"{IN_PLAN} (1m 30s)"),
        ("90s", 20, 20, "--timeout (20s)"),
    ],
)
def test_a_turn_has_a_time_limit(crew_repo: CrewRepo, planned: str, given: float, expected: float, late: str) -> None:
    """60 minutes, or the plan's value, or --timeout over both; the report of a late turn names it (C17)."""
    seen: list[tuple[float, str]] = []

    def script(turn: Turn) -> str:
        if turn.name == "data":
            seen.append((turn.timeout, turn.late))
        return obedient_agent(turn)

    design(crew_repo.home(), [member("data", **({"timeout": planned} if planned else {}))])
    crew_repo.timeout = given
    assert crew_repo.run(script) == 0
    assert seen == [(expected, f"it took longer than {late} allows")]
