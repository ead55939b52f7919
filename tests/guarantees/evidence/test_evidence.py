"""T1: evidence belongs to the commit that is merged; nothing beside that commit changes a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.plan_repo import Harbour
from support.simulated_workers import wait_for

OFF = ("--review", "off", "--retries", "0", "--yes")


@pytest.fixture(autouse=True)
def _baseline(harbour: Harbour) -> None:
    """Every list runs on the base commit first, as it does for users."""
    harbour.configure(run={"baseline": "on"})


def commit(harbour: Harbour, **files: str) -> None:
    """Files that the user committed before the run."""
    for name, text in files.items():
        path = harbour.repo.root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    harbour.repo.git("add", "--all")
    harbour.repo.git("commit", "-q", "-m", "files")


def results(harbour: Harbour, task: str = "010", kind: str = "test") -> list[bool]:
    return [each["passed"] for each in harbour.task(task)["evidence"] if each["kind"] == kind]


HIDDEN = {
    "an ignored file": "echo yes > secret.log\n",
    "an ignored folder": "mkdir -p build.log && echo yes > build.log/made\n",
}


@pytest.mark.parametrize("script", HIDDEN.values(), ids=HIDDEN)
def test_a_file_outside_of_the_commit_proves_nothing(harbour: Harbour, script: str) -> None:
    """A check that passes only with a file that is not in the commit fails (F12, F13, F35)."""
    commit(harbour, _dot_gitignore="*.log\n")
    harbour.act("implementer", f"{script}echo work > work.txt\n")
    harbour.plan({"test_commands": ["grep -rq yes secret.log hidden.txt build.log"]})
    result = harbour.run(*OFF)
    assert result.code == 4, result
    assert results(harbour) == [False]
    assert harbour.task("010")["result"] == "RED"


def test_a_file_that_a_worker_hides_from_git_is_collected(harbour: Harbour) -> None:
    """A worker that adds a file to .git/info/exclude does not hide it: the checks and the branch have it (F13)."""
    hide = 'echo hidden.txt >> "$(git rev-parse --git-common-dir)/info/exclude"'
    harbour.act("implementer", f"{hide}\necho yes > hidden.txt\n")
    harbour.plan({"test_commands": ["grep -q yes hidden.txt"]})
    result = harbour.run(*OFF)
    assert result.code == 0, result
    assert harbour.repo.git("show", "HEAD:hidden.txt") == "yes\n"


def test_evidence_says_what_it_belongs_to(harbour: Harbour) -> None:
    """Every piece names the collected tree, the whole list, the setup, the environment and its scope."""
    harbour.plan({"test_commands": ["test -f part_010.txt", "test -s part_010.txt"]})
    assert harbour.run().code == 0
    task = harbour.task("010")
    checked = [each for each in task["evidence"] if each["kind"] == "test"]
    assert [each["command"] for each in checked] == ["test -f part_010.txt", "test -s part_010.txt"]
    for name in ("list", "setup", "environment"):
        assert len({each[name] for each in checked}) == 1
        assert len(checked[0][name]) == 64
    assert {(each["scope"], each["tree"]) for each in checked} == {("commit", task["work"]["tree"])}


def test_a_check_cannot_rewrite_the_files_of_the_next(harbour: Harbour) -> None:
    """Tracked files are as in the commit before every command of a list, and what a command built stays (F35)."""
    commit(harbour, value_dot_txt="wrong\n", tool_dot_sh="echo right > value.txt\necho made > built.txt\n")
    harbour.plan({"test_commands": ["sh tool.sh", "test -f built.txt", "grep -q right value.txt"]})
    assert harbour.run(*OFF).code == 4
    assert results(harbour) == [True, True, False]


def test_a_build_of_one_list_is_not_there_for_the_next(harbour: Harbour) -> None:
    """What the checks of one task built is gone before those of another task run in the same slot."""
    harbour.configure(checks={"parallel": 1})
    harbour.plan({"test_commands": ["touch built.txt"]}, {"depends_on": [1], "test_commands": ["test ! -e built.txt"]})
    assert harbour.run(*OFF).code == 0


def test_an_equal_size_and_time_do_not_hide_a_change(harbour: Harbour) -> None:
    """A tracked file that a check rewrites with an equal size and modification time is restored for the next list."""
    harbour.configure(checks={"parallel": 1})
    swap = "touch -r value.txt mark; printf right > value.txt; touch -r mark value.txt"
    commit(harbour, value_dot_txt="wrong", swap_dot_sh=swap)
    harbour.plan({"test_commands": ["sh swap.sh"]}, {"depends_on": [1], "test_commands": ["grep -q right value.txt"]})
    assert harbour.run(*OFF).code == 4
    assert results(harbour, "020") == [False]


def test_a_stale_compiled_file_is_not_used(harbour: Harbour) -> None:
    """A .pyc that fits its source by size and time, and has other code, changes nothing in the next list."""
    harbour.configure(checks={"parallel": 1})
    trick = (
        "import os, py_compile\n"
        "os.utime('mod.py', (1, 1))\n"
        "old = open('mod.py').read()\n"
        "open('mod.py', 'w').write(old.replace('False', 'True '))\n"
        "os.utime('mod.py', (1, 1))\n"
        "py_compile.compile('mod.py')\n"
    )
    commit(harbour, mod_dot_py="OK = False\n", trick_dot_py=trick, _dot_gitignore="__pycache__/\n*.pyc\n")
    look = "python3 -c 'import mod, sys; sys.exit(not mod.OK)'"
    harbour.plan({"test_commands": ["python3 trick.py"]}, {"depends_on": [1], "test_commands": [look]})
    assert harbour.run(*OFF).code == 4
    assert results(harbour) == [True]
    assert results(harbour, "020") == [False]


def test_a_daemon_of_the_worker_changes_nothing(harbour: Harbour) -> None:
    """A process that outlives its turn and swaps files after collection does not reach a check (F19)."""
    stop, swapped = harbour.folder / "stop", harbour.folder / "swapped"
    collected = f"grep -qs '\"collected\"' {harbour.repo.root}/.sow/local/runs/*/journal.jsonl"
    swap = f"echo good > value.txt; touch {swapped}; sleep 0.01"
    loop = f"until {collected}; do sleep 0.01; done; while [ ! -e {stop} ]; do {swap}; done"
    daemon = harbour.folder / "daemon.py"
    daemon.write_text(
        "import os, subprocess\n"
        "plain = {'PATH': os.environ['PATH']}\n"
        f"subprocess.Popen(['sh', '-c', {loop!r}], env=plain, start_new_session=True)\n"
    )
    # Both turns run at once when the first ends: a daemon of a worker that is alone is found and ended.
    second = harbour.folder / "second"
    harbour.act("implementer", f"echo bad > value.txt\nuntil [ -e {second} ]; do sleep 0.01; done\npython3 {daemon}\n")
    wait = f"touch {second}\nuntil [ -e {swapped} ]; do sleep 0.01; done"
    harbour.act("implementer-020", f"{wait}\nsleep 1\necho x > x.txt\n")
    check = f"sh -c 'until [ -e {swapped} ]; do sleep 0.01; done; grep -q good value.txt'"
    harbour.plan({"test_commands": [check]}, "Second")
    try:
        assert harbour.run(*OFF, "--baseline", "off").code == 4
    finally:
        stop.touch()
    assert results(harbour) == [False]


def planted(harbour: Harbour) -> Path:
    """Git's record of the first slot."""
    return harbour.repo.root / ".git/worktrees/slot-1"


def test_state_planted_in_a_slot_does_not_matter(harbour: Harbour) -> None:
    """A worker that edits a slot's files, its index and git's record of it changes no later result."""
    harbour.configure(checks={"parallel": 1})
    slot, record = harbour.repo.root / ".sow/local/worktrees/slot-1", planted(harbour)
    commit(harbour, value_dot_txt="wrong\n")
    harbour.act(
        "implementer-020",
        f"echo x > x.txt\ncd {slot}\necho right > value.txt\necho right > other.txt\n"
        f"git update-index --assume-unchanged value.txt\ngit update-index --skip-worktree value.txt\n"
        f"cp {record}/index {harbour.repo.root}/.git/sow/slots/slot-1.index\n"
        f"git config --file {record}/config.worktree core.ignoreStat true\n"
        f"mkdir -p {record}/info\necho '*' > {record}/info/sparse-checkout\necho x > {record}/index.lock\n",
    )
    harbour.plan(
        {"test_commands": ["true"]},
        {"depends_on": [1], "test_commands": ["grep -q right value.txt", "test -e other.txt"]},
    )
    assert harbour.run(*OFF).code == 4
    assert results(harbour, "020") == [False, False]
    assert sorted(path.name for path in record.iterdir()) == ["HEAD", "commondir", "gitdir", "index"]


def test_a_slot_looks_clean_to_git(harbour: Harbour) -> None:
    """A check that asks git sees the collected commit and no change."""
    commit(harbour, value_dot_txt="one\n")
    clean = 'test -z "$(git status --porcelain)"'
    harbour.plan({"test_commands": [clean, "git diff-files --quiet", "git diff-index --quiet HEAD"]})
    result = harbour.run(*OFF)
    assert result.code == 0, result


def setup(harbour: Harbour, *commands: list[str], **more: Any) -> Path:
    """Setup commands that also write down each run of theirs; returns that file."""
    ledger = harbour.folder / "ledger"
    note = ["sh", "-c", f"echo run >> {ledger}"]
    harbour.configure(worktree={"setup": [*commands, note]}, checks={"parallel": 1}, **more)
    return ledger


def slot_runs(ledger: Path) -> int:
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


def test_a_setup_runs_once_for_equal_manifests(harbour: Harbour) -> None:
    """A slot that has the setup of a tree keeps its outputs; changed manifests remove them and run it again."""
    rewrite = "case $PWD in *slot-*) echo x >> package.json;; esac"  # as some tools do with their lock file
    make = ["sh", "-c", f"mkdir -p env && cp package.json env/made; {rewrite}"]
    ledger = setup(harbour, make)
    commit(harbour, package_dot_json="one\n", _dot_gitignore="env/\n")
    harbour.act("implementer-030", "echo two > package.json\n")
    harbour.plan(*({"depends_on": needs, "test_commands": ["cmp env/made package.json"]} for needs in ([], [1], [2])))
    result = harbour.run(*OFF)
    assert result.code == 0, result
    keys = [harbour.task(each)["evidence"][0]["setup"] for each in ("010", "020", "030")]
    assert keys[0] == keys[1] != keys[2]
    # One for each worktree of a worker, one for each key in the slot, and a fresh one for the final tree.
    assert slot_runs(ledger) == 3 + 2 + 1


def test_each_list_of_the_final_checks_has_a_fresh_setup(harbour: Harbour) -> None:
    """A list that passes only with what an earlier list left in a setup's output fails on the final tree."""
    setup(harbour, ["mkdir", "-p", "env"])
    commit(harbour, _dot_gitignore="env/\n")
    harbour.plan({"test_commands": ["touch env/marker"]}, {"depends_on": [1], "test_commands": ["test -e env/marker"]})
    result = harbour.run(*OFF)
    assert result.code == 4, result
    final = {each["command"]: each["passed"] for each in harbour.runs()[-1]["final"] if "command" in each}
    assert final == {"test -e env/marker": False}


def test_a_setup_that_fails_is_a_question(harbour: Harbour) -> None:
    """No worker can repair the machine: a failed setup of a slot waits for a person, and nothing is RED."""
    only_slots = "case $PWD in *slot-*) echo no network; exit 3;; esac"
    setup(harbour, ["sh", "-c", only_slots])
    harbour.plan({"test_commands": ["true"]})
    result = harbour.run(*OFF)
    assert result.code == 4, result
    task = harbour.task("010")
    assert "exit 3" in task["question"]["text"]
    assert "no network" in task["question"]["text"]
    assert (task.get("result"), task.get("evidence", [])) == (None, [])
    harbour.configure(worktree={})
    harbour.repo.ok("answer", "010", "the network is back")
    assert harbour.run(*OFF).code == 0


def test_ctrl_c_during_a_setup_is_no_question(harbour: Harbour) -> None:
    """The setup of a worktree that Ctrl-C cut off runs again with the next call."""
    begun, go = harbour.folder / "begun", harbour.folder / "go"
    setup(harbour, ["sh", "-c", f"test -e {go} || (touch {begun}; sleep 300)"])
    harbour.plan("First")
    run = harbour.start("--yes", "--review", "off")
    wait_for(begun.exists)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert "question" not in harbour.task("010")
    go.touch()
    assert harbour.run("--review", "off").code == 0


def test_copies_and_links_are_new_for_every_list(harbour: Harbour) -> None:
    """A check that edits a copied file does not reach the next list, nor the user's own file."""
    commit(harbour, _dot_gitignore=".env\nlibs\n")
    (harbour.repo.root / ".env").write_text("a=1\n")
    (harbour.repo.root / "libs").mkdir()
    harbour.configure(worktree={"copy": [".env"], "link": ["libs"]}, checks={"parallel": 1})
    edit = {"test_commands": ["grep -q a=1 .env", "sh -c 'echo b=2 > .env; rm libs; mkdir libs'", "grep -q b=2 .env"]}
    harbour.plan(edit, {"depends_on": [1], "test_commands": ["grep -q a=1 .env", "test -L libs"]})
    result = harbour.run(*OFF)
    assert result.code == 0, result
    assert (harbour.repo.root / ".env").read_text() == "a=1\n"


@pytest.mark.parametrize("command", ["no-such-program --check", "sh -c 'no-such-program'"])
def test_a_missing_program_is_a_question(harbour: Harbour, command: str) -> None:
    """Exit 127 is no result of the work: the question names the command and the program, and nothing is RED."""
    harbour.plan({"test_commands": [command]})
    result = harbour.run(*OFF)
    assert result.code == 4, result
    task = harbour.task("010")
    assert f"`{command}` cannot run here (exit 127)" in task["question"]["text"]
    assert "install no-such-program" in task["question"]["text"]
    assert (task.get("result"), task.get("evidence", [])) == (None, [])
    assert harbour.runs()[-1]["baselines"] == []  # the list runs on the base again when the program is there


SCRIPTS = {
    "given to a shell": ("bash check.sh", "echo true > check.sh"),
    "on a path of the work": (
        "sh -c 'PATH=bin:$PATH mine'",
        "mkdir bin; printf '#!/bin/sh\\n' > bin/mine; chmod +x bin/mine",
    ),
    "called by a script": ("sh -c '. ./lib.sh && run_it'", "echo 'run_it() { true; }' > lib.sh"),
}


@pytest.mark.parametrize(("command", "script"), SCRIPTS.values(), ids=SCRIPTS)
def test_what_the_task_makes_is_missing_on_the_base_only(harbour: Harbour, command: str, script: str) -> None:
    """A check that exits with 127 on the base commit and passes on the work is a red baseline and no question."""
    harbour.act("implementer", f"{script}\n")
    harbour.plan({"test_commands": [command]})
    result = harbour.run(*OFF)
    assert result.code == 0, result
    (baseline,) = harbour.runs()[-1]["baselines"]
    assert baseline["passed"] is False


def test_a_script_that_the_worker_forgot_is_no_question_about_the_machine(harbour: Harbour) -> None:
    """If the work lacks the script that the check runs, the check is RED."""
    harbour.plan({"test_commands": ["bash check.sh"]})
    assert harbour.run(*OFF).code == 4
    assert harbour.task("010")["result"] == "RED"
    assert results(harbour) == [False]


def test_a_check_that_the_work_breaks_is_no_question_about_the_machine(harbour: Harbour) -> None:
    """A list that passed on the base commit has all its programs: exit 127 is the fault of the work then."""
    commit(harbour, run_dot_sh="true\n")
    harbour.act("implementer", "echo no-such-program > run.sh\n")
    harbour.plan({"test_commands": ["sh run.sh"]})
    assert harbour.run(*OFF).code == 4
    assert harbour.task("010")["result"] == "RED"


def test_a_list_runs_on_the_base_again_after_the_answer(harbour: Harbour) -> None:
    """A program that the user installed gives the base commit its result too."""
    tool = harbour.folder / "bin" / "new-tool"
    tool.parent.mkdir()
    harbour.repo.environment["PATH"] += f":{tool.parent}"
    harbour.plan({"test_commands": ["new-tool"]})
    assert harbour.run(*OFF).code == 4
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    harbour.repo.ok("answer", "010", "it is there now")
    assert harbour.run(*OFF).code == 0
    (baseline,) = harbour.runs()[-1]["baselines"]
    assert baseline["passed"] is True


def test_a_program_of_the_work_is_no_question(harbour: Harbour) -> None:
    """A script that the task is to write is missing on the base commit, and fails there like any test."""
    harbour.act("implementer", "printf '#!/bin/sh\\n' > run.sh\nchmod +x run.sh\n")
    harbour.plan({"test_commands": ["./run.sh"]})
    result = harbour.run(*OFF)
    assert result.code == 0, result
    (baseline,) = harbour.runs()[-1]["baselines"]
    assert (baseline["passed"], baseline["command"], baseline["exit"]) == (False, "./run.sh", 127)


def test_each_list_runs_once_on_the_base_commit(harbour: Harbour) -> None:
    """Equal lists share one baseline, a red one changes no verdict, and the report says which were red before."""
    commit(harbour, here_dot_txt="x\n")
    new = "test -f part_010.txt"
    harbour.plan(
        {"test_commands": [new]}, {"test_commands": [new], "depends_on": [1]}, {"test_commands": ["test -f here.txt"]}
    )
    result = harbour.run(*OFF)
    assert (result.code, result.out.count("baseline: ")) == (0, 1)
    found = {each.get("command", ""): each["passed"] for each in harbour.runs()[-1]["baselines"]}
    assert found == {"": True, "test -f part_010.txt": False}
    assert len(harbour.journal("baseline")) == 2
    assert "test -f part_010.txt" in harbour.repo.ok("runs", "show").out


def test_ctrl_c_during_a_baseline_ends_the_run(harbour: Harbour) -> None:
    """A baseline that Ctrl-C cut off has no result, nothing else begins, and the same command goes on."""
    begun, go = harbour.folder / "begun", harbour.folder / "go"
    harbour.plan({"test_commands": [f"test -e {go} || (touch {begun}; sleep 300)"]})
    run = harbour.start("--yes", "--review", "off")
    wait_for(lambda: begun.exists() and harbour.has_happened("collected"))
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert "baselines" not in harbour.runs()[-1]
    assert "evidence" not in harbour.task("010")
    assert harbour.alive() == []
    go.touch()
    assert harbour.run("--review", "off").code == 0
    assert len(harbour.runs()[-1]["baselines"]) == 1


def test_no_baseline_where_it_is_off(harbour: Harbour) -> None:
    """With `--baseline off` nothing runs on the base commit."""
    harbour.plan({"test_commands": ["test -f part_010.txt"]})
    assert harbour.run("--baseline", "off").code == 0
    assert "baselines" not in harbour.runs()[-1]


def test_tasks_without_checks_use_no_slot(harbour: Harbour) -> None:
    """A run without commands makes no checkout for them."""
    harbour.plan("First", "Second")
    assert harbour.run().code == 0
    assert not (harbour.repo.root / ".sow/local/worktrees/slot-1").exists()
    assert not (harbour.repo.root / ".git/sow/slots").exists()


def test_a_shared_folder_belongs_to_no_commit(harbour: Harbour) -> None:
    """Without isolation evidence has no tree and says that its scope is the folder, and so does `task show`."""
    harbour.plan({"test_commands": ["test -f part_010.txt"]})
    result = harbour.run("--isolation", "none")
    assert result.code == 0, result
    (evidence,) = harbour.task("010")["evidence"]
    assert (evidence["scope"], evidence["passed"]) == ("folder", True)
    assert not {"tree", "setup"} & set(evidence)
    assert "belongs to no commit" in harbour.repo.ok("task", "show", "010").out
    assert "belong to no commit" in harbour.repo.ok("runs", "show").out


def test_lists_run_side_by_side(harbour: Harbour) -> None:
    """Two lists run at once in two slots, and a third one waits for its turn."""
    there = f"[ -e {harbour.folder}/$OTHER ] && exit 0"
    meet = f"touch {harbour.folder}/$ME; for i in $(seq 600); do {there}; sleep 0.1; done; exit 1"
    commit(harbour, meet_dot_sh=meet)
    harbour.plan(
        {"test_commands": ["env ME=a OTHER=b sh meet.sh"]},
        {"test_commands": ["env ME=b OTHER=a sh meet.sh"]},
        {"test_commands": ["true"]},
    )
    result = harbour.run(*OFF, "--baseline", "off")
    assert result.code == 0, result
    slots = sorted(path.name for path in (harbour.repo.root / ".sow/local/worktrees").glob("slot-*"))
    assert slots == ["slot-1", "slot-2"]


def test_a_killed_list_is_run_again(harbour: Harbour) -> None:
    """After kill -9 during a list there is no half evidence; the next run uses the same slot and runs all of it."""
    begun = harbour.folder / "begun"
    wait = f"test -e {harbour.folder}/go || (touch {begun}; sleep 300)"
    harbour.plan({"test_commands": ["touch first.txt", wait, "test -e first.txt"]})
    run = harbour.start("--yes", "--review", "off", "--baseline", "off")
    wait_for(begun.exists)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=60)
    assert harbour.task("010").get("evidence", []) == []
    (harbour.folder / "go").touch()
    result = harbour.run("--review", "off", "--baseline", "off")
    assert result.code == 0, result
    assert results(harbour) == [True, True, True]
    assert harbour.alive() == []
    slots = sorted(path.name for path in (harbour.repo.root / ".sow/local/worktrees").glob("slot-*"))
    assert slots == ["slot-1"]


HOLD = """
import sys
from sow.gitwork.repository import Repository
from sow.gitwork.slots import Slots
from sow.system.process.generator_steps import run_to_end
from sow.store.files.checkout_home import find
slot = run_to_end(Slots(Repository(find(option=sys.argv[1], environment={}, cwd="/")), 1).acquire())
slot.checkout(sys.argv[2])
print(slot.name, flush=True)
sys.stdin.read()
"""


def test_two_processes_never_share_a_slot(harbour: Harbour) -> None:
    """A slot that another sow holds is passed over, and it is free again when that process was killed."""
    harbour.plan({"test_commands": ["sh -c 'basename $PWD > name.txt; cat name.txt'"]})
    head = harbour.repo.git("rev-parse", "HEAD").strip()
    assert harbour.run("--yes").code == 0
    words = [sys.executable, "-c", HOLD, str(harbour.repo.root), head]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout
        assert first.stdout.readline() == b"slot-1\n"
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as second:
            assert second.stdout
            assert second.stdout.readline() == b"slot-2\n"
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as third:
                assert third.stdout
                assert third.stdout.readline() == b"slot-1\n"
                third.communicate()
            second.communicate()


def test_whole_lists_are_reused_or_none(harbour: Harbour) -> None:
    """At a merge without other work a list is not run again; a list with one changed part is run as a whole."""
    ledger = harbour.folder / "ran"
    harbour.plan({"test_commands": [f"sh -c 'echo one >> {ledger}'", f"sh -c 'echo two >> {ledger}'"]})
    assert harbour.run(*OFF, "--baseline", "off").code == 0
    assert ledger.read_text().split() == ["one", "two"]
    merged = [each for each in harbour.task("010")["evidence"] if each["kind"] == "merge"]
    assert {each["scope"] for each in merged} <= {"commit"}


def test_slots_are_removed_with_what_runs_left(harbour: Harbour) -> None:
    """`sow salvage prune` removes the slots that nobody uses."""
    harbour.plan({"test_commands": ["true"]})
    assert harbour.run().code == 0
    assert "slot-1" in harbour.worktrees() | {
        path.name for path in (harbour.repo.root / ".sow/local/worktrees").iterdir()
    }
    assert "slot-1" not in harbour.repo.ok("salvage").out
    harbour.repo.ok("salvage", "prune", "--older-than", "0d", "--yes")
    assert not (harbour.repo.root / ".sow/local/worktrees/slot-1").exists()
    assert harbour.run().code == 0
