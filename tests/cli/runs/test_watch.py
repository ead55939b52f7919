"""sow watch: shows a run of another process on a terminal, in a pipe or as JSON."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import SOW, Repo
from support.claim_holder import hold_claim
from support.journals import MadeUpRun
from support.simulated_workers import WorkerRepo, wait_for

from cli.virtual_screen import Screen
from sow.cli.runs.live import Live
from sow.cli.runs.watch import RunWatch
from sow.store.runs import run_folder

RUN = "20260921-143320-ab12"
LONG = 60  # seconds: a busy machine is no failure


def until(true: Callable[[], object], what: str) -> None:
    """Waits until something has happened."""
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


class Watcher:
    """`sow watch` in a terminal of its own."""

    def __init__(self, repo: Repo, *arguments: str, columns: int = 100, keys: bool = False) -> None:
        self.master, slave = pty.openpty()
        self.settings = termios.tcgetattr(slave)
        self.screen = Screen(columns, 24)
        termios.tcsetwinsize(slave, (24, columns))
        self.process = subprocess.Popen(
            [*(["setsid", "--ctty"] if keys else []), SOW, "watch", *arguments],
            cwd=repo.root,
            env={**repo.environment, "TERM": "xterm", "NO_COLOR": "1"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=not keys,
        )
        os.close(slave)
        os.set_blocking(self.master, False)
        self.bytes = b""

    def types(self, text: str) -> None:
        os.write(self.master, text.encode())

    def is_restored(self) -> bool:
        """Tells whether the terminal has the settings from before the watch."""
        return termios.tcgetattr(self.master) == self.settings

    def resize(self, columns: int) -> None:
        termios.tcsetwinsize(self.master, (24, columns))
        self.screen.columns = columns

    def look(self) -> list[str]:
        """Returns the screen."""
        try:
            data = os.read(self.master, 65536)
        except OSError:  # nothing new, or the other end is closed
            data = b""
        self.bytes += data
        text, rest = _whole(self.bytes)
        self.bytes = rest
        return self.screen.feed(text.replace("\x07", "")).shown

    def sees(self, text: str) -> None:
        until(lambda: any(text in line for line in self.look()), text)

    def ends(self) -> int:
        """Returns the exit code, with the last output on the screen."""
        until(lambda: (self.look(), self.process.poll() is not None)[1], "its end")
        self.look()
        return int(self.process.returncode)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


def _whole(data: bytes) -> tuple[str, bytes]:
    """Returns the output up to the last whole character and control sequence."""
    start = data.rfind(b"\x1b")
    whole = len(data) if start < 0 or any(64 <= byte < 127 and byte != 91 for byte in data[start:]) else start
    while whole and whole == len(data) and data[whole - 1] & 0xC0 in (0x80, 0xC0):
        try:
            data[:whole].decode()
            break
        except UnicodeDecodeError:
            whole -= 1
    return data[:whole].decode(), data[whole:]


@pytest.fixture
def journal(repo: Repo) -> MadeUpRun:
    """A live run of three tasks: one completed, one in progress, one with a question."""
    made = MadeUpRun(repo, ["010", "020", "030"])
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 65))
    made.begin(settings={"max_concurrency": 2}, at=now)
    made.work(1, 20, "010", at=now)
    made.add(20, "task_started", task="020", iteration=1)
    made.add(20, "turn_started", task="020", iteration=2, role="implementer", executor="codex", kind="resume")
    made.add(30, "question", task="030", number=3, text="Which store?")
    made.add(30, "task_ended", task="030", status="paused", seconds=2)
    return made


@pytest.fixture
def watchers(repo: Repo) -> Iterator[Callable[..., Watcher]]:
    """Returns a function that starts watchers, which end with the test."""
    made: list[Watcher] = []

    def make(*arguments: str, **options: Any) -> Watcher:
        made.append(Watcher(repo, *arguments, **options))
        return made[-1]

    yield make
    for item in made:
        item.close()


def piped(repo: Repo, *arguments: str) -> subprocess.Popen[str]:
    """`sow watch` without a terminal."""
    return subprocess.Popen(
        [SOW, "watch", *arguments],
        cwd=repo.root,
        env=repo.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(watch: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Returns the exit code and the rest of both streams."""
    assert watch.stdout
    assert watch.stderr
    with watch.stdout, watch.stderr:
        output, wrong = watch.stdout.read(), watch.stderr.read()
    return watch.wait(LONG), output, wrong


def test_a_watch_that_starts_late_shows_everything(repo, journal, watchers):
    """The first picture is complete, with the run's time and its earlier events."""
    with hold_claim(repo, "run", RUN):
        window = watchers()
        window.sees("1/3")
        shown = "\n".join(window.look())
        assert "run 20260921-143320-ab12: Add a login, 3 tasks, at most 2 at once" in shown
        assert "task 1 (010) Task 1: completed GREEN" in shown
        assert "2 (020) Task 2" in shown
        assert "iteration 2, implementer on codex" in shown
        assert 'asks question 3: Which store? → sow answer 3 "…"' in shown
        minutes, seconds = shown.split("1/3   ")[1].split()[0].split(":")
        assert 60 <= int(minutes) * 60 + int(seconds) < 600


def test_the_watch_follows_the_run_and_ends_with_the_report(repo, journal, watchers):
    """New entries change the picture; at the run's end the exit code is 0 and the report is printed."""
    with hold_claim(repo, "run", RUN):
        window = watchers()
        window.sees("implementer on codex")
        journal.add(40, "step", task="020", text="running make test")
        window.sees("running make test")
        journal.add(50, "task_ended", task="020", status="failed", result="FAILED", seconds=30)
        window.sees("task 2 (020) Task 2: failed after 30s")
        journal.end(60, "waiting", 4)
        assert window.ends() == 0
    shown = window.look()
    assert any("the run is paused after 1m" in line for line in shown)
    assert any(line.startswith(f"Run {RUN}: Add a login") for line in shown)
    assert not any("█" in line or "░" in line for line in shown)
    assert window.screen.cursor


def test_a_real_run_is_watched_to_its_end(plan_repo):
    """On a pipe, the watch of a real run prints the same lines as the run, and ends with it."""
    plan_repo.act("implementer", 'sleep 1\necho "by $SOW_TASK" > "part_$SOW_TASK.txt"\n')
    plan_repo.plan("First", "Second < 1")
    run = plan_repo.start()
    until(lambda: plan_repo.has_happened("task_started"), "the first task")
    watch = piped(plan_repo.repo)
    code, output, wrong = finish(watch)
    messages, _ = run.communicate(timeout=LONG)
    assert (code, wrong) == (0, "")
    assert output == messages.decode()
    assert "the run has ended" in output


def test_json_prints_every_entry_once(repo, journal):
    """With --json every entry comes once, from the first to the last, and nothing else."""
    with hold_claim(repo, "run", RUN):
        watch = piped(repo, "--json")
        assert watch.stdout
        first = watch.stdout.readline()
        assert json.loads(first)["event"] == "run_started"
        journal.add(40, "step", task="020", text="running make test")
        journal.end(60)
        code, rest, wrong = finish(watch)
    assert (code, wrong) == (0, "")
    assert [json.loads(line) for line in (first + rest).splitlines()] == list(journal.folder.journal())


def test_an_ended_run_is_shown_once(repo, journal):
    """An ended run is shown in short, or as its whole journal, and the command ends."""
    journal.end(60)
    shown, whole = repo.ok("watch").out.splitlines(), repo.ok("runs", "show").out.splitlines()
    assert shown[1].endswith(f"(more: sow runs show {journal.folder.id})")
    assert shown[0] == whole[0]
    assert all(any(row.startswith(line) for row in whole) for line in shown[2:])
    entries = [json.loads(line) for line in repo.ok("watch", "--json").out.splitlines()]
    assert entries == list(journal.folder.journal())


@pytest.mark.parametrize("name", [(), ("last",), (RUN,), ("2026",)])
def test_a_run_is_named_by_id_prefix_or_last(repo, journal, name):
    """A run is named by its id, the beginning of it, `last`, or not at all."""
    journal.end(60)
    assert f"Run {RUN}: " in repo.ok("watch", *name).out


def test_the_live_run_is_the_default(repo, journal, watchers):
    """Without a name the live run is watched; a named run that has ended is shown although another is live."""
    ended = MadeUpRun(repo, ["010"], id="20260921-150000-cd34")
    ended.begin()
    ended.work(1, 4, "010")
    ended.end(5)
    with hold_claim(repo, "run", RUN):
        watchers().sees("run 20260921-143320-ab12")
        assert "20260921-150000-cd34" in repo.ok("watch", "last").out


def test_a_killed_run_ends_the_watch(repo, journal, watchers):
    """When the run is killed, the watch ends with a clear line and exit 0, and so does a later one."""
    with hold_claim(repo, "run", RUN) as pid:
        window = watchers(columns=140)
        window.sees("implementer on codex")
        os.kill(pid, signal.SIGKILL)
        assert window.ends() == 0
    clear = f"run {RUN} was interrupted; continue with: sow run plan.md"
    assert window.look()[-1] == clear
    assert window.screen.cursor
    assert repo.ok("watch").out.splitlines()[-1] == clear
    result = repo.ok("watch", "--json")
    assert result.err == f"{clear}\n"
    assert [json.loads(line)["event"] for line in result.out.splitlines()][-1] == "task_ended"


def test_a_killed_run_beside_a_live_one(repo, journal):
    """A killed run is not taken for live because another one is."""
    MadeUpRun(repo, ["010"], id="20260921-150000-cd34")
    with hold_claim(repo, "run", "20260921-150000-cd34"):
        assert "was interrupted" in repo.ok("watch", RUN).out


@pytest.mark.full
def test_a_stopped_and_continued_run(repo, journal, watchers):
    """The end of an earlier call does not end the watch of a continued run."""
    journal.add(60, "run_ended", status="stopped", exit=130, seconds=60)
    with hold_claim(repo, "run", RUN):
        window = watchers()
        window.sees("1/3")
        journal.begin(0, recovered=True)
        window.sees(", continued")
        journal.end(3)
        assert window.ends() == 0


def test_a_run_that_ends_before_its_journal_is_read(repo, journal):
    """The watch ends if the run ended between its choice and the first read of its journal."""
    with hold_claim(repo, "run", RUN) as pid, Live(json=True, clock=time.time) as live:
        chosen = run_folder.live_run(journal.home)
        journal.end(60)
        rescue = threading.Timer(LONG, os.kill, (pid, signal.SIGKILL))
        rescue.start()
        RunWatch(chosen, live, bell=False).follow()
        assert rescue.is_alive()
        rescue.cancel()


def test_ctrl_c_ends_the_watch_only(repo, journal, watchers):
    """Ctrl-C is exit 130 with the cursor back, and the run continues."""
    with hold_claim(repo, "run", RUN) as pid:
        window = watchers()
        window.sees("implementer on codex")
        os.killpg(window.process.pid, signal.SIGINT)
        assert window.ends() == 130
        os.kill(pid, 0)
    assert window.look()[-2:] == ["error: stopped watching; the run continues", "hint: watch it again: sow watch"]
    assert window.screen.cursor


@pytest.mark.full
def test_a_run_that_is_removed_during_a_watch(repo, journal, watchers):
    """The folder of a live run may return with the next entry; without a live run it is an error."""
    with hold_claim(repo, "run", RUN) as pid:
        window = watchers()
        window.sees("implementer on codex")
        shutil.rmtree(journal.folder.folder)
        journal.add(70, "step", task="020", text="written after that")
        window.sees("written after that")
        shutil.rmtree(journal.folder.folder)
        os.kill(pid, signal.SIGKILL)
        assert window.ends() == 1
    assert window.look()[-2:] == [
        f"error: run {RUN} is gone, because its folder was removed",
        "hint: list the runs: sow runs list",
    ]


def test_a_torn_last_line_is_printed_when_complete(repo, journal):
    """Half a line is no entry: it is told once it is whole, and once only."""
    line = json.dumps({"at": "2026-09-21T14:33:20Z", "t": 41, "event": "step", "task": "020", "text": "é"}).encode()
    with hold_claim(repo, "run", RUN):
        watch = piped(repo, "--json")
        assert watch.stdout
        seen = [watch.stdout.readline() for _ in range(len(list(journal.folder.journal())))]
        with open(journal.folder.journal_path, "ab", buffering=0) as file:
            for part in (line[:9], line[9:60], line[60:] + b"\n", b"{torn\n"):
                file.write(part)
                time.sleep(0.15)
        journal.end(60)
        _, rest, _ = finish(watch)
    events = [json.loads(line) for line in (*seen, *rest.splitlines())]
    assert [event["text"] for event in events if event["event"] == "step"] == ["é"]
    assert events[-1]["event"] == "run_ended"


@pytest.mark.full
def test_a_fast_journal_is_printed_completely(repo, journal, watchers):
    """Thousands of entries between two reads are all printed in order; a terminal gets one picture."""
    count = 20_000
    lines = [json.dumps({"event": "step", "task": "020", "t": n / 100, "text": f"step {n}"}) for n in range(count)]
    with hold_claim(repo, "run", RUN):
        window, watch = watchers(), piped(repo, "--json")
        window.sees("implementer on codex")
        with open(journal.folder.journal_path, "a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        window.sees(f"step {count - 1}")
        journal.end(60)
        _, messages, _ = finish(watch)
        assert window.ends() == 0
    steps = [json.loads(line) for line in messages.splitlines() if '"step"' in line]
    assert [step["text"] for step in steps] == [f"step {n}" for n in range(count)]
    assert len(window.look()) < 100


@pytest.mark.parametrize("columns", [40, 140])
def test_the_watch_follows_a_resize(repo, journal, watchers, columns):
    """In a resized window the block is drawn for the new width, and nothing of the old one stays."""
    with hold_claim(repo, "run", RUN):
        window = watchers(columns=100)
        window.sees("1/3")
        window.resize(columns)
        journal.add(40, "step", task="020", text="after the change")
        window.sees("after" if columns == 40 else "after the change")
        shown = window.look()
    assert sum("1/3" in line for line in shown) == 1


def test_a_closed_pipe_ends_the_watch(repo, journal):
    """Without a reader the watch ends without an error."""
    with hold_claim(repo, "run", RUN) as pid:
        watch = piped(repo, "--json")
        assert watch.stdout
        assert watch.stderr
        watch.stdout.readline()
        watch.stdout.close()
        journal.add(40, "step", task="020", text="x")
        journal.add(41, "step", task="020", text="y")
        wrong = watch.stderr.read()
        assert (watch.wait(LONG), wrong) == (0, "")
        watch.stderr.close()
        os.kill(pid, 0)


def test_watch_without_a_run(repo):
    """Without any run the error says how to start one; an unknown run lists the existing ones."""
    result = repo.sow("watch")
    assert (result.code, result.err) == (2, "error: there is no run here\nhint: start one: sow run PLAN\n")
    MadeUpRun(repo, ["010"])
    assert RUN in repo.sow("watch", "1999").err


def test_a_watch_writes_no_file(repo, journal):
    """No watch writes a file."""
    before = repo.snapshot()
    for item in (["watch"], ["watch", "--json"]):
        repo.ok(*item)
    assert repo.snapshot() == before


@pytest.mark.full
def test_a_spawned_worker_is_followed(worker: WorkerRepo) -> None:
    """Without a run, the watch shows a spawned worker's output until its call ends (A22)."""
    wait = {"run": ["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done"]}
    worker.scenario([{"say": "I look around."}, wait, {"say": "Built it."}, {"status": "needs_review"}])
    spawned = worker.start("agent", "spawn", "implementer", "010")
    try:
        wait_for(
            lambda: worker.transcript(1, "md").exists() and "look around" in worker.transcript(1, "md").read_text()
        )
        watch = piped(worker.repo)
        assert watch.stdout
        assert watch.stdout.readline() == "task 010: implementer on simulated, turn 1 of session 1\n"
        while "I look around." not in watch.stdout.readline():
            pass
        (worker.repo.root / "go").touch()
        code, out, _ = finish(watch)
        assert code == 0 and "Built it." in out and out.endswith("task 010: status is needs_review\n"), out
    finally:
        (worker.repo.root / "go").touch()
        spawned.communicate(timeout=300)
    assert "there is no run here" in worker.repo.sow("watch").err


@pytest.mark.skipif(not shutil.which("setsid"), reason="there is no setsid")
class TestKeys:
    """Keys act through the sow command, ask first, and leave the terminal as it was."""

    @pytest.fixture
    def asking(self, plan_repo: Any) -> Iterator[Any]:
        """A live run: one task asks, another waits at a gate."""
        gate = plan_repo.folder / "gate"
        plan_repo.simulated(
            "hand",
            "implementer",
            [{"run": ["sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done"]}, {"status": "needs_review"}],
            t010=[[{"ask": "Which colour?"}], [{"write": {"path": "a.txt", "text": "a"}}, {"status": "needs_review"}]],
        )
        plan_repo.plan("First", "Second")
        run = plan_repo.start("--yes")
        until(lambda: plan_repo.has_happened("question"), "the question")
        yield plan_repo
        gate.touch()
        run.communicate(timeout=LONG)

    def test_the_answer_key(self, asking: Any) -> None:
        """`a` shows the question and reads one line, which reaches the task; then the picture continues."""
        window = Watcher(asking.repo, keys=True)
        try:
            window.sees("keys: a answer")
            assert not window.is_restored()
            window.types("a")
            window.sees("Your answer to 1")
            assert window.is_restored()
            window.types("Green, like --grass\r")
            until(lambda: asking.task("010").get("questions"), "the answer")
            assert asking.task("010")["questions"][0]["answer"] == "Green, like --grass"
            window.sees("keys: a answer")
            os.kill(window.process.pid, signal.SIGTERM)
            assert window.ends() == 130
            assert window.is_restored() and window.screen.cursor
        finally:
            window.close()

    @pytest.mark.full
    def test_the_accept_key(self, plan_repo: Any) -> None:
        """`y` accepts RED work after a reason was given; an empty line cancels."""
        gate = plan_repo.folder / "gate"
        plan_repo.act("implementer-020", f"until [ -e {gate} ]; do sleep 0.05; done\n")
        plan_repo.judge("010", "RED")
        plan_repo.plan("First", "Second")
        run = plan_repo.start("--yes", "--retries", "0")
        window = None
        try:
            until(lambda: plan_repo.has_happened("question"), "the question")
            window = Watcher(plan_repo.repo, keys=True)
            window.sees("keys: a answer")
            window.types("y")
            window.sees("Why accept the work on 010")
            window.types("\r")
            window.sees("keys: a answer")
            assert "approval" not in plan_repo.task("010")
            window.types("y")
            until(lambda: sum("Why accept" in line for line in window.look()) == 2, "the second question")
            window.types("good -- enough\r")
            until(lambda: "approval" in plan_repo.task("010"), "the approval")
            assert plan_repo.task("010")["approval"]["reason"] == "good -- enough"
        finally:
            gate.touch()
            if window is not None:
                window.close()
            run.communicate(timeout=LONG)

    @pytest.mark.full
    def test_the_stop_key(self, asking: Any) -> None:
        """`s` stops the run after a yes only; keys typed before the question do not answer it."""
        window = Watcher(asking.repo, keys=True)
        try:
            window.sees("keys: a answer")
            window.types("s")
            window.sees("Stop the run?")
            window.types("\r")
            window.sees("keys: a answer")
            assert [run["status"] for run in asking.runs()] == ["running"]
            window.types("s")
            until(lambda: sum("Stop the run?" in line for line in window.look()) == 2, "the second question")
            window.types("y\r")
            assert window.ends() == 0
            assert [run["status"] for run in asking.runs()] == ["stopped"]
            assert window.is_restored() and window.screen.cursor
        finally:
            window.close()

    def test_a_worker_has_no_keys(self, asking: Any) -> None:
        """An agent's watch on a terminal shows the picture and reads no keys."""
        asking.repo.environment |= {"SOW_AGENT": "implementer", "SOW_TASK": "010"}
        window = Watcher(asking.repo, keys=True)
        try:
            window.sees("0/2")
            assert window.is_restored()
            assert not any("keys:" in line for line in window.look())
        finally:
            window.close()
