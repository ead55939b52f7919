"""sow run asks how checkouts are set up, remembers the answer, and stops if checks would import code from outside."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PATIENCE, SOW
from support.ecosystems import Library, commit
from support.plan_repo import PlanRepo
from support.quick_cases import few_of

COPY = "Copy them into each checkout"
SETUP = "Run this setup in each checkout?"
CHECK = "python tests/check.py"
LATER = "press Enter to leave it open)"
UNDO = "sow consent forget --refused"
NO_SETUP = "you refused the setup of checkouts, so what it installs is missing"


def on_terminal(plan_repo: PlanRepo, answers: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Runs the plan on a terminal with an answer to each question; returns exit code and output."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [SOW, "run", "plan.yaml", "--review", "off", *arguments],
        cwd=plan_repo.repo.root,
        env={**plan_repo.repo.environment, "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    left, shown, end = {LATER: "", **answers}, "", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    data = os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
                shown += data.decode("utf-8", "replace")
                for question in [item for item in left if item in shown]:
                    os.write(ours, f"{left.pop(question)}\n".encode())
            elif run.poll() is not None:
                break
        return run.wait(PATIENCE), shown
    finally:
        run.kill()
        run.wait()
        os.close(ours)


@pytest.fixture(autouse=True)
def _checks_are_allowed(plan_repo: PlanRepo) -> None:
    """Gives consent to the commands of plans, not to those of a setup."""
    plan_repo.configure(checks={"allow": ["grep *", "cat *", "python tests/*"]})


@pytest.fixture
def project(plan_repo: PlanRepo) -> PlanRepo:
    """A repository whose setup is npm, which only leaves a trace here; the plan checks for that trace."""
    tools = plan_repo.folder / "bin"
    tools.mkdir()
    (tools / "npm").write_text('#!/bin/sh\nmkdir -p node_modules && echo "$@" > node_modules/trace\n')
    (tools / "npm").chmod(0o755)
    plan_repo.repo.environment["PATH"] = f"{tools}:{plan_repo.repo.environment['PATH']}"
    lock = '{"lockfileVersion": 3, "packages": {"": {}, "node_modules/ms": {"version": "2.1.3"}}}'
    commit(plan_repo, {".gitignore": "node_modules/\n.env\n", "package.json": "{}", "package-lock.json": lock})
    plan_repo.plan({"test_commands": ["grep -q ^ci node_modules/trace"]})
    plan_repo.configure(checks={"allow": ["grep *", "cat *"]})  # but not the setup
    return plan_repo


@pytest.fixture
def greenfield(project: PlanRepo) -> PlanRepo:
    """The same repository without a manifest: the task writes it, and its check waits for consent."""
    for name in ("package.json", "package-lock.json"):
        lines = (project.repo.root / name).read_text()
        (project.folder / name).write_text(lines)
        project.repo.git("rm", "-q", name)
    project.repo.git("commit", "-q", "-m", "no manifest")
    project.act("implementer", f"cp {project.folder}/package*.json .\n")
    result = project.run("--review", "off", "--yes")
    assert result.code == 4, result
    assert "npm ci --no-audit --no-fund" in project.task("010")["question"]["text"]
    project.repo.ok("answer", "1", "I agree")
    return project


def test_a_setup_from_a_task_needs_consent(greenfield: PlanRepo) -> None:
    """The next call asks about the setup of unmerged work, and --yes consents to it."""
    result = greenfield.run("--review", "off")
    assert result.code == 4, result
    assert "npm ci --no-audit --no-fund" in result.err
    assert "sow run plan.yaml --review off --yes" in result.err
    done = greenfield.run("--review", "off", "--yes")
    assert done.code == 0, done
    assert greenfield.task("010")["status"] == "completed"


@pytest.mark.full
def test_a_setup_from_a_task_is_asked_about_on_a_terminal(greenfield: PlanRepo) -> None:
    """On a terminal the same question comes before the run continues."""
    code, shown = on_terminal(greenfield, {SETUP: "y"})
    assert (code, shown.count(SETUP)) == (0, 1), shown


def test_without_a_terminal_a_setup_needs_yes(project: PlanRepo) -> None:
    """Without a terminal the exit code is 4, nothing starts, and the hint is the command that continues."""
    result = project.run("--review", "off")
    assert result.code == 4, result
    assert "npm ci --no-audit --no-fund" in result.err
    assert "sow run plan.yaml --review off --yes" in result.err
    assert project.turns("010") == 0
    done = project.run("--review", "off", "--yes")
    assert done.code == 0, done
    again = project.run("--review", "off")
    assert again.code == 0, again


@pytest.mark.full
def test_a_yes_is_remembered(project: PlanRepo) -> None:
    """A yes is remembered for this repository."""
    code, shown = on_terminal(project, {SETUP: "y"})
    assert (code, shown.count(f"{SETUP} [y/N]")) == (0, 1), shown
    project.plan({"name": "Part 1"}, {"test_commands": ["grep -q ^ci node_modules/trace"]})
    code, shown = on_terminal(project, {}, "--yes")
    assert (code, SETUP in shown) == (0, False), shown


def test_an_empty_answer_is_no_consent(project: PlanRepo) -> None:
    """An empty line starts nothing and is not remembered as a no."""
    code, shown = on_terminal(project, {SETUP: ""})
    assert (code, project.turns("010")) == (4, 0), shown
    assert "the setup of checkouts needs your consent; nothing was started" in shown
    assert project.run("--dry-run", "--json").json["setup"]["consent"] == "needed"


@pytest.fixture
def refused(project: PlanRepo) -> PlanRepo:
    """The same repository after a no to the setup: the check failed, and the task asks."""
    project.act("implementer", "date +%N >> part.txt\n")
    code, shown = on_terminal(project, {SETUP: "n"}, "--retries", "0")
    assert (code, shown.count(SETUP)) == (4, 1), shown
    assert UNDO in shown
    return project


@pytest.mark.full
def test_a_no_is_remembered(refused: PlanRepo) -> None:
    """After a no the run continues without a setup, and does not ask again, not even with --yes."""
    assert refused.task("010")["evidence"][-1]["passed"] is False
    again = refused.run("--review", "off", "--retries", "0", "--dry-run", "--json")
    assert again.json["setup"]["consent"] == "refused"
    refused.repo.ok("answer", "1", "Try again")
    result = refused.run("--review", "off", "--retries", "0", "--yes")
    assert result.code == 4, result
    assert f"note: {NO_SETUP}" in result.err


@pytest.mark.full
def test_a_refused_setup_is_named_where_it_matters(refused: PlanRepo) -> None:
    """The question about a failed check, the report, doctor and a dry run name the refused setup and the undo."""
    for case in (("inbox",), ("runs", "report"), ("doctor",), ("run", "plan.yaml", "--dry-run")):
        out = refused.repo.ok(*case).out
        assert "refused" in out, case
        assert UNDO in out, case
    assert NO_SETUP in refused.task("010")["question"]["text"]


@pytest.mark.full
def test_a_missing_program_names_a_refused_setup(project: PlanRepo) -> None:
    """If the setup would install the missing program, the question says that it was refused."""
    project.configure(checks={"allow": ["installed-by-npm"]})
    project.plan({"test_commands": ["installed-by-npm"]})
    code, shown = on_terminal(project, {SETUP: "n"})
    assert code == 4, shown
    assert NO_SETUP in project.task("010")["question"]["text"]


@pytest.mark.full
def test_a_no_can_be_undone(refused: PlanRepo) -> None:
    """A refused setup is listed; after `forget` the next run asks again, and a yes counts."""
    [existing] = refused.repo.ok("consent", "list", "--json").json["consents"]
    assert (existing["number"], existing["command"], existing["refused"]) == (1, "npm ci --no-audit --no-fund", True)
    assert "1. npm ci --no-audit --no-fund (refused " in refused.repo.ok("consent", "list").out
    forgotten = refused.repo.ok(*shlex.split(UNDO)[1:])
    assert "deleted: npm ci --no-audit --no-fund" in forgotten.out
    assert refused.repo.ok("consent", "list", "--json").json["consents"] == []
    refused.repo.ok("answer", "1", "Try again")
    assert refused.run("--review", "off").code == 4
    result = refused.run("--review", "off", "--yes")
    assert result.code == 0, result
    assert "refused" not in refused.repo.ok("runs", "report").out


@few_of("which", ["1", "--all"], 0)
def test_a_yes_can_be_taken_back(project: PlanRepo, which: str) -> None:
    """A consent that is forgotten is asked for again, and a worker cannot forget one."""
    assert project.run("--review", "off", "--yes").code == 0
    assert "1. npm ci --no-audit --no-fund (allowed " in project.repo.ok("consent", "list").out
    worker = project.repo.sow("consent", "forget", which, SOW_TASK="010", SOW_AGENT="implementer")
    assert worker.code == 2, worker
    project.repo.ok("consent", "forget", which)
    assert project.repo.ok("consent", "list", "--json").json["consents"] == []
    project.plan({"name": "Part 1"}, {"test_commands": ["grep -q ^ci node_modules/trace"]})
    assert project.run("--review", "off").code == 4


@pytest.mark.full
def test_verify_asks_about_the_setup(project: PlanRepo) -> None:
    """`sow runs verify` shows a setup without consent together with the checks, and --yes covers it."""
    assert project.run("--review", "off", "--yes").code == 0
    shutil.rmtree(Path(project.repo.environment["HOME"], ".local/state/sow/consents"))
    refused = project.repo.sow("runs", "verify")
    assert refused.code == 4, refused
    assert "1 command needs your consent" in refused.err
    assert "npm ci --no-audit --no-fund" in refused.err
    hint = refused.err.partition("hint: ")[2].strip()
    assert hint.endswith(" --yes")
    result = project.repo.sow(*shlex.split(hint)[1:])
    assert result.code == 0, result
    assert " the same result" in result.out
    assert project.repo.sow("runs", "verify").code == 0


@pytest.mark.full
def test_integrate_asks_about_the_setup(project: PlanRepo) -> None:
    """`sow integrate` shows a setup without consent together with the checks, and --yes covers it."""
    in_the_way = project.repo.root / "part_010.txt"
    in_the_way.write_text("mine\n")
    assert project.run("--review", "off", "--yes").code == 4
    in_the_way.unlink()
    shutil.rmtree(Path(project.repo.environment["HOME"], ".local/state/sow/consents"))
    refused = project.repo.sow("integrate")
    assert refused.code == 4, refused
    assert "npm ci --no-audit --no-fund" in refused.err
    hint = refused.err.partition("hint: ")[2].strip()
    assert hint.endswith(" --yes")
    result = project.repo.sow(*shlex.split(hint)[1:])
    assert result.code == 0, result
    assert in_the_way.read_text() == "by 010\n"


@pytest.mark.full
def test_local_files_are_asked_about(project: PlanRepo) -> None:
    """A file such as .env is copied into each checkout after a yes; --yes does not consent to it."""
    (project.repo.root / ".env").write_text("KEY=1\n")
    project.act("implementer", "date +%N >> part.txt\n")
    project.plan({"test_commands": ["cat .env"]})
    result = project.run("--review", "off", "--retries", "0", "--yes")
    assert result.code == 4, result
    assert "not copied (no interactive terminal): .env" in result.err
    project.repo.ok("answer", "1", "Try again")
    code, shown = on_terminal(project, {COPY: "y"})
    assert code == 0, shown
    assert project.task("010")["status"] == "completed"


def test_a_dry_run_shows_the_setup(project: PlanRepo) -> None:
    """The commands, the files to copy and earlier answers are shown, and nothing is asked."""
    (project.repo.root / ".env").write_text("KEY=1\n")
    result = project.run("--dry-run")
    assert result.code == 0, result
    assert "each checkout would be set up with (needs your consent):\n  npm ci --no-audit --no-fund" in result.out
    assert "the run would ask to copy into each checkout: .env" in result.out
    assert result.out.count("npm ci --no-audit --no-fund") == 1
    assert project.run("--dry-run", "--isolation", "none", "--json").json["setup"] is None


def test_a_missing_tool_of_a_check_is_a_question(plan_repo: PlanRepo) -> None:
    """The question names the tool."""
    commit(plan_repo, {"package.json": "{}", "pnpm-lock.yaml": "lockfileVersion: '9.0'\n"})
    plan_repo.plan({"test_commands": ["pnpm test"]})
    result = plan_repo.run("--review", "off", "--yes", PATH=without(plan_repo, "pnpm"))
    assert result.code == 4, result
    assert "pnpm-lock.yaml needs pnpm, which is not on PATH" in result.err
    assert plan_repo.turns("010") == 0


def without(plan_repo: PlanRepo, name: str) -> str:
    """Returns PATH without the folders that have a program."""
    folders = plan_repo.repo.environment["PATH"].split(":")
    return ":".join(folder for folder in folders if not os.path.exists(f"{folder}/{name}"))


@few_of(("answer", "code", "result"), [("a", 0, "YELLOW"), ("q", 4, None)], 1)
def test_imports_from_outside_on_a_terminal(plan_repo: PlanRepo, answer: str, code: int, result: str | None) -> None:
    """The user accepts results that are YELLOW at best, or stops."""
    library = Library(plan_repo)
    library.install_by_path()
    plan_repo.configure(checks={"allow": [CHECK]})
    plan_repo.plan({"test_commands": [CHECK]})
    done, shown = on_terminal(plan_repo, {SETUP: "n", "or stop?": answer})
    assert done == code, shown
    assert f"{library.root}/src" in shown.replace("\r\n", "")
    if result:
        assert plan_repo.task("010")["result"] == result
    else:
        assert plan_repo.turns("010") == 0


@pytest.mark.full
def test_a_refused_setup_is_offered_again(plan_repo: PlanRepo) -> None:
    """The question about imports offers the setup again, which then counts."""
    Library(plan_repo).install_by_path()
    plan_repo.configure(checks={"allow": [CHECK]})
    plan_repo.plan({"test_commands": [CHECK]})
    done, shown = on_terminal(plan_repo, {SETUP: "n", "or stop?": "s"})
    assert done == 0, shown
    assert plan_repo.task("010")["result"] == "GREEN"


def test_doctor_names_the_setup(plan_repo: PlanRepo) -> None:
    """Doctor names the setup, or without one the installed record that leads to the user's checkout."""
    library = Library(plan_repo)
    library.install_by_path()
    findings = plan_repo.repo.sow("doctor", "--json").json["findings"]
    assert any("-m venv .venv" in finding["what"] and finding["state"] == "ok" for finding in findings)
    plan_repo.configure(worktree={"setup": []})
    findings = plan_repo.repo.sow("doctor", "--json").json["findings"]
    [warning] = [finding for finding in findings if "would import" in finding["what"]]
    assert (warning["state"], "worktree.setup" in warning["hint"]) == ("warning", True)
    assert f"{library.root}/src" in warning["what"]
