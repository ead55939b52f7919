"""Questions before a run: commands and warnings on a terminal; a refusal leaves the checkout unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.plan_repo import PlanRepo
from support.quick_cases import few_of

from sow.engine.consent import by_program
from sow.system.sandbox import sandbox_state

DOUBTFUL = {
    "depends": {"depends": [1]},
    "requires": {"requires": 1},
    "blocked_by": {"blocked_by": [1]},
    "after": {"after": "Task 1"},
    "depend_on": {"depend_on": [1]},
    "test_command": {"test_command": "true"},
    "agent": {"agent": "nobody-knows"},
    "dependency": {"depends_on": ["the database"]},
    "status": {"status": "nearly"},
}
HEADINGS = ("### Task 2: B", "## Task 2 B", "##Task 2: B", "## Taks 2: B", "**Task 2: B**", "## 2. B")


@pytest.fixture
def asking(plan_repo: PlanRepo) -> PlanRepo:
    """A repository in which no command has consent."""
    plan_repo.configure(checks={"allow": []})
    return plan_repo


def test_a_yes_on_the_terminal_is_remembered(asking: PlanRepo, on_terminal: Callable[..., Any]) -> None:
    """The question lists every command; after a yes the run continues, and the next call does not ask."""
    asking.plan({"test_commands": ["true", "sh -c 'true; true'"]})
    terminal = on_terminal(asking.repo, "run", "plan.yaml", "--review", "off")
    code, shown = terminal.until("Run them? [y/N]").type(b"y\n").end()
    assert code == 0, shown
    assert "sh -c 'true; true'" in shown
    assert asking.repo.sow("runs", "verify").code == 0


@pytest.mark.full
def test_a_no_on_the_terminal_starts_nothing(asking: PlanRepo, on_terminal: Callable[..., Any]) -> None:
    """After a no nothing is written, the exit code is 4, and the next call asks again."""
    asking.plan({"test_commands": ["true"]})
    for _ in range(2):
        code, shown = on_terminal(asking.repo, "run", "plan.yaml").until("Run it? [y/N]").type(b"n\n").end()
        assert code == 4, shown
    assert not (asking.repo.root / ".sow").exists()


def test_the_question_says_where_the_commands_run(asking: PlanRepo) -> None:
    """With a sandbox the question says so and names what stays open; otherwise it names the user's rights."""
    asking.plan({"test_commands": ["true"]})
    refused = asking.run()
    assert refused.code == 4, refused
    assert "They run on this machine with your rights:" in refused.err
    if sandbox_state("bwrap", os.environ).problem:
        pytest.skip("no sandbox here")
    asking.repo.environment["SOW_SANDBOX"] = "auto"
    boxed = asking.run("--baseline", "on")
    assert boxed.code == 4, boxed
    assert (
        "They run in the sandbox. There setup and dependency checks reach the network, other checks do not:"
        in boxed.err
    )
    assert "with your rights" not in boxed.err
    assert "the network, and so do other checks:" in asking.run("--baseline", "off").err


@few_of("name", DOUBTFUL, 1)
def test_a_doubtful_plan_is_not_run(plan_repo: PlanRepo, name: str) -> None:
    """A warning about order or scope stops a run before it starts; --yes accepts the plan as read."""
    plan_repo.plan("First", DOUBTFUL[name])
    refused = plan_repo.run("--review", "off")
    assert refused.code == 4, refused
    assert "warning: plan.yaml:" in refused.err
    assert "accept it as it is read: sow run plan.yaml --review off --yes" in refused.err
    assert not (plan_repo.repo.root / ".sow").exists()
    dry = plan_repo.run("--dry-run")
    assert dry.code == 0
    assert "warning: plan.yaml:" in dry.err
    assert "the run would first ask about the plan's warnings" in dry.out
    if name not in ("dependency", "status"):
        assert plan_repo.run("--review", "off", "--yes").code == 0


@pytest.mark.full
def test_warnings_are_asked_about_on_a_terminal(plan_repo: PlanRepo, on_terminal: Callable[..., Any]) -> None:
    """A person who confirms the warnings starts the run."""
    plan_repo.plan("First", DOUBTFUL["depends"])
    terminal = on_terminal(plan_repo.repo, "run", "plan.yaml", "--review", "off")
    code, shown = terminal.until("Run it as it is read? [y/N]").type(b"y\n").end()
    assert code == 0, shown


@pytest.mark.full
def test_a_harmless_warning_does_not_stop_a_run(plan_repo: PlanRepo) -> None:
    """A key that changes neither order nor scope is a warning, and the run continues."""
    plan_repo.plan({"priority": "high"})
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert "warning: plan.yaml:" in result.err


@pytest.mark.full
def test_one_agent_for_all_settles_unknown_agents(plan_repo: PlanRepo) -> None:
    """With --agent the plan's unknown agents change nothing, and nothing is asked."""
    plan_repo.plan({"agent": "nobody-knows"})
    assert plan_repo.run("--review", "off", "--agent", "implementer").code == 0


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_that_is_nearly_a_task_stops_a_run(plan_repo: PlanRepo, heading: str) -> None:
    """A heading that looks like a task and is read as text is a doubt of the kind `task`."""
    (plan_repo.repo.root / "plan.md").write_text(f"# P\n\n## Task 1: A\n\nx\n\n{heading}\n\ny\n")
    refused = plan_repo.run(plan="plan.md")
    assert refused.code == 4, refused
    assert "looks like a task but is read as text" in refused.err
    warnings = plan_repo.repo.sow("plan", "validate", "plan.md", "--json").json["warnings"]
    assert [(warning["kind"], warning["asks"]) for warning in warnings] == [("task", True)]


READERS = (
    ("plan", "show", "plan.md"),
    ("plan", "show", "plan.md", "--json"),
    ("plan", "show", "plan.md", "--graph", "dot"),
    ("plan", "validate", "plan.md"),
    ("plan", "validate", "plan.md", "--json"),
    ("plan", "waves", "plan.md"),
    ("plan", "simulate", "plan.md"),
    ("plan", "import", "plan.md", "--dry-run"),
    ("plan", "import", "plan.md", "--json"),
    ("run", "plan.md", "--dry-run"),
    ("run", "plan.md", "--dry-run", "--json"),
)


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_every_reader_prints_the_warnings(plan_repo: PlanRepo, words: tuple[str, ...]) -> None:
    """Every command that reads a plan prints its warnings on stderr, each once."""
    (plan_repo.repo.root / "plan.md").write_text("# P\n\n## Task 1: A\n\n**Agnt**: dba\n\nx\n")
    plan_repo.repo.ok("init")
    result = plan_repo.repo.ok(*words)
    assert result.err.count("warning: plan.md:5: task 1: '**Agnt**: dba' is read as text") == 1
    assert "warning:" not in result.out


def test_an_update_prints_the_warnings(plan_repo: PlanRepo) -> None:
    """`sow plan update` reads the plan, too."""
    (plan_repo.repo.root / "plan.md").write_text("# P\n\n## Task 1: A\n\n**Agnt**: dba\n\nx\n")
    plan_repo.repo.ok("init")
    plan_repo.repo.ok("plan", "import", "plan.md")
    assert plan_repo.repo.ok("plan", "update").err.count("warning:") == 1


@pytest.mark.parametrize("words", [("plan", "show"), ("plan", "waves"), ("run",)], ids=" ".join)
def test_errors_do_not_hide_the_warnings(plan_repo: PlanRepo, words: tuple[str, ...]) -> None:
    """A plan without tasks because of a wrong heading reports both (C4)."""
    (plan_repo.repo.root / "plan.md").write_text("# P\n\n##Task 1: A\n\nx\n")
    result = plan_repo.repo.sow(*words, "plan.md")
    assert result.code == 2
    assert "warning: plan.md:3: '##Task 1: A' looks like a task" in result.err
    assert "error: plan.md: there are no tasks" in result.err


def on_main(plan_repo: PlanRepo) -> Repo:
    plan_repo.plan({"test_commands": ["true"]})
    plan_repo.repo.git("switch", "-q", "main")
    plan_repo.repo.git("merge", "-q", "feat/harbour")
    return plan_repo.repo


def _of_another_branch(plan_repo: PlanRepo) -> None:
    plan_repo.repo.git("switch", "-q", "feat/harbour")
    plan_repo.repo.ok("init", "--project", "Other")
    plan_repo.repo.git("switch", "-q", "main")


def _forged_for_main(plan_repo: PlanRepo) -> None:
    _of_another_branch(plan_repo)
    path = plan_repo.repo.project / "state.yaml"
    path.write_text(path.read_text().replace("branch: feat/harbour", "branch: main"))


def _broken(plan_repo: PlanRepo) -> None:
    _of_another_branch(plan_repo)
    (plan_repo.repo.project / "state.yaml").write_text("{")


def _odd(plan_repo: PlanRepo) -> None:
    (plan_repo.repo.root / ".sow" / ".gitignore").mkdir(parents=True)


def _no_consent(plan_repo: PlanRepo) -> None:
    plan_repo.configure(checks={"allow": []})


REFUSED: dict[str, tuple[Callable[[PlanRepo], None], int]] = {
    "a project of another branch": (_of_another_branch, 2),
    "a project that says main": (_forged_for_main, 2),
    "a broken project": (_broken, 2),
    "an odd .sow": (_odd, 2),
    "no consent": (_no_consent, 4),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refused_run_leaves_the_checkout_as_it_was(plan_repo: PlanRepo, why: str) -> None:
    """A run that is refused on main makes no branch, switches to none, and writes no file (F39)."""
    prepare, code = REFUSED[why]
    repo = on_main(plan_repo)
    prepare(plan_repo)

    def picture() -> tuple[str, str, dict[str, bytes]]:
        files = {str(path): path.read_bytes() for path in Path(repo.root).rglob("*") if _counts(path)}
        return repo.git("branch", "--show-current"), repo.git("for-each-ref"), files

    before = picture()
    result = repo.sow("run", "plan.yaml")
    assert result.code == code, result
    assert before[0].strip() == "main"
    assert picture() == before


def _counts(path: Path) -> bool:
    return path.is_file() and "/.git/sow/claims/" not in str(path)


@pytest.mark.parametrize(
    "command", ["python -m pytest", "PYTHONPATH=src A=1 python -m pytest", "A=1 python -c 'x' && y"]
)
def test_consent_is_filed_under_the_program(command: str) -> None:
    """Variables that are set before the program do not hide it."""
    assert by_program([command]) == {"python": [command]}
