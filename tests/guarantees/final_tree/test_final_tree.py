"""T2: the delivered branch passes the checks of every task that is reported as done."""

from __future__ import annotations

import signal
import subprocess

import pytest
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

# Pairs of tasks without a textual conflict: what the second does breaks the check of the first.
PAIRS: dict[str, tuple[str, str, str, str]] = {
    "a file is removed": ("echo a > a.txt", "test -e a.txt", "rm base.txt a.txt", "rm base.txt"),
    "a file is renamed": ("echo a > a.txt", "cat a.txt", "git mv a.txt b.txt", "cp a.txt b.txt"),
    "a value is changed": ("echo 1 > a.txt", "grep -q 1 a.txt", "echo 2 > a.txt", "echo 12 > a.txt"),
    "a name is taken": ("mkdir lib; touch lib/x", "test -d lib", "rm -r lib; touch lib", "touch lib/y"),
    "a mode is changed": ("echo > go; chmod +x go", "test -x go", "chmod -x go", "touch gone"),
    "a file is emptied": ("echo a > a.txt", "test -s a.txt", ": > a.txt", "echo b >> a.txt"),
    "a file appears": ("touch a.txt", "test ! -e bad.txt", "touch bad.txt", "touch good.txt"),
    "too many files": ("touch a.txt", "sh count", "touch 1 2 3", "touch 1"),
    "a link breaks": ("echo a > a.txt; ln -s a.txt to", "cat to", "rm a.txt; touch c", "touch c"),
    "an import breaks": (
        "echo 'X = 1' > m.py; echo 'import m; m.X' > t.py",
        "python3 t.py",
        "echo > m.py",
        "touch n.py",
    ),
}


def kept(plan_repo: PlanRepo) -> None:
    """Commits files before the run."""
    (plan_repo.repo.root / "base.txt").write_text("base\n")
    (plan_repo.repo.root / "count").write_text('test "$(ls | wc -l)" -lt 6\n')
    plan_repo.repo.git("add", "base.txt", "count")
    plan_repo.repo.git("commit", "-q", "-m", "base")


def delivered(plan_repo: PlanRepo, *commands: str) -> None:
    """Checks that a fresh clone of the user's branch passes these commands."""
    clone = plan_repo.folder / "clone"
    subprocess.run(["git", "clone", "-q", str(plan_repo.repo.root), str(clone)], check=True)
    for command in commands:
        assert subprocess.run(["sh", "-c", command], cwd=clone).returncode == 0, command


def after(plan_repo: PlanRepo, script: str, task: str = "010") -> str:
    """Returns a worker's script that waits until a task is merged, and merges that into its own branch."""
    journal = f"{plan_repo.repo.root}/.sow/local/runs/*/journal.jsonl"
    wait = f'until grep -q \'"merged", .*"{task}"\' {journal}; do sleep 0.05; done\n'
    return f"{wait}git merge -q $(git for-each-ref --format='%(refname)' refs/heads/sow/int)\n{script}\n"


@few_of("name", PAIRS, 0, always=["a file appears"])
def test_a_task_that_breaks_another_check_is_sent_back(plan_repo: PlanRepo, name: str) -> None:
    """The task that broke another one's check gets the output, and the fixed tree is delivered (F33)."""
    first, check, bad, good = PAIRS[name]
    kept(plan_repo)
    plan_repo.act("implementer-010", f"{first}\n")
    plan_repo.act("implementer-020-1", after(plan_repo, bad))
    plan_repo.act("implementer-020-2", f"git checkout -q HEAD~1 -- .\nrm -rf 1 2 3 bad.txt b.txt c\n{first}\n{good}\n")
    plan_repo.plan({"test_commands": [check]}, "Second")
    result = plan_repo.run("--yes")
    assert result.code == 0, result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert (plan_repo.task("010")["iteration"], plan_repo.task("020")["iteration"]) == (1, 2)
    prompt = plan_repo.prompt("020", 2)
    assert f"`{check}` of task 010 fails on the final tree since task 020 was merged" in prompt
    assert "Your worktree has everything merged so far. Fix this check without breaking the other tasks." in prompt
    delivered(plan_repo, check)
    run = plan_repo.runs()[-1]
    steps = [(entry.get("task"), entry["text"]) for entry in plan_repo.journal("step", "final_step")]
    assert (None, f"checks the final tree: {check}") in steps
    assert not [task for task, text in steps if task and "final tree" in text]
    assert [evidence["passed"] for evidence in run["final"]] == [False, True]
    assert [merge["task"] for merge in run["merges"]] == ["010", "020", "020"]
    assert plan_repo.repo.sow("runs", "verify", "--yes").code == 0


BREAKS = "rm -f wanted.txt\necho more >> broken.txt"


def breaking(plan_repo: PlanRepo, *tasks: object, words: tuple[str, ...] = ()) -> None:
    """A first task whose check needs a file that task 020 removes in each turn."""
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-020", after(plan_repo, BREAKS))
    plan_repo.plan({"test_commands": ["test -e wanted.txt"]}, *(tasks or ("Second",)))  # type: ignore[arg-type]
    result = plan_repo.run("--yes", *words)
    assert result.code == 4, result
    assert not (plan_repo.repo.root / "broken.txt").exists()


def answer(plan_repo: PlanRepo, words: str, code: int) -> None:
    """Answers the open question and continues the run."""
    plan_repo.repo.ok("answer", "020", words)
    result = plan_repo.run("--yes", "--retries", "0")
    assert result.code == code, result


def test_a_broken_list_is_checked_before_the_next_merge(plan_repo: PlanRepo) -> None:
    """A task that was sent back also passes the list that it broke, before it is reviewed and merged again."""
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-020-1", after(plan_repo, BREAKS))
    plan_repo.act("implementer-020-2", "touch not-yet.txt\n")
    plan_repo.act("implementer-020-3", "touch wanted.txt\n")
    plan_repo.plan({"test_commands": ["test -e wanted.txt"]}, {"test_commands": ["test -e broken.txt"]})
    result = plan_repo.run("--yes")
    assert result.code == 0, result
    run, task = plan_repo.runs()[-1], plan_repo.task("020")
    assert [(merge["task"], merge["iteration"]) for merge in run["merges"]] == [("010", 1), ("020", 1), ("020", 3)]
    assert plan_repo.turns("020", "quality-control") == 2
    assert "`test -e wanted.txt` of task 010 still fails" in plan_repo.prompt("020", 3)
    assert "`test -e wanted.txt` failed (exit 1)" in plan_repo.prompt("020", 3)
    again = [evidence for evidence in task["evidence"] if evidence["command"] == "test -e wanted.txt"]
    assert [(evidence["kind"], evidence["iteration"], evidence["passed"]) for evidence in again] == [
        ("final", 1, False),
        ("final", 2, False),
        ("final", 3, True),
        ("merge", 3, True),
    ]
    delivered(plan_repo, "test -e wanted.txt -a -e not-yet.txt")


@pytest.mark.full
def test_waived_work_is_merged(plan_repo: PlanRepo) -> None:
    """If a person waives the list that the next iteration still breaks, the iteration is merged."""
    breaking(plan_repo, words=("--retries", "1"))
    answer(plan_repo, "waive", 0)
    assert plan_repo.turns("020") == 2
    assert (plan_repo.repo.root / "broken.txt").read_text() == "more\nmore\n"


@pytest.mark.full
def test_the_same_output_of_a_broken_list_is_a_question(plan_repo: PlanRepo) -> None:
    """If the next iteration breaks the list with the same output, a person decides, although retries are left."""
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-020-1", after(plan_repo, BREAKS))
    plan_repo.act("implementer-020", "date +%N >> other.txt\n")
    plan_repo.plan({"test_commands": ["ls wanted.txt"]}, "Second")
    assert plan_repo.run("--yes", "--retries", "9").code == 4
    asked = plan_repo.task("020")["question"]["text"]
    assert asked.startswith("final checks: `ls wanted.txt` of task 010 still fails with the same output\n")
    assert plan_repo.turns("020") == 2
    answer(plan_repo, "stop", 1)
    assert plan_repo.statuses() == {"010": "completed", "020": "failed"}


@pytest.mark.full
def test_spent_retries_are_a_question(plan_repo: PlanRepo) -> None:
    """After the last retry the run asks, shows the output and the choices, and delivers nothing."""
    breaking(plan_repo, words=("--retries", "1"))
    task = plan_repo.task("020")
    asked = task["question"]["text"]
    assert asked.startswith("final checks: `test -e wanted.txt` of task 010 still fails, after 1 retry\n")
    assert "Your worktree" not in asked
    next_steps = plan_repo.repo.ok("runs", "show", "--json").json["next"]
    assert next_steps[0]["command"] == 'sow answer 1 "send back"'
    assert next_steps[0]["text"].endswith('(or answer "waive" or "stop")')
    assert all(f'"{word}"' in asked for word in ("send back", "waive", "stop"))
    assert (task["status"], task["retry_count"], plan_repo.turns("020")) == ("paused", 1, 2)
    assert plan_repo.task("010")["status"] == "completed"
    head = plan_repo.repo.git("rev-parse", "HEAD")
    assert plan_repo.run("--yes", "--retries", "1").code == 4
    assert plan_repo.repo.git("rev-parse", "HEAD") == head
    for item in (["integrate"], ["integrate", "--dry-run"]):
        refused = plan_repo.repo.sow(*item)
        assert (refused.code, "sow answer" in refused.err) == (4, True), refused


@pytest.mark.full
def test_the_answer_send_back(plan_repo: PlanRepo) -> None:
    """With "send back" the worker has one more turn, on the integration head, with the output."""
    breaking(plan_repo, words=("--retries", "0"))
    plan_repo.act("implementer-020-2", "ls > seen.txt\ntouch wanted.txt\n")
    answer(plan_repo, "send back", 0)
    assert "broken.txt" in (plan_repo.repo.root / "seen.txt").read_text()
    assert "`test -e wanted.txt` failed (exit 1)" in plan_repo.prompt("020", 2)
    delivered(plan_repo, "test -e wanted.txt")


@pytest.mark.full
def test_the_answer_waive(plan_repo: PlanRepo) -> None:
    """With "waive" the check is not run again, the rest is delivered, and the report names the waiver."""
    breaking(plan_repo, words=("--retries", "0"))
    answer(plan_repo, "waive: the file is not needed any more", 0)
    assert plan_repo.turns("020") == 1
    assert (plan_repo.task("020")["status"], plan_repo.task("020")["result"]) == ("completed", "GREEN")
    waiver = plan_repo.task("010")["waivers"][0]
    assert (waiver["command"], waiver["reason"]) == ("test -e wanted.txt", "the file is not needed any more")
    delivered(plan_repo, "test -e broken.txt")
    for form in ("md", "html", "json"):
        assert "test -e wanted.txt" in plan_repo.repo.ok("runs", "report", "--format", form).out, form


@few_of("words", [["answer", "020", "waive"], ["approve", "020"]], 0)
def test_a_waiver_covers_every_failed_check_of_a_list(plan_repo: PlanRepo, words: list[str]) -> None:
    """A list with two failed commands is settled by one answer, or by one approval that names both."""
    checks = ["test -e wanted.txt", "test -f wanted.txt"]
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-020", after(plan_repo, BREAKS))
    plan_repo.plan({"test_commands": checks}, "Second")
    assert plan_repo.run("--yes", "--retries", "0").code == 4
    if words[0] == "approve":
        refused = plan_repo.repo.sow(*words, "--waive", checks[0])
        assert (refused.code, f"`{checks[1]}` fails" in refused.err) == (2, True), refused
        words = [*words, *(word for check in checks for word in ("--waive", check)), "--reason", "not needed"]
    plan_repo.repo.ok(*words)
    result = plan_repo.run("--yes", "--retries", "0")
    assert result.code == 0, result
    assert [waiver["command"] for waiver in plan_repo.task("010")["waivers"]] == checks
    assert [entry["command"] for entry in plan_repo.journal("waived")] == checks
    assert plan_repo.turns("020") == 1
    delivered(plan_repo, "test -e broken.txt")


@pytest.mark.full
def test_the_answer_stop(plan_repo: PlanRepo) -> None:
    """With "stop" the task fails, its merge is removed, and the rest is delivered."""
    breaking(plan_repo, words=("--retries", "0"))
    answer(plan_repo, "stop", 1)
    assert plan_repo.statuses() == {"010": "completed", "020": "failed"}
    assert (plan_repo.repo.root / "wanted.txt").exists()
    assert not (plan_repo.repo.root / "broken.txt").exists()
    assert [merge["task"] for merge in plan_repo.runs()[-1]["merges"]] == ["010"]
    assert "task 020: its merge was taken out" in plan_repo.repo.ok("runs", "report").out


@pytest.mark.full
def test_an_abandoned_task_does_not_stop_the_rest(plan_repo: PlanRepo) -> None:
    """After the breaking task is abandoned, `sow integrate` delivers the other work, and the run is over."""
    plan_repo.act("implementer-030", after(plan_repo, "touch three.txt", "020"))
    breaking(plan_repo, "Second", "Third", words=("--retries", "0"))
    plan_repo.repo.ok("task", "abandon", "020", "--reason", "not needed")
    result = plan_repo.repo.sow("integrate", "--yes")
    assert result.code == 0, result
    delivered(plan_repo, "test -e wanted.txt -a -e three.txt -a ! -e broken.txt")
    assert plan_repo.runs()[-1]["status"] == "ended"
    assert plan_repo.journal("branch_moved") == []


@pytest.mark.full
def test_work_on_a_removed_merge_delivers_its_own_changes(plan_repo: PlanRepo) -> None:
    """A task that began on top of a removed merge delivers only its own changes."""
    plan_repo.act("implementer-030-1", after(plan_repo, "sow task set status paused", "020"))
    plan_repo.act("implementer-030-2", "touch three.txt\n")
    breaking(plan_repo, "Second", "Third", words=("--retries", "0"))
    plan_repo.repo.ok("task", "abandon", "020", "--reason", "not needed")
    plan_repo.repo.ok("answer", "030", "The third.")
    result = plan_repo.run("--yes", "--retries", "0")
    assert result.code == 0, result
    delivered(plan_repo, "test -e wanted.txt -a -e three.txt -a ! -e broken.txt")


@pytest.mark.full
def test_a_merge_that_needs_a_removed_one_is_a_question(plan_repo: PlanRepo) -> None:
    """If a later merge needs the removed one, its task asks, and the rest is delivered."""
    plan_repo.act("implementer-030-1", after(plan_repo, "echo 3 >> broken.txt", "020"))
    plan_repo.act("implementer-030-2", "cat broken.txt > three.txt\nrm broken.txt\ntouch wanted.txt\n")
    breaking(plan_repo, "Second", "Third", words=("--retries", "0"))
    answer(plan_repo, "stop", 1)
    assert "without it the merge of task 030 conflicts" in plan_repo.task("030")["question"]["text"]
    delivered(plan_repo, "test -e wanted.txt -a ! -e broken.txt")
    plan_repo.repo.ok("answer", "030", "make it fit")
    assert plan_repo.run("--yes", "--retries", "0").code == 1
    assert plan_repo.task("030")["status"] == "completed"
    assert (plan_repo.repo.root / "three.txt").exists()
    assert not (plan_repo.repo.root / "broken.txt").exists()


@pytest.mark.full
def test_a_dependent_task_that_breaks_the_check_is_a_question(plan_repo: PlanRepo) -> None:
    """A task that depends on the one whose check it breaks may be right: a person decides, with retries left."""
    breaking(plan_repo, "Second < 1")
    asked = plan_repo.task("020")["question"]["text"]
    assert "since task 020 was merged (020 depends on 010)" in asked
    assert plan_repo.turns("020") == 1


def test_the_breaking_task_is_found(plan_repo: PlanRepo) -> None:
    """Of six merges after the one whose check fails, the search finds the one that broke it."""
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-050-2", "touch wanted.txt\n")
    plan_repo.plan({"test_commands": ["test -e wanted.txt"]}, "B < 1", "C < 2", "D < 3", "E", "F < 4", "G < 6")
    plan_repo.act("implementer-050-1", after(plan_repo, BREAKS, "040"))
    result = plan_repo.run("--yes")
    assert result.code == 0, result
    iterations = {ident: plan_repo.task(ident)["iteration"] for ident in plan_repo.statuses()}
    assert {ident for ident, number in iterations.items() if number > 1} == {"050"}
    delivered(plan_repo, "test -e wanted.txt")


def test_a_flaky_check_is_a_question(plan_repo: PlanRepo) -> None:
    """A list that fails and passes on one tree sends no task back: a person decides."""
    flag = plan_repo.folder / "flag"
    script = plan_repo.folder / "sometimes"
    script.write_text(
        f"#!/bin/sh\ntest -e two.txt || exit 0\nif [ -e {flag} ]; then exit 0; fi\ntouch {flag}\nexit 1\n"
    )
    script.chmod(0o755)
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-020", after(plan_repo, "touch two.txt"))
    plan_repo.plan({"test_commands": [str(script)]}, "Second")
    result = plan_repo.run("--yes")
    assert result.code == 4, result
    assert "is flaky: it failed, then passed on the same commit" in plan_repo.task("010")["question"]["text"]
    assert plan_repo.task("020")["status"] == "completed"


@pytest.mark.full
def test_commits_of_the_user_send_no_task_back(plan_repo: PlanRepo) -> None:
    """If the user's new commits break any check, no task is sent back and the branch stays (F34)."""
    plan_repo.act("implementer-010", f"until test -e {plan_repo.folder}/go; do sleep 0.05; done\ntouch wanted.txt\n")
    criterion = {"criterion": "Nothing is bad", "verification": {"command": "test ! -e bad.txt"}}
    plan_repo.plan({"success_criteria": [criterion]})
    run = plan_repo.start("--yes")
    wait_for(lambda: (plan_repo.folder / "implementer-010-1.cwd").exists())
    (plan_repo.repo.root / "bad.txt").touch()
    plan_repo.repo.git("add", "bad.txt")
    plan_repo.repo.git("commit", "-q", "-m", "Bad")
    head = plan_repo.repo.git("rev-parse", "HEAD")
    (plan_repo.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 4, (out, err)
    assert b"with your new commits `test ! -e bad.txt` fails" in err
    assert plan_repo.repo.git("rev-parse", "HEAD") == head
    assert plan_repo.task("010")["iteration"] == 1
    steps = plan_repo.repo.ok("runs", "report", "--format", "json").json["next"]
    assert steps[0]["command"] == f"sow project save && git merge sow/int/{plan_repo.runs()[-1]['id']}"
    assert "sow integrate" not in [step["command"] for step in steps]


@pytest.mark.full
@pytest.mark.parametrize("how", ["option", "config"])
def test_final_checks_can_be_off(plan_repo: PlanRepo, how: str) -> None:
    """Without final checks the tree is delivered, and `sow runs verify` still names what fails in it."""
    if how == "config":
        plan_repo.configure(run={"final_checks": "off"})
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-020", after(plan_repo, BREAKS))
    plan_repo.plan({"test_commands": ["test -e wanted.txt"]}, "Second")
    result = plan_repo.run(*(("--final-checks", "off") if how == "option" else ()))
    assert result.code == 0, result
    delivered(plan_repo, "test -e broken.txt")
    assert "the final tree was not checked (--final-checks off)" in plan_repo.repo.ok("runs", "report").out
    verified = plan_repo.repo.sow("runs", "verify")
    assert verified.code == 1, verified
    assert "final tree, task 010: test -e wanted.txt (exit 1)" in verified.out


@pytest.mark.full
def test_equal_lists_run_once(plan_repo: PlanRepo) -> None:
    """Tasks with equal lists share one run on the final tree, and a list that passed on that tree is not repeated."""
    counter = plan_repo.folder / "runs"
    script = plan_repo.folder / "count"
    script.write_text(f"#!/bin/sh\nls part_*.txt | wc -l >> {counter}\n")
    script.chmod(0o755)
    plan_repo.plan(
        {"test_commands": [str(script)]}, {"test_commands": [str(script)], "depends_on": [1]}, {"depends_on": [2]}
    )
    result = plan_repo.run()
    assert result.code == 0, result
    assert [line.strip() for line in counter.read_text().splitlines()].count("3") == 1


@pytest.mark.full
def test_an_interrupted_run_delivers_nothing_unchecked(plan_repo: PlanRepo) -> None:
    """After Ctrl-C the user's branch does not move to an unchecked tree; the next call checks and delivers it."""
    plan_repo.act("implementer-010", "touch wanted.txt\n")
    plan_repo.act("implementer-020", after(plan_repo, "touch two.txt"))
    plan_repo.act("implementer-030", f"touch {plan_repo.folder}/begun\nsleep 60\n")
    plan_repo.plan({"test_commands": ["test -e wanted.txt"]}, "Second", "Third < 2")
    run = plan_repo.start()
    wait_for((plan_repo.folder / "begun").exists)
    head = plan_repo.repo.git("rev-parse", "HEAD")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)
    assert run.returncode == 130
    assert plan_repo.repo.git("rev-parse", "HEAD") == head
    plan_repo.act("implementer-030", "touch three.txt\n")
    assert plan_repo.run().code == 0
    delivered(plan_repo, "test -e wanted.txt -a -e three.txt")


@pytest.mark.full
def test_one_commit_for_each_task(plan_repo: PlanRepo) -> None:
    """After six tasks the branch has six commits and one of the state, and no other branch is left."""
    plan_repo.act("implementer", 'echo one > "a_$SOW_TASK"; git add -A; git commit -qm wip; echo two > "b_$SOW_TASK"\n')
    long = "Make the part that has a name which is so very long that no subject line of git could hold it"
    plan_repo.plan(*(f"Make part {number}" for number in range(1, 6)), long)
    base = plan_repo.repo.git("rev-parse", "HEAD").strip()
    result = plan_repo.run()
    assert result.code == 0, result
    log = plan_repo.repo.git("log", "--format=%s", f"{base}..HEAD").splitlines()
    made = [line for line in log if not line.startswith("State of run")]
    assert len(log) - len(made) <= 1
    short = "Make the part that has a name which is so very long that no subject…"
    assert sorted(made) == [*(f"Make part {number}" for number in range(1, 6)), short]
    assert plan_repo.repo.git("rev-list", "--merges", f"{base}..HEAD") == ""
    message = plan_repo.repo.git("log", "-1", "--format=%b", "--grep", "Make part 3", "HEAD")
    assert "Make it." in message
    assert "Task 030, iteration 1" in message
    branches = plan_repo.repo.git("for-each-ref", "--format=%(refname)", "refs/heads/sow/int", "refs/heads/sow/task")
    assert branches == ""
    kept_work = plan_repo.repo.ok("salvage", "--json").json
    assert {item["task"] for item in kept_work["kept"]} >= {"010", "060"}


@pytest.mark.full
def test_full_history(plan_repo: PlanRepo) -> None:
    """With full history every commit of a worker is on the branch, below a merge."""
    plan_repo.act("implementer", "echo one > one; git add -A; git commit -qm 'My own'; echo two > two\n")
    plan_repo.plan("Make it")
    base = plan_repo.repo.git("rev-parse", "HEAD").strip()
    assert plan_repo.run("--history", "full").code == 0
    assert "My own" in plan_repo.repo.git("log", "--format=%s", f"{base}..HEAD").splitlines()
    assert len(plan_repo.repo.git("rev-list", "--merges", f"{base}..HEAD").split()) == 1


@pytest.mark.full
def test_forged_merges_do_not_count(plan_repo: PlanRepo) -> None:
    """A commit of a worker on the integration branch completes nothing, and is reported (F10, F17)."""
    forge = """echo part > part_010.txt
echo evil > evil.txt
git add -A
git commit -qm "Done\n\nSow-Task: 010/1"
git update-ref $(git for-each-ref --format='%(refname)' refs/heads/sow/int) HEAD
git reset -q --hard HEAD~1
echo part > part_010.txt
"""
    plan_repo.act("implementer-010", forge)
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert not (plan_repo.repo.root / "evil.txt").exists()
    assert plan_repo.turns("010", "quality-control") == 1
    moved = plan_repo.journal("branch_moved")
    assert len(moved) == 1
    assert "evil.txt" in plan_repo.repo.git("ls-tree", "--name-only", moved[0]["pin"])
    assert "was moved" in plan_repo.repo.ok("runs", "report").out


CHEAT = "touch bad.txt\nmkdir -p tests\necho 'collect_ignore = []' > tests/conftest.py\n"


def laundered(plan_repo: PlanRepo, *arguments: str) -> None:
    """A task that changes the test runner's configuration and breaks another check; it repairs only the latter."""
    plan_repo.act("implementer-010", "touch a.txt\n")
    plan_repo.act("implementer-020-1", after(plan_repo, CHEAT))
    plan_repo.act("implementer-020-2", "rm bad.txt\n")
    plan_repo.plan({"test_commands": ["test ! -e bad.txt"]}, {"test_commands": ["true"]})
    result = plan_repo.run("--yes", *arguments)
    assert result.code == 0, result
    assert plan_repo.task("020")["iteration"] == 2
    assert (plan_repo.repo.root / "tests/conftest.py").exists()


@pytest.mark.full
def test_a_concern_stays_with_its_merge(plan_repo: PlanRepo) -> None:
    """A concern about an iteration that was merged and sent back keeps the next one from being GREEN."""
    laundered(plan_repo, "--review", "off")
    assert plan_repo.task("020")["result"] == "YELLOW"
    assert "tests/conftest.py" in plan_repo.repo.ok("task", "show", "020").out
    assert "tests/conftest.py" in plan_repo.repo.ok("runs", "report").out


@pytest.mark.full
def test_the_reviewer_sees_the_merged_change(plan_repo: PlanRepo) -> None:
    """The reviewer of the next iteration sees the change of the merged one, and the concern about it."""
    laundered(plan_repo)
    asked = plan_repo.prompt("020", 2, "quality-control")
    assert "collect_ignore" in asked
    assert "look at this: " in asked


@pytest.mark.full
def test_a_flaky_check_of_an_earlier_run_is_a_question(plan_repo: PlanRepo) -> None:
    """The question is on a task of this run, so nothing is delivered until a person decides."""
    script = plan_repo.folder / "sometimes"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    plan_repo.plan({"test_commands": [str(script)]})
    assert plan_repo.run("--yes").code == 0
    script.write_text(f"#!/bin/sh\ntest -e {plan_repo.folder}/flag && exit 0\ntouch {plan_repo.folder}/flag\nexit 1\n")
    plan_repo.plan({"task_number": 7, "test_commands": ["true"]})
    head = plan_repo.repo.git("rev-parse", "HEAD")
    result = plan_repo.run("--yes")
    assert result.code == 4, result
    assert plan_repo.repo.git("rev-parse", "HEAD") == head
    assert plan_repo.task("010")["status"] == "completed"
    assert "is flaky: it failed, then passed on the same commit" in plan_repo.task("070")["question"]["text"]
    plan_repo.repo.ok("answer", "070", "waive")
    assert plan_repo.run("--yes").code == 0
    assert plan_repo.statuses() == {"010": "completed", "070": "completed"}
    delivered(plan_repo, "test -e part_070.txt")


@few_of("earlier", [False, True], 0)
def test_a_spoiled_setup_does_not_mislead_the_search(plan_repo: PlanRepo, earlier: bool) -> None:
    """The search for a merge builds the setup again, so leftovers of a failed check do not change the result."""
    spoils = "test ! -e made/spoiled && { test ! -e bad.txt || { touch made/spoiled; false; }; }"
    plan_repo.configure(worktree={"setup": [["mkdir", "made"]]})
    plan_repo.act("implementer-020-1", after(plan_repo, "touch bad.txt"))
    plan_repo.act("implementer-020-2", "rm bad.txt\n")
    first = {"test_commands": [spoils]}
    if earlier:
        plan_repo.plan(first)
        assert plan_repo.run("--yes", "--review", "off").code == 0
    plan_repo.plan(first, "Second")
    result = plan_repo.run("--yes", "--review", "off")
    assert result.code == 0, result
    assert (plan_repo.task("010")["iteration"], plan_repo.task("020")["iteration"]) == (1, 2)
    assert not (plan_repo.repo.root / "bad.txt").exists()


@pytest.mark.full
def test_a_check_that_fails_for_outside_reasons_is_a_question(plan_repo: PlanRepo) -> None:
    """A list that passed before and fails now on the same tree sends no task back."""
    outside = plan_repo.folder / "outside"
    outside.touch()
    plan_repo.act("implementer-020", f"touch two.txt\nrm {outside}\n")
    plan_repo.plan({"test_commands": [f"test -e {outside}"]}, "Second < 1")
    result = plan_repo.run("--yes")
    assert result.code == 4, result
    assert "fails now on a tree where it passed before" in plan_repo.task("010")["question"]["text"]
    assert (plan_repo.task("020")["status"], plan_repo.turns("020")) == ("completed", 1)


@pytest.mark.full
def test_final_checks_that_cannot_run_wait_for_a_person(plan_repo: PlanRepo) -> None:
    """A setup that fails in the final checks ends the call with exit 4 and a report; later the rest is delivered."""
    works = plan_repo.folder / "works"
    works.touch()
    plan_repo.configure(worktree={"setup": [["sh", "-c", f"test -e {works} && mkdir -p .venv"]]})
    (plan_repo.repo.root / ".gitignore").write_text(".venv\n")
    plan_repo.repo.git("add", ".gitignore")
    plan_repo.plan({"test_commands": [f"rm -f {works}"]})
    result = plan_repo.run("--yes")
    assert result.code == 4, result
    assert "the final checks could not run: the setup of the checkout failed" in result.err
    run = plan_repo.runs()[-1]
    assert (run["status"], run["exit"], plan_repo.statuses()) == ("waiting", 4, {"010": "completed"})
    works.touch()
    result = plan_repo.repo.sow("integrate", "--yes")
    assert result.code == 0, result
    delivered(plan_repo, "test -e part_010.txt")


@pytest.mark.full
def test_a_list_that_failed_before_the_run_is_reported(plan_repo: PlanRepo) -> None:
    """A list of an earlier task that the user broke before this run does not stop it, and the report says so."""
    plan_repo.plan({"test_commands": ["test -e part_010.txt"]})
    assert plan_repo.run("--yes").code == 0
    plan_repo.repo.git("rm", "-q", "part_010.txt")
    plan_repo.repo.git("commit", "-q", "-m", "Not needed")
    plan_repo.plan({"task_number": 7})
    assert plan_repo.run("--yes").code == 0
    output = "final tree: `test -e part_010.txt` of task 010 fails, as it did before this run began"
    assert output in plan_repo.repo.ok("runs", "report", "--format", "json").json["remarks"]


@few_of("number", [signal.SIGINT, signal.SIGKILL], 1)
def test_integrate_ends_a_run_that_was_interrupted_in_its_final_checks(plan_repo: PlanRepo, number: int) -> None:
    """After Ctrl-C or a crash in the final checks, every list of next steps names `sow integrate`, which ends the run.

    Until then the last phase cannot be left, and the project cannot be removed.
    """
    begun, go = plan_repo.folder / "begun", plan_repo.folder / "go"
    check = f"test ! -e two.txt || test -e {go} || {{ touch {begun}; sleep 60; }}"
    plan_repo.act("implementer-020", "touch two.txt\n")
    plan_repo.plan({"test_commands": [check]}, "Second < 1")
    run = plan_repo.start("--yes")
    wait_for(begun.exists)
    run.send_signal(number)
    run.communicate(timeout=300)
    repo = plan_repo.repo
    assert repo.ok("runs", "report", "--format", "json").json["next"][0]["command"] == "sow integrate"
    (waiting,) = repo.ok("inbox", "--json").json["items"]
    assert (waiting["kind"], waiting["do"]) == ("delivery", "sow integrate")
    assert repo.ok("status", "--json").json["next"]["command"] == "sow integrate"
    for case in (("phase", "advance"), ("cleanup",)):
        refused = repo.sow(*case)
        assert (refused.code, "sow integrate" in refused.err) == (4, True), refused
    go.touch()
    assert repo.sow("integrate", "--yes").code == 0
    assert plan_repo.runs()[-1]["status"] == "ended"
    assert repo.git("for-each-ref", "refs/heads/sow/int", "refs/heads/sow/task") == ""
    delivered(plan_repo, "test -e two.txt")
    repo.ok("phase", "advance")
    repo.ok("cleanup")


@pytest.mark.full
def test_another_branch_during_the_final_checks(plan_repo: PlanRepo) -> None:
    """The run waits with exit 4, and every hint names the branch; there the same command delivers the work."""
    begun, go = plan_repo.folder / "begun", plan_repo.folder / "go"
    waits = f"{{ touch {begun}; while [ ! -e {go} ]; do sleep 0.05; done; }}"
    plan_repo.act("implementer-020", "touch two.txt\n")
    plan_repo.plan({"test_commands": [f"test ! -e two.txt || {waits}"]}, "Second < 1")
    run = plan_repo.start("--yes")
    wait_for(begun.exists)
    plan_repo.repo.git("switch", "-q", "main")
    go.touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 4, err
    assert "git switch feat/harbour" in out.decode()
    for case in (("status",), ("inbox",)):
        refused = plan_repo.repo.sow(*case)
        assert "git switch feat/harbour" in refused.err
        assert "sow project delete" not in refused.err
    plan_repo.repo.git("switch", "-q", "feat/harbour")
    assert plan_repo.run("--yes").code == 0
    delivered(plan_repo, "test -e two.txt")
