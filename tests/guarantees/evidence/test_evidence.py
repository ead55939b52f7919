"""T1: evidence belongs to the merged commit, and nothing outside of that commit changes a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

OFF = ("--review", "off", "--retries", "0", "--yes")


@pytest.fixture(autouse=True)
def _baseline(plan_repo: PlanRepo) -> None:
    """Every list runs on the base commit first, as for users."""
    plan_repo.configure(run={"baseline": "on"})


def commit(plan_repo: PlanRepo, **files: str) -> None:
    """Commits files of the user before the run."""
    for name, text in files.items():
        path = plan_repo.repo.root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    plan_repo.repo.git("add", "--all")
    plan_repo.repo.git("commit", "-q", "-m", "files")


def results(plan_repo: PlanRepo, task: str = "010", kind: str = "test") -> list[bool]:
    return [evidence["passed"] for evidence in plan_repo.task(task)["evidence"] if evidence["kind"] == kind]


HIDDEN = {
    "an ignored file": "echo yes > secret.log\n",
    "an ignored folder": "mkdir -p build.log && echo yes > build.log/made\n",
}


@few_of("script", HIDDEN.values(), 1, ids=HIDDEN)
def test_a_file_outside_the_commit_proves_nothing(plan_repo: PlanRepo, script: str) -> None:
    """A check that passes only with an uncommitted file fails (F12, F13, F35)."""
    commit(plan_repo, _dot_gitignore="*.log\n")
    plan_repo.act("implementer", f"{script}echo work > work.txt\n")
    plan_repo.plan({"test_commands": ["grep -rq yes secret.log hidden.txt build.log"]})
    result = plan_repo.run(*OFF)
    assert result.code == 4, result
    assert results(plan_repo) == [False]
    assert plan_repo.task("010")["result"] == "RED"


@pytest.mark.full
def test_a_file_that_a_worker_hides_from_git_is_collected(plan_repo: PlanRepo) -> None:
    """A file that a worker adds to .git/info/exclude is in the checks and on the branch (F13)."""
    hide = 'echo hidden.txt >> "$(git rev-parse --git-common-dir)/info/exclude"'
    plan_repo.act("implementer", f"{hide}\necho yes > hidden.txt\n")
    plan_repo.plan({"test_commands": ["grep -q yes hidden.txt"]})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert plan_repo.repo.git("show", "HEAD:hidden.txt") == "yes\n"


@pytest.mark.full
def test_evidence_names_what_it_belongs_to(plan_repo: PlanRepo) -> None:
    """Every piece has the collected tree, the whole list, the setup, the environment and its scope."""
    plan_repo.plan({"test_commands": ["test -f part_010.txt", "test -s part_010.txt"]})
    assert plan_repo.run().code == 0
    task = plan_repo.task("010")
    checked = [evidence for evidence in task["evidence"] if evidence["kind"] == "test"]
    assert [entry["command"] for entry in checked] == ["test -f part_010.txt", "test -s part_010.txt"]
    for name in ("list", "setup", "environment"):
        assert len({item[name] for item in checked}) == 1
        assert len(checked[0][name]) == 64
    assert {(item["scope"], item["tree"]) for item in checked} == {("commit", task["work"]["tree"])}


def test_a_check_cannot_rewrite_the_files_of_the_next(plan_repo: PlanRepo) -> None:
    """Tracked files are as in the commit before every command of a list, and built files stay (F35)."""
    commit(plan_repo, value_dot_txt="wrong\n", tool_dot_sh="echo right > value.txt\necho made > built.txt\n")
    plan_repo.plan({"test_commands": ["sh tool.sh", "test -f built.txt", "grep -q right value.txt"]})
    assert plan_repo.run(*OFF).code == 4
    assert results(plan_repo) == [True, True, False]


def test_a_build_of_one_list_is_gone_for_the_next(plan_repo: PlanRepo) -> None:
    """Files that the checks of one task built are gone before those of another run in the same slot."""
    plan_repo.configure(checks={"parallel": 1})
    plan_repo.plan(
        {"test_commands": ["touch built.txt"]}, {"depends_on": [1], "test_commands": ["test ! -e built.txt"]}
    )
    assert plan_repo.run(*OFF).code == 0


@pytest.mark.full
def test_an_equal_size_and_time_do_not_hide_a_change(plan_repo: PlanRepo) -> None:
    """A tracked file that a check rewrites with an equal size and modification time is restored for the next list."""
    plan_repo.configure(checks={"parallel": 1})
    swap = "touch -r value.txt mark; printf right > value.txt; touch -r mark value.txt"
    commit(plan_repo, value_dot_txt="wrong", swap_dot_sh=swap)
    plan_repo.plan({"test_commands": ["sh swap.sh"]}, {"depends_on": [1], "test_commands": ["grep -q right value.txt"]})
    assert plan_repo.run(*OFF).code == 4
    assert results(plan_repo, "020") == [False]


@pytest.mark.full
def test_a_stale_compiled_file_is_not_used(plan_repo: PlanRepo) -> None:
    """A .pyc with the size and time of its source and other code changes nothing in the next list."""
    plan_repo.configure(checks={"parallel": 1})
    trick = (
        "import os, py_compile\n"
        "os.utime('mod.py', (1, 1))\n"
        "old = open('mod.py').read()\n"
        "open('mod.py', 'w').write(old.replace('False', 'True '))\n"
        "os.utime('mod.py', (1, 1))\n"
        "py_compile.compile('mod.py')\n"
    )
    commit(plan_repo, mod_dot_py="OK = False\n", trick_dot_py=trick, _dot_gitignore="__pycache__/\n*.pyc\n")
    look = "python3 -c 'import mod, sys; sys.exit(not mod.OK)'"
    plan_repo.plan({"test_commands": ["python3 trick.py"]}, {"depends_on": [1], "test_commands": [look]})
    assert plan_repo.run(*OFF).code == 4
    assert results(plan_repo) == [True]
    assert results(plan_repo, "020") == [False]


def test_a_daemon_of_the_worker_changes_nothing(plan_repo: PlanRepo) -> None:
    """A process that outlives its turn and swaps files after collection does not reach a check (F19)."""
    stop, swapped = plan_repo.folder / "stop", plan_repo.folder / "swapped"
    collected = f"grep -qs '\"collected\"' {plan_repo.repo.root}/.sow/local/runs/*/journal.jsonl"
    swap = f"echo good > value.txt; touch {swapped}; sleep 0.01"
    loop = f"until {collected}; do sleep 0.01; done; while [ ! -e {stop} ]; do {swap}; done"
    daemon = plan_repo.folder / "daemon.py"
    daemon.write_text(
        "import os, subprocess\n"
        "plain = {'PATH': os.environ['PATH']}\n"
        f"subprocess.Popen(['sh', '-c', {loop!r}], env=plain, start_new_session=True)\n"
    )
    # Both turns run at once when the first ends: a daemon of a worker that is alone is found and ended.
    second = plan_repo.folder / "second"
    plan_repo.act(
        "implementer", f"echo bad > value.txt\nuntil [ -e {second} ]; do sleep 0.01; done\npython3 {daemon}\n"
    )
    # Bounded: if sow finds the daemon and ends it, nobody swaps anything, and the check fails as it must.
    until_swapped = f"i=0; until [ -e {swapped} ] || [ $i -gt 500 ]; do sleep 0.01; i=$((i+1)); done"
    plan_repo.act("implementer-020", f"touch {second}\n{until_swapped}\nsleep 1\necho x > x.txt\n")
    check = f"sh -c '{until_swapped}; grep -q good value.txt'"
    plan_repo.plan({"test_commands": [check]}, "Second")
    try:
        assert plan_repo.run(*OFF, "--baseline", "off").code == 4
    finally:
        stop.touch()
    assert results(plan_repo) == [False]


def planted(plan_repo: PlanRepo) -> Path:
    """Returns git's record of the first slot."""
    return plan_repo.repo.root / ".git/worktrees/slot-1"


@pytest.mark.full
def test_changes_in_a_slot_do_not_matter(plan_repo: PlanRepo) -> None:
    """A worker that edits a slot's files, its index and git's record of it changes no later result."""
    plan_repo.configure(checks={"parallel": 1})
    slot, record = plan_repo.repo.root / ".sow/local/worktrees/slot-1", planted(plan_repo)
    commit(plan_repo, value_dot_txt="wrong\n")
    plan_repo.act(
        "implementer-020",
        f"echo x > x.txt\ncd {slot}\necho right > value.txt\necho right > other.txt\n"
        f"git update-index --assume-unchanged value.txt\ngit update-index --skip-worktree value.txt\n"
        f"cp {record}/index {plan_repo.repo.root}/.git/sow/slots/slot-1.index\n"
        f"git config --file {record}/config.worktree core.ignoreStat true\n"
        f"mkdir -p {record}/info\necho '*' > {record}/info/sparse-checkout\necho x > {record}/index.lock\n",
    )
    plan_repo.plan(
        {"test_commands": ["true"]},
        {"depends_on": [1], "test_commands": ["grep -q right value.txt", "test -e other.txt"]},
    )
    assert plan_repo.run(*OFF).code == 4
    assert results(plan_repo, "020") == [False, False]
    assert sorted(path.name for path in record.iterdir()) == ["HEAD", "commondir", "gitdir", "index"]


@pytest.mark.full
def test_a_slot_is_clean_for_git(plan_repo: PlanRepo) -> None:
    """A check that asks git sees the collected commit and no change."""
    commit(plan_repo, value_dot_txt="one\n")
    clean = 'test -z "$(git status --porcelain)"'
    plan_repo.plan({"test_commands": [clean, "git diff-files --quiet", "git diff-index --quiet HEAD"]})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result


def setup(plan_repo: PlanRepo, *commands: list[str], **options: Any) -> Path:
    """Returns a file to which the setup commands write each of their runs."""
    ledger = plan_repo.folder / "ledger"
    note = ["sh", "-c", f"echo run >> {ledger}"]
    plan_repo.configure(worktree={"setup": [*commands, note]}, checks={"parallel": 1}, **options)
    return ledger


def slot_runs(ledger: Path) -> int:
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


@pytest.mark.full
def test_a_setup_runs_once_for_equal_manifests(plan_repo: PlanRepo) -> None:
    """A slot with the setup of a tree keeps its outputs; changed manifests remove them and run it again."""
    rewrite = "case $PWD in *slot-*) echo x >> package.json;; esac"  # as some tools do with their lock file
    make = ["sh", "-c", f"mkdir -p env && cp package.json env/made; {rewrite}"]
    ledger = setup(plan_repo, make)
    commit(plan_repo, package_dot_json="one\n", _dot_gitignore="env/\n")
    plan_repo.act("implementer-030", "echo two > package.json\n")
    plan_repo.plan(*({"depends_on": needs, "test_commands": ["cmp env/made package.json"]} for needs in ([], [1], [2])))
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    keys = [plan_repo.task(name)["evidence"][0]["setup"] for name in ("010", "020", "030")]
    assert keys[0] == keys[1] != keys[2]
    # One for each worktree of a worker, one for each key in the slot, and a fresh one for the final tree.
    assert slot_runs(ledger) == 3 + 2 + 1


@pytest.mark.full
def test_each_list_of_the_final_checks_has_a_fresh_setup(plan_repo: PlanRepo) -> None:
    """A list that passes only with changes of an earlier list to the setup fails on the final tree."""
    setup(plan_repo, ["mkdir", "-p", "env"])
    commit(plan_repo, _dot_gitignore="env/\n")
    plan_repo.plan(
        {"test_commands": ["touch env/marker"]}, {"depends_on": [1], "test_commands": ["test -e env/marker"]}
    )
    result = plan_repo.run(*OFF)
    assert result.code == 4, result
    final = {
        evidence["command"]: evidence["passed"] for evidence in plan_repo.runs()[-1]["final"] if "command" in evidence
    }
    assert final == {"test -e env/marker": False}


@pytest.mark.full
def test_a_failed_setup_is_a_question(plan_repo: PlanRepo) -> None:
    """No worker can repair the machine: a failed setup of a slot waits for a person, and nothing is RED."""
    only_slots = "case $PWD in *slot-*) echo no network; exit 3;; esac"
    setup(plan_repo, ["sh", "-c", only_slots])
    plan_repo.plan({"test_commands": ["true"]})
    result = plan_repo.run(*OFF)
    assert result.code == 4, result
    task = plan_repo.task("010")
    assert "exit 3" in task["question"]["text"]
    assert "no network" in task["question"]["text"]
    assert (task.get("result"), task.get("evidence", [])) == (None, [])
    plan_repo.configure(worktree={})
    plan_repo.repo.ok("answer", "010", "the network is back")
    assert plan_repo.run(*OFF).code == 0


@pytest.mark.full
def test_ctrl_c_during_a_setup_is_no_question(plan_repo: PlanRepo) -> None:
    """The setup of a worktree that Ctrl-C interrupted runs again with the next call."""
    begun, go = plan_repo.folder / "begun", plan_repo.folder / "go"
    setup(plan_repo, ["sh", "-c", f"test -e {go} || (touch {begun}; sleep 300)"])
    plan_repo.plan("First")
    run = plan_repo.start("--yes", "--review", "off")
    wait_for(begun.exists)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert "question" not in plan_repo.task("010")
    go.touch()
    assert plan_repo.run("--review", "off").code == 0


@pytest.mark.full
def test_copies_and_links_are_new_for_every_list(plan_repo: PlanRepo) -> None:
    """A check that edits a copied file does not reach the next list, nor the user's own file."""
    commit(plan_repo, _dot_gitignore=".env\nlibs\n")
    (plan_repo.repo.root / ".env").write_text("a=1\n")
    (plan_repo.repo.root / "libs").mkdir()
    plan_repo.configure(worktree={"copy": [".env"], "link": ["libs"]}, checks={"parallel": 1})
    edit = {"test_commands": ["grep -q a=1 .env", "sh -c 'echo b=2 > .env; rm libs; mkdir libs'", "grep -q b=2 .env"]}
    plan_repo.plan(edit, {"depends_on": [1], "test_commands": ["grep -q a=1 .env", "test -L libs"]})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert (plan_repo.repo.root / ".env").read_text() == "a=1\n"


@few_of("command", ["no-such-program --check", "sh -c 'no-such-program'"], 0, always=["no-such-program --check"])
def test_a_missing_program_is_a_question(plan_repo: PlanRepo, command: str) -> None:
    """Exit 127 says nothing about the work: the question names the command and the program, and nothing is RED."""
    plan_repo.plan({"test_commands": [command]})
    result = plan_repo.run(*OFF)
    assert result.code == 4, result
    task = plan_repo.task("010")
    assert f"`{command}` cannot run here (exit 127)" in task["question"]["text"]
    assert "install no-such-program" in task["question"]["text"]
    assert (task.get("result"), task.get("evidence", [])) == (None, [])
    assert plan_repo.runs()[-1]["baselines"] == []  # the list runs on the base again when the program is there


SCRIPTS = {
    "given to a shell": ("bash check.sh", "echo true > check.sh"),
    "on a path of the work": (
        "sh -c 'PATH=bin:$PATH mine'",
        "mkdir bin; printf '#!/bin/sh\\n' > bin/mine; chmod +x bin/mine",
    ),
    "called by a script": ("sh -c '. ./lib.sh && run_it'", "echo 'run_it() { true; }' > lib.sh"),
}


@few_of(("command", "script"), SCRIPTS.values(), 1, ids=SCRIPTS)
def test_a_program_of_the_work_may_be_missing_on_the_base(plan_repo: PlanRepo, command: str, script: str) -> None:
    """A check that exits with 127 on the base commit and passes on the work is a failed baseline and no question."""
    plan_repo.act("implementer", f"{script}\n")
    plan_repo.plan({"test_commands": [command]})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    (baseline,) = plan_repo.runs()[-1]["baselines"]
    assert baseline["passed"] is False


@pytest.mark.full
def test_a_missing_script_of_the_work_is_red(plan_repo: PlanRepo) -> None:
    """If the work lacks the script that the check runs, the check is RED."""
    plan_repo.plan({"test_commands": ["bash check.sh"]})
    assert plan_repo.run(*OFF).code == 4
    assert plan_repo.task("010")["result"] == "RED"
    assert results(plan_repo) == [False]


@pytest.mark.full
def test_a_program_that_the_work_removed_is_red(plan_repo: PlanRepo) -> None:
    """A list that passed on the base commit has all its programs: exit 127 is then the fault of the work."""
    commit(plan_repo, run_dot_sh="true\n")
    plan_repo.act("implementer", "echo no-such-program > run.sh\n")
    plan_repo.plan({"test_commands": ["sh run.sh"]})
    assert plan_repo.run(*OFF).code == 4
    assert plan_repo.task("010")["result"] == "RED"


@pytest.mark.full
def test_a_list_runs_on_the_base_again_after_the_answer(plan_repo: PlanRepo) -> None:
    """A program that the user installed gives the base commit its result, too."""
    tool = plan_repo.folder / "bin" / "new-tool"
    tool.parent.mkdir()
    plan_repo.repo.environment["PATH"] += f":{tool.parent}"
    plan_repo.plan({"test_commands": ["new-tool"]})
    assert plan_repo.run(*OFF).code == 4
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    plan_repo.repo.ok("answer", "010", "it is there now")
    assert plan_repo.run(*OFF).code == 0
    (baseline,) = plan_repo.runs()[-1]["baselines"]
    assert baseline["passed"] is True


@pytest.mark.full
def test_a_script_of_the_task_is_no_question(plan_repo: PlanRepo) -> None:
    """A script that the task must write is missing on the base commit, and fails there like any test."""
    plan_repo.act("implementer", "printf '#!/bin/sh\\n' > run.sh\nchmod +x run.sh\n")
    plan_repo.plan({"test_commands": ["./run.sh"]})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    (baseline,) = plan_repo.runs()[-1]["baselines"]
    assert (baseline["passed"], baseline["command"], baseline["exit"]) == (False, "./run.sh", 127)


@pytest.mark.full
def test_each_list_runs_once_on_the_base_commit(plan_repo: PlanRepo) -> None:
    """Equal lists share one baseline, a failed one changes no verdict, and the report names the failed lists."""
    commit(plan_repo, here_dot_txt="x\n")
    new = "test -f part_010.txt"
    plan_repo.plan(
        {"test_commands": [new]}, {"test_commands": [new], "depends_on": [1]}, {"test_commands": ["test -f here.txt"]}
    )
    result = plan_repo.run(*OFF)
    assert (result.code, result.out.count("baseline: ")) == (0, 1)
    passeds = {baseline.get("command", ""): baseline["passed"] for baseline in plan_repo.runs()[-1]["baselines"]}
    assert passeds == {"": True, "test -f part_010.txt": False}
    assert len(plan_repo.journal("baseline")) == 2
    assert "test -f part_010.txt" in plan_repo.repo.ok("runs", "show").out


@pytest.mark.full
def test_ctrl_c_during_a_baseline_ends_the_run(plan_repo: PlanRepo) -> None:
    """A baseline that Ctrl-C interrupted has no result, nothing else begins, and the same command continues."""
    begun, go = plan_repo.folder / "begun", plan_repo.folder / "go"
    plan_repo.plan({"test_commands": [f"test -e {go} || (touch {begun}; sleep 300)"]})
    run = plan_repo.start("--yes", "--review", "off")
    wait_for(lambda: begun.exists() and plan_repo.has_happened("collected"))
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert "baselines" not in plan_repo.runs()[-1]
    assert "evidence" not in plan_repo.task("010")
    assert plan_repo.alive() == []
    go.touch()
    assert plan_repo.run("--review", "off").code == 0
    assert len(plan_repo.runs()[-1]["baselines"]) == 1


@pytest.mark.full
def test_baseline_off_runs_nothing_on_the_base(plan_repo: PlanRepo) -> None:
    """With `--baseline off` nothing runs on the base commit."""
    plan_repo.plan({"test_commands": ["test -f part_010.txt"]})
    assert plan_repo.run("--baseline", "off").code == 0
    assert "baselines" not in plan_repo.runs()[-1]


@pytest.mark.full
def test_tasks_without_checks_use_no_slot(plan_repo: PlanRepo) -> None:
    """A run without commands makes no checkout for them."""
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 0
    assert not (plan_repo.repo.root / ".sow/local/worktrees/slot-1").exists()
    assert not (plan_repo.repo.root / ".git/sow/slots").exists()


def test_a_shared_folder_belongs_to_no_commit(plan_repo: PlanRepo) -> None:
    """Without isolation evidence has no tree, and its scope is the folder, also in `task show`."""
    plan_repo.plan({"test_commands": ["test -f part_010.txt"]})
    result = plan_repo.run("--isolation", "none")
    assert result.code == 0, result
    (evidence,) = plan_repo.task("010")["evidence"]
    assert (evidence["scope"], evidence["passed"]) == ("folder", True)
    assert not {"tree", "setup"} & set(evidence)
    assert "belongs to no commit" in plan_repo.repo.ok("task", "show", "010").out
    assert "belong to no commit" in plan_repo.repo.ok("runs", "show").out


@pytest.mark.full
def test_lists_run_in_parallel(plan_repo: PlanRepo) -> None:
    """Two lists run at once in two slots, and a third one waits."""
    there = f"[ -e {plan_repo.folder}/$OTHER ] && exit 0"
    meet = f"touch {plan_repo.folder}/$ME; for i in $(seq 600); do {there}; sleep 0.1; done; exit 1"
    commit(plan_repo, meet_dot_sh=meet)
    plan_repo.plan(
        {"test_commands": ["env ME=a OTHER=b sh meet.sh"]},
        {"test_commands": ["env ME=b OTHER=a sh meet.sh"]},
        {"test_commands": ["true"]},
    )
    result = plan_repo.run(*OFF, "--baseline", "off")
    assert result.code == 0, result
    slots = sorted(path.name for path in (plan_repo.repo.root / ".sow/local/worktrees").glob("slot-*"))
    assert slots == ["slot-1", "slot-2"]


@pytest.mark.full
def test_a_killed_list_is_repeated(plan_repo: PlanRepo) -> None:
    """After kill -9 during a list there is no partial evidence; the next run uses the same slot and runs all of it."""
    begun = plan_repo.folder / "begun"
    wait = f"test -e {plan_repo.folder}/go || (touch {begun}; sleep 300)"
    plan_repo.plan({"test_commands": ["touch first.txt", wait, "test -e first.txt"]})
    run = plan_repo.start("--yes", "--review", "off", "--baseline", "off")
    wait_for(begun.exists)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=60)
    assert plan_repo.task("010").get("evidence", []) == []
    (plan_repo.folder / "go").touch()
    result = plan_repo.run("--review", "off", "--baseline", "off")
    assert result.code == 0, result
    assert results(plan_repo) == [True, True, True]
    assert plan_repo.alive() == []
    slots = sorted(path.name for path in (plan_repo.repo.root / ".sow/local/worktrees").glob("slot-*"))
    assert slots == ["slot-1"]


HOLD = """
import sys
from sow.gitwork.repository import Repository
from sow.gitwork.slots import Slots
from sow.system.process.child_process import run_to_end
from sow.store.files.checkout_home import find
slot = run_to_end(Slots(Repository(find(option=sys.argv[1], environment={}, cwd="/")), 1).acquire())
slot.checkout(sys.argv[2])
print(slot.name, flush=True)
sys.stdin.read()
"""


@pytest.mark.full
def test_two_processes_never_share_a_slot(plan_repo: PlanRepo) -> None:
    """A slot that another sow holds is skipped, and it is free again when that process was killed."""
    plan_repo.plan({"test_commands": ["sh -c 'basename $PWD > name.txt; cat name.txt'"]})
    head = plan_repo.repo.git("rev-parse", "HEAD").strip()
    assert plan_repo.run("--yes").code == 0
    text = [sys.executable, "-c", HOLD, str(plan_repo.repo.root), head]
    with subprocess.Popen(text, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout
        assert first.stdout.readline() == b"slot-1\n"
        with subprocess.Popen(text, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as second:
            assert second.stdout
            assert second.stdout.readline() == b"slot-2\n"
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            with subprocess.Popen(text, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as third:
                assert third.stdout
                assert third.stdout.readline() == b"slot-1\n"
                third.communicate()
            second.communicate()


@pytest.mark.full
def test_only_whole_lists_are_reused(plan_repo: PlanRepo) -> None:
    """At a merge without other work a list is not run again; a list with one changed part runs as a whole."""
    ledger = plan_repo.folder / "ran"
    plan_repo.plan({"test_commands": [f"sh -c 'echo one >> {ledger}'", f"sh -c 'echo two >> {ledger}'"]})
    assert plan_repo.run(*OFF, "--baseline", "off").code == 0
    assert ledger.read_text().split() == ["one", "two"]
    merged = [evidence for evidence in plan_repo.task("010")["evidence"] if evidence["kind"] == "merge"]
    assert {item["scope"] for item in merged} <= {"commit"}


@pytest.mark.full
def test_prune_removes_slots(plan_repo: PlanRepo) -> None:
    """`sow salvage prune` removes unused slots."""
    plan_repo.plan({"test_commands": ["true"]})
    assert plan_repo.run().code == 0
    assert "slot-1" in plan_repo.worktrees() | {
        path.name for path in (plan_repo.repo.root / ".sow/local/worktrees").iterdir()
    }
    assert "slot-1" not in plan_repo.repo.ok("salvage").out
    plan_repo.repo.ok("salvage", "prune", "--older-than", "0d", "--yes")
    assert not (plan_repo.repo.root / ".sow/local/worktrees/slot-1").exists()
    assert plan_repo.run().code == 0


def test_the_report_begins_with_the_count_of_failed_baselines(plan_repo: PlanRepo) -> None:
    """A terminal cuts a long remark, so the count and the meaning come before the commands."""
    plan_repo.plan(*({"name": name, "test_commands": [f"test -f {name}.txt"]} for name in ("left", "right")))
    assert plan_repo.run(*OFF).code == 4
    remarks = plan_repo.repo.ok("runs", "show", "--json").json["remarks"]
    red = "baseline: 2 checks fail before the work (expected for new work): "
    assert [remark for remark in remarks if remark.startswith("baseline")] == [
        f"{red}`test -f left.txt`, `test -f right.txt`"
    ]
