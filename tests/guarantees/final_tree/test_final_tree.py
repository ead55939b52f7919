"""T2: the delivered branch passes the checks of every task that is reported as done."""

from __future__ import annotations

import signal
import subprocess

import pytest
from support.plan_repo import Harbour
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


def kept(harbour: Harbour) -> None:
    """Files of the repository before the run."""
    (harbour.repo.root / "base.txt").write_text("base\n")
    (harbour.repo.root / "count").write_text('test "$(ls | wc -l)" -lt 6\n')
    harbour.repo.git("add", "base.txt", "count")
    harbour.repo.git("commit", "-q", "-m", "base")


def delivered(harbour: Harbour, *commands: str) -> None:
    """A fresh clone of the user's branch passes these commands."""
    clone = harbour.folder / "clone"
    subprocess.run(["git", "clone", "-q", str(harbour.repo.root), str(clone)], check=True)
    for command in commands:
        assert subprocess.run(["sh", "-c", command], cwd=clone).returncode == 0, command


def after(harbour: Harbour, script: str, task: str = "010") -> str:
    """A worker's script that waits until a task is merged, and brings that into its own branch."""
    journal = f"{harbour.repo.root}/.sow/local/runs/*/journal.jsonl"
    wait = f'until grep -q \'"merged", .*"{task}"\' {journal}; do sleep 0.05; done\n'
    return f"{wait}git merge -q $(git for-each-ref --format='%(refname)' refs/heads/sow/int)\n{script}\n"


@pytest.mark.parametrize("name", PAIRS)
def test_the_second_breaks_the_first(harbour: Harbour, name: str) -> None:
    """The task that broke another one's check is sent back with the output, and the fixed tree is delivered (F33)."""
    first, check, bad, good = PAIRS[name]
    kept(harbour)
    harbour.act("implementer-010", f"{first}\n")
    harbour.act("implementer-020-1", after(harbour, bad))
    harbour.act("implementer-020-2", f"git checkout -q HEAD~1 -- .\nrm -rf 1 2 3 bad.txt b.txt c\n{first}\n{good}\n")
    harbour.plan({"test_commands": [check]}, "Second")
    result = harbour.run("--yes")
    assert result.code == 0, result
    assert harbour.statuses() == {"010": "completed", "020": "completed"}
    assert (harbour.task("010")["iteration"], harbour.task("020")["iteration"]) == (1, 2)
    prompt = harbour.prompt("020", 2)
    assert f"`{check}` of task 010 fails on the final tree since task 020 was merged" in prompt
    assert "Your worktree has everything merged so far. Fix this check without breaking the other tasks." in prompt
    delivered(harbour, check)
    run = harbour.runs()[-1]
    steps = [(each.get("task"), each["text"]) for each in harbour.journal("step", "final_step")]
    assert (None, f"checks the final tree: {check}") in steps
    assert not [task for task, text in steps if task and "final tree" in text]
    assert [each["passed"] for each in run["final"]] == [False, True]
    assert [each["task"] for each in run["merges"]] == ["010", "020", "020"]
    assert harbour.repo.sow("runs", "verify", "--yes").code == 0


BREAKS = "rm -f wanted.txt\necho more >> broken.txt"


def breaking(harbour: Harbour, *tasks: object, words: tuple[str, ...] = ()) -> None:
    """A first task whose check wants a file that task 020 removes on each of its turns."""
    harbour.act("implementer-010", "touch wanted.txt\n")
    harbour.act("implementer-020", after(harbour, BREAKS))
    harbour.plan({"test_commands": ["test -e wanted.txt"]}, *(tasks or ("Second",)))  # type: ignore[arg-type]
    result = harbour.run("--yes", *words)
    assert result.code == 4, result
    assert not (harbour.repo.root / "broken.txt").exists()


def answer(harbour: Harbour, words: str, code: int) -> None:
    """Answer the open question, and run on."""
    harbour.repo.ok("answer", "020", words)
    result = harbour.run("--yes", "--retries", "0")
    assert result.code == code, result


def test_a_list_that_was_broken_is_checked_before_the_next_merge(harbour: Harbour) -> None:
    """A task that was sent back also passes the list that it broke, before it is reviewed and merged again."""
    harbour.act("implementer-010", "touch wanted.txt\n")
    harbour.act("implementer-020-1", after(harbour, BREAKS))
    harbour.act("implementer-020-2", "touch not-yet.txt\n")
    harbour.act("implementer-020-3", "touch wanted.txt\n")
    harbour.plan({"test_commands": ["test -e wanted.txt"]}, {"test_commands": ["test -e broken.txt"]})
    result = harbour.run("--yes")
    assert result.code == 0, result
    run, task = harbour.runs()[-1], harbour.task("020")
    assert [(each["task"], each["iteration"]) for each in run["merges"]] == [("010", 1), ("020", 1), ("020", 3)]
    assert harbour.turns("020", "quality-control") == 2
    assert "`test -e wanted.txt` of task 010 still fails" in harbour.prompt("020", 3)
    assert "`test -e wanted.txt` failed (exit 1)" in harbour.prompt("020", 3)
    again = [each for each in task["evidence"] if each["command"] == "test -e wanted.txt"]
    assert [(each["kind"], each["iteration"], each["passed"]) for each in again] == [
        ("final", 1, False),
        ("final", 2, False),
        ("final", 3, True),
        ("merge", 3, True),
    ]
    delivered(harbour, "test -e wanted.txt -a -e not-yet.txt")


def test_work_that_waits_for_a_waiver_is_merged_with_it(harbour: Harbour) -> None:
    """If a person waives the list that the next try still breaks, that try is merged and not lost."""
    breaking(harbour, words=("--retries", "1"))
    answer(harbour, "waive", 0)
    assert harbour.turns("020") == 2
    assert (harbour.repo.root / "broken.txt").read_text() == "more\nmore\n"


def test_the_same_output_of_a_broken_list_is_a_question(harbour: Harbour) -> None:
    """If the next try breaks the list with the same output, a person decides, although retries are left."""
    harbour.act("implementer-010", "touch wanted.txt\n")
    harbour.act("implementer-020-1", after(harbour, BREAKS))
    harbour.act("implementer-020", "date +%N >> other.txt\n")
    harbour.plan({"test_commands": ["ls wanted.txt"]}, "Second")
    assert harbour.run("--yes", "--retries", "9").code == 4
    asked = harbour.task("020")["question"]["text"]
    assert asked.startswith("final checks: `ls wanted.txt` of task 010 still fails with the same output\n")
    assert harbour.turns("020") == 2
    answer(harbour, "stop", 1)
    assert harbour.statuses() == {"010": "completed", "020": "failed"}


def test_retries_that_are_spent_are_a_question(harbour: Harbour) -> None:
    """Sent back as often as allowed, the run asks, shows the output and the choices, and delivers nothing."""
    breaking(harbour, words=("--retries", "1"))
    task = harbour.task("020")
    asked = task["question"]["text"]
    assert asked.startswith("final checks: `test -e wanted.txt` of task 010 still fails, after 1 retry\n")
    assert "Your worktree" not in asked
    next_steps = harbour.repo.ok("runs", "show", "--json").json["next"]
    assert next_steps[0]["command"] == 'sow answer 1 "send back"'
    assert next_steps[0]["text"].endswith('(or answer "waive" or "stop")')
    assert all(f'"{word}"' in asked for word in ("send back", "waive", "stop"))
    assert (task["status"], task["retry_count"], harbour.turns("020")) == ("paused", 1, 2)
    assert harbour.task("010")["status"] == "completed"
    head = harbour.repo.git("rev-parse", "HEAD")
    assert harbour.run("--yes", "--retries", "1").code == 4
    assert harbour.repo.git("rev-parse", "HEAD") == head
    for words in (["integrate"], ["integrate", "--dry-run"]):
        refused = harbour.repo.sow(*words)
        assert (refused.code, "sow answer" in refused.err) == (4, True), refused


def test_a_person_sends_it_back(harbour: Harbour) -> None:
    """With "send back" the worker has one more turn, on the integration head, with the output."""
    breaking(harbour, words=("--retries", "0"))
    harbour.act("implementer-020-2", "ls > seen.txt\ntouch wanted.txt\n")
    answer(harbour, "send back", 0)
    assert "broken.txt" in (harbour.repo.root / "seen.txt").read_text()
    assert "`test -e wanted.txt` failed (exit 1)" in harbour.prompt("020", 2)
    delivered(harbour, "test -e wanted.txt")


def test_a_person_waives_the_check(harbour: Harbour) -> None:
    """With "waive" the check is not run again, the rest is delivered, and the report names the waiver."""
    breaking(harbour, words=("--retries", "0"))
    answer(harbour, "waive: the file is not needed any more", 0)
    assert harbour.turns("020") == 1
    assert (harbour.task("020")["status"], harbour.task("020")["result"]) == ("completed", "GREEN")
    waiver = harbour.task("010")["waivers"][0]
    assert (waiver["command"], waiver["reason"]) == ("test -e wanted.txt", "waive: the file is not needed any more")
    delivered(harbour, "test -e broken.txt")
    for form in ("md", "html", "json"):
        assert "test -e wanted.txt" in harbour.repo.ok("runs", "report", "--format", form).out, form


def test_a_person_stops_it(harbour: Harbour) -> None:
    """With "stop" the task fails, its merge is taken out, and the rest is delivered."""
    breaking(harbour, words=("--retries", "0"))
    answer(harbour, "stop", 1)
    assert harbour.statuses() == {"010": "completed", "020": "failed"}
    assert (harbour.repo.root / "wanted.txt").exists()
    assert not (harbour.repo.root / "broken.txt").exists()
    assert [each["task"] for each in harbour.runs()[-1]["merges"]] == ["010"]
    assert "task 020: its merge was taken out" in harbour.repo.ok("runs", "report").out


def test_an_abandoned_task_does_not_hold_up_the_rest(harbour: Harbour) -> None:
    """After the breaking task is abandoned, `sow integrate` delivers what the others did, and the run is over."""
    harbour.act("implementer-030", after(harbour, "touch three.txt", "020"))
    breaking(harbour, "Second", "Third", words=("--retries", "0"))
    harbour.repo.ok("task", "abandon", "020", "--reason", "not needed")
    result = harbour.repo.sow("integrate", "--yes")
    assert result.code == 0, result
    delivered(harbour, "test -e wanted.txt -a -e three.txt -a ! -e broken.txt")
    assert harbour.runs()[-1]["status"] == "ended"
    assert harbour.journal("branch_moved") == []


def test_work_on_top_of_a_dropped_merge_does_not_bring_it_back(harbour: Harbour) -> None:
    """A task that began on top of a merge that is taken out delivers only its own changes."""
    harbour.act("implementer-030-1", after(harbour, "sow task set status paused", "020"))
    harbour.act("implementer-030-2", "touch three.txt\n")
    breaking(harbour, "Second", "Third", words=("--retries", "0"))
    harbour.repo.ok("task", "abandon", "020", "--reason", "not needed")
    harbour.repo.ok("answer", "030", "The third.")
    result = harbour.run("--yes", "--retries", "0")
    assert result.code == 0, result
    delivered(harbour, "test -e wanted.txt -a -e three.txt -a ! -e broken.txt")


def test_a_merge_that_conflicts_without_a_dropped_one_is_a_question(harbour: Harbour) -> None:
    """Where a later merge needs the one that is taken out, its task asks, and the rest is delivered."""
    harbour.act("implementer-030-1", after(harbour, "echo 3 >> broken.txt", "020"))
    harbour.act("implementer-030-2", "cat broken.txt > three.txt\nrm broken.txt\ntouch wanted.txt\n")
    breaking(harbour, "Second", "Third", words=("--retries", "0"))
    answer(harbour, "stop", 1)
    assert "without it the merge of task 030 conflicts" in harbour.task("030")["question"]["text"]
    delivered(harbour, "test -e wanted.txt -a ! -e broken.txt")
    harbour.repo.ok("answer", "030", "make it fit")
    assert harbour.run("--yes", "--retries", "0").code == 1
    assert harbour.task("030")["status"] == "completed"
    assert (harbour.repo.root / "three.txt").exists()
    assert not (harbour.repo.root / "broken.txt").exists()


def test_a_task_that_builds_on_the_other_is_a_question(harbour: Harbour) -> None:
    """A task that depends on the one whose check it breaks may be right: a person decides, with retries left."""
    breaking(harbour, "Second < 1")
    asked = harbour.task("020")["question"]["text"]
    assert "since task 020 was merged (020 depends on 010)" in asked
    assert harbour.turns("020") == 1


def test_the_right_task_is_found(harbour: Harbour) -> None:
    """Of six merges after the one whose check fails, the search finds the one that broke it."""
    harbour.act("implementer-010", "touch wanted.txt\n")
    harbour.act("implementer-050-2", "touch wanted.txt\n")
    harbour.plan({"test_commands": ["test -e wanted.txt"]}, "B < 1", "C < 2", "D < 3", "E", "F < 4", "G < 6")
    harbour.act("implementer-050-1", after(harbour, BREAKS, "040"))
    result = harbour.run("--yes")
    assert result.code == 0, result
    iterations = {ident: harbour.task(ident)["iteration"] for ident in harbour.statuses()}
    assert {ident for ident, number in iterations.items() if number > 1} == {"050"}
    delivered(harbour, "test -e wanted.txt")


def test_a_check_that_cannot_be_relied_on_is_a_question(harbour: Harbour) -> None:
    """A list that fails and passes on one tree is nobody's fault: a person decides."""
    flag = harbour.folder / "flag"
    script = harbour.folder / "sometimes"
    script.write_text(
        f"#!/bin/sh\ntest -e two.txt || exit 0\nif [ -e {flag} ]; then exit 0; fi\ntouch {flag}\nexit 1\n"
    )
    script.chmod(0o755)
    harbour.act("implementer-010", "touch wanted.txt\n")
    harbour.act("implementer-020", after(harbour, "touch two.txt"))
    harbour.plan({"test_commands": [str(script)]}, "Second")
    result = harbour.run("--yes")
    assert result.code == 4, result
    assert "is flaky: it failed, then passed on the same commit" in harbour.task("010")["question"]["text"]
    assert harbour.task("020")["status"] == "completed"


def test_the_users_commits_are_not_a_tasks_fault(harbour: Harbour) -> None:
    """Where the user's new commits break a check of any kind, no task is sent back and the branch stays (F34)."""
    harbour.act("implementer-010", f"until test -e {harbour.folder}/go; do sleep 0.05; done\ntouch wanted.txt\n")
    criterion = {"criterion": "Nothing is bad", "verification": {"command": "test ! -e bad.txt"}}
    harbour.plan({"success_criteria": [criterion]})
    run = harbour.start("--yes")
    wait_for(lambda: (harbour.folder / "implementer-010-1.cwd").exists())
    (harbour.repo.root / "bad.txt").touch()
    harbour.repo.git("add", "bad.txt")
    harbour.repo.git("commit", "-q", "-m", "Bad")
    head = harbour.repo.git("rev-parse", "HEAD")
    (harbour.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 4, (out, err)
    assert b"with your new commits `test ! -e bad.txt` fails" in err
    assert harbour.repo.git("rev-parse", "HEAD") == head
    assert harbour.task("010")["iteration"] == 1
    steps = harbour.repo.ok("runs", "report", "--format", "json").json["next"]
    assert steps[0]["command"] == f"sow project save && git merge sow/int/{harbour.runs()[-1]['id']}"
    assert "sow integrate" not in [each["command"] for each in steps]


@pytest.mark.parametrize("how", ["option", "config"])
def test_final_checks_can_be_off(harbour: Harbour, how: str) -> None:
    """Without final checks the tree is delivered as it is, and `sow runs verify` still says what fails in it."""
    if how == "config":
        harbour.configure(run={"final_checks": "off"})
    harbour.act("implementer-010", "touch wanted.txt\n")
    harbour.act("implementer-020", after(harbour, BREAKS))
    harbour.plan({"test_commands": ["test -e wanted.txt"]}, "Second")
    result = harbour.run(*(("--final-checks", "off") if how == "option" else ()))
    assert result.code == 0, result
    delivered(harbour, "test -e broken.txt")
    assert "the final tree was not checked (--final-checks off)" in harbour.repo.ok("runs", "report").out
    verified = harbour.repo.sow("runs", "verify")
    assert verified.code == 1, verified
    assert "final tree, task 010: test -e wanted.txt (exit 1)" in verified.out


def test_equal_lists_run_once(harbour: Harbour) -> None:
    """Tasks with equal lists share one run on the final tree, and a list that passed on that tree is not repeated."""
    counter = harbour.folder / "runs"
    script = harbour.folder / "count"
    script.write_text(f"#!/bin/sh\nls part_*.txt | wc -l >> {counter}\n")
    script.chmod(0o755)
    harbour.plan(
        {"test_commands": [str(script)]}, {"test_commands": [str(script)], "depends_on": [1]}, {"depends_on": [2]}
    )
    result = harbour.run()
    assert result.code == 0, result
    assert [line.strip() for line in counter.read_text().splitlines()].count("3") == 1


def test_an_interrupted_run_delivers_nothing_unchecked(harbour: Harbour) -> None:
    """After Ctrl-C the user's branch does not move to a tree whose lists were not run; the next call does it."""
    harbour.act("implementer-010", "touch wanted.txt\n")
    harbour.act("implementer-020", after(harbour, "touch two.txt"))
    harbour.act("implementer-030", f"touch {harbour.folder}/begun\nsleep 60\n")
    harbour.plan({"test_commands": ["test -e wanted.txt"]}, "Second", "Third < 2")
    run = harbour.start()
    wait_for((harbour.folder / "begun").exists)
    head = harbour.repo.git("rev-parse", "HEAD")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)
    assert run.returncode == 130
    assert harbour.repo.git("rev-parse", "HEAD") == head
    harbour.act("implementer-030", "touch three.txt\n")
    assert harbour.run().code == 0
    delivered(harbour, "test -e wanted.txt -a -e three.txt")


def test_one_commit_for_each_task(harbour: Harbour) -> None:
    """After six tasks the branch has six commits and one of the state, made from the tasks, and no branch is left."""
    harbour.act("implementer", 'echo one > "a_$SOW_TASK"; git add -A; git commit -qm wip; echo two > "b_$SOW_TASK"\n')
    long = "Make the part that has a name which is so very long that no subject line of git could hold it"
    harbour.plan(*(f"Make part {number}" for number in range(1, 6)), long)
    base = harbour.repo.git("rev-parse", "HEAD").strip()
    result = harbour.run()
    assert result.code == 0, result
    log = harbour.repo.git("log", "--format=%s", f"{base}..HEAD").splitlines()
    made = [each for each in log if not each.startswith("State of run")]
    assert len(log) - len(made) <= 1
    short = "Make the part that has a name which is so very long that no subject…"
    assert sorted(made) == [*(f"Make part {number}" for number in range(1, 6)), short]
    assert harbour.repo.git("rev-list", "--merges", f"{base}..HEAD") == ""
    message = harbour.repo.git("log", "-1", "--format=%b", "--grep", "Make part 3", "HEAD")
    assert "Make it." in message
    assert "Task 030, iteration 1" in message
    branches = harbour.repo.git("for-each-ref", "--format=%(refname)", "refs/heads/sow/int", "refs/heads/sow/task")
    assert branches == ""
    kept_work = harbour.repo.ok("salvage", "--json").json
    assert {each["task"] for each in kept_work["kept"]} >= {"010", "060"}


def test_full_history(harbour: Harbour) -> None:
    """With full history every commit of a worker is on the branch, below a merge."""
    harbour.act("implementer", "echo one > one; git add -A; git commit -qm 'My own'; echo two > two\n")
    harbour.plan("Make it")
    base = harbour.repo.git("rev-parse", "HEAD").strip()
    assert harbour.run("--history", "full").code == 0
    assert "My own" in harbour.repo.git("log", "--format=%s", f"{base}..HEAD").splitlines()
    assert len(harbour.repo.git("rev-list", "--merges", f"{base}..HEAD").split()) == 1


def test_forged_merges_do_not_count(harbour: Harbour) -> None:
    """A commit of a worker on the integration branch completes nothing, and is reported (F10, F17)."""
    forge = """echo part > part_010.txt
echo evil > evil.txt
git add -A
git commit -qm "Done\n\nSow-Task: 010/1"
git update-ref $(git for-each-ref --format='%(refname)' refs/heads/sow/int) HEAD
git reset -q --hard HEAD~1
echo part > part_010.txt
"""
    harbour.act("implementer-010", forge)
    harbour.plan("First")
    result = harbour.run()
    assert result.code == 0, result
    assert not (harbour.repo.root / "evil.txt").exists()
    assert harbour.turns("010", "quality-control") == 1
    moved = harbour.journal("branch_moved")
    assert len(moved) == 1
    assert "evil.txt" in harbour.repo.git("ls-tree", "--name-only", moved[0]["pin"])
    assert "was moved" in harbour.repo.ok("runs", "report").out


CHEAT = "touch bad.txt\nmkdir -p tests\necho 'collect_ignore = []' > tests/conftest.py\n"


def laundered(harbour: Harbour, *words: str) -> None:
    """A task that changes the test runner's configuration and breaks another check; it repairs only the latter."""
    harbour.act("implementer-010", "touch a.txt\n")
    harbour.act("implementer-020-1", after(harbour, CHEAT))
    harbour.act("implementer-020-2", "rm bad.txt\n")
    harbour.plan({"test_commands": ["test ! -e bad.txt"]}, {"test_commands": ["true"]})
    result = harbour.run("--yes", *words)
    assert result.code == 0, result
    assert harbour.task("020")["iteration"] == 2
    assert (harbour.repo.root / "tests/conftest.py").exists()


def test_a_concern_stays_as_long_as_its_merge(harbour: Harbour) -> None:
    """A concern about an iteration that was merged and sent back keeps the next one from being GREEN."""
    laundered(harbour, "--review", "off")
    assert harbour.task("020")["result"] == "YELLOW"
    assert "tests/conftest.py" in harbour.repo.ok("task", "show", "020").out
    assert "tests/conftest.py" in harbour.repo.ok("runs", "report").out


def test_the_reviewer_sees_what_is_merged_already(harbour: Harbour) -> None:
    """The reviewer of the next iteration sees the change of the merged one, and the concern about it."""
    laundered(harbour)
    asked = harbour.prompt("020", 2, "quality-control")
    assert "collect_ignore" in asked
    assert "look at this: " in asked


def test_a_flaky_check_of_an_earlier_run_holds_up_this_one(harbour: Harbour) -> None:
    """The question about it is on a task of this run, so nothing is delivered until a person decides."""
    script = harbour.folder / "sometimes"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    harbour.plan({"test_commands": [str(script)]})
    assert harbour.run("--yes").code == 0
    script.write_text(f"#!/bin/sh\ntest -e {harbour.folder}/flag && exit 0\ntouch {harbour.folder}/flag\nexit 1\n")
    harbour.plan({"task_number": 7, "test_commands": ["true"]})
    head = harbour.repo.git("rev-parse", "HEAD")
    result = harbour.run("--yes")
    assert result.code == 4, result
    assert harbour.repo.git("rev-parse", "HEAD") == head
    assert harbour.task("010")["status"] == "completed"
    assert "is flaky: it failed, then passed on the same commit" in harbour.task("070")["question"]["text"]
    harbour.repo.ok("answer", "070", "waive")
    assert harbour.run("--yes").code == 0
    assert harbour.statuses() == {"010": "completed", "070": "completed"}
    delivered(harbour, "test -e part_070.txt")


@pytest.mark.parametrize("earlier", [False, True])
def test_a_check_that_spoils_its_setup_blames_the_right_merge(harbour: Harbour, earlier: bool) -> None:
    """The search for a merge builds the setup again, so what a failed check left there does not change the result."""
    spoils = "test ! -e made/spoiled && { test ! -e bad.txt || { touch made/spoiled; false; }; }"
    harbour.configure(worktree={"setup": [["mkdir", "made"]]})
    harbour.act("implementer-020-1", after(harbour, "touch bad.txt"))
    harbour.act("implementer-020-2", "rm bad.txt\n")
    first = {"test_commands": [spoils]}
    if earlier:
        harbour.plan(first)
        assert harbour.run("--yes", "--review", "off").code == 0
    harbour.plan(first, "Second")
    result = harbour.run("--yes", "--review", "off")
    assert result.code == 0, result
    assert (harbour.task("010")["iteration"], harbour.task("020")["iteration"]) == (1, 2)
    assert not (harbour.repo.root / "bad.txt").exists()


def test_no_merge_is_blamed_for_the_world_outside(harbour: Harbour) -> None:
    """A list that fails now where it passed before is a question, and no task is sent back for it."""
    outside = harbour.folder / "outside"
    outside.touch()
    harbour.act("implementer-020", f"touch two.txt\nrm {outside}\n")
    harbour.plan({"test_commands": [f"test -e {outside}"]}, "Second < 1")
    result = harbour.run("--yes")
    assert result.code == 4, result
    assert "fails now on a tree where it passed before" in harbour.task("010")["question"]["text"]
    assert (harbour.task("020")["status"], harbour.turns("020")) == ("completed", 1)


def test_final_checks_that_cannot_run_wait_for_a_person(harbour: Harbour) -> None:
    """A setup that fails in the final checks ends the call with exit 4 and a report; later the rest is delivered."""
    works = harbour.folder / "works"
    works.touch()
    harbour.configure(worktree={"setup": [["sh", "-c", f"test -e {works} && mkdir -p .venv"]]})
    (harbour.repo.root / ".gitignore").write_text(".venv\n")
    harbour.repo.git("add", ".gitignore")
    harbour.plan({"test_commands": [f"rm -f {works}"]})
    result = harbour.run("--yes")
    assert result.code == 4, result
    assert "the final checks could not run: the setup of the checkout failed" in result.err
    run = harbour.runs()[-1]
    assert (run["status"], run["exit"], harbour.statuses()) == ("waiting", 4, {"010": "completed"})
    works.touch()
    result = harbour.repo.sow("integrate", "--yes")
    assert result.code == 0, result
    delivered(harbour, "test -e part_010.txt")


def test_a_list_that_failed_before_the_run_is_reported(harbour: Harbour) -> None:
    """A list of an earlier task that the user broke before this run does not hold it up, and the report says so."""
    harbour.plan({"test_commands": ["test -e part_010.txt"]})
    assert harbour.run("--yes").code == 0
    harbour.repo.git("rm", "-q", "part_010.txt")
    harbour.repo.git("commit", "-q", "-m", "Not needed")
    harbour.plan({"task_number": 7})
    assert harbour.run("--yes").code == 0
    said = "final tree: `test -e part_010.txt` of task 010 fails, as it did before this run began"
    assert said in harbour.repo.ok("runs", "report", "--format", "json").json["remarks"]


def test_integrate_ends_a_run_that_was_interrupted_in_its_final_checks(harbour: Harbour) -> None:
    """After Ctrl-C in the final checks, the next step is `sow integrate`; after that the run is over."""
    begun, go = harbour.folder / "begun", harbour.folder / "go"
    check = f"test ! -e two.txt || test -e {go} || {{ touch {begun}; sleep 60; }}"
    harbour.act("implementer-020", "touch two.txt\n")
    harbour.plan({"test_commands": [check]}, "Second < 1")
    run = harbour.start("--yes")
    wait_for(begun.exists)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)
    assert run.returncode == 130
    steps = harbour.repo.ok("runs", "report", "--format", "json").json["next"]
    assert steps[0]["command"] == "sow integrate"
    go.touch()
    assert harbour.repo.sow("integrate", "--yes").code == 0
    assert harbour.runs()[-1]["status"] == "ended"
    assert harbour.repo.git("for-each-ref", "refs/heads/sow/int", "refs/heads/sow/task") == ""
    delivered(harbour, "test -e two.txt")
