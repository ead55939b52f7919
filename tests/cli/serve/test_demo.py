"""sow demo: a complete run in half a minute, without an account."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SOW, Repo, fresh_environment
from support.quick_cases import few_of

from sow.cli.context import Context
from sow.cli.serve.demo_page import DemoPage
from sow.cli.serve.demo_repository import DemoRepository, set_up

ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)/#token=([0-9a-f]+)")
LONG = 120  # seconds: a busy machine is no failure
KEPT = "ke pt;$(touch owned)'&\"é"  # nothing may come of the words in it


class Shown:
    """One demo and its results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        environment = fresh_environment(self.home)
        folders = environment["PATH"].split(":")
        environment["PATH"] = ":".join(
            path for path in folders if path != str(Path(SOW).parent)
        )  # as after `make demo`
        self.mine = sorted(self.home.rglob("*"))
        self.done = subprocess.run(
            [SOW, "demo", "--keep", KEPT], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert self.done.returncode == 0, self.done.stdout + self.done.stderr
        self.repo = Repo(folder / KEPT / "shop", environment)
        lines = next((self.repo.root / ".sow/local/runs").glob("*/journal.jsonl")).read_text().splitlines()
        self.journal = [json.loads(line) for line in lines]

    def events(self, name: str, **facts: object) -> list[dict[str, object]]:
        entries = [entry for entry in self.journal if entry["event"] == name]
        return [entry for entry in entries if all(entry.get(key) == value for key, value in facts.items())]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One demo for all tests of this file."""
    return Shown(tmp_path_factory.mktemp("demo"))


@pytest.mark.full
def test_the_demo_ends_well(shown: Shown):
    """The demo ends with exit 0, the report, and the place of its results."""
    assert shown.done.returncode == 0
    assert "8 completed" in shown.done.stdout
    assert "Where to look" in shown.done.stdout
    assert str(shown.repo.root) in shown.done.stdout
    address, run = ADDRESS.search(shown.done.stdout.encode()), shown.done.stdout.index("$ sow run plan.md")
    assert address
    assert shown.done.stdout.index("http://127.0.0.1") < run  # a newcomer can open it before anything happens
    assert "Press Enter" not in shown.done.stdout


@pytest.mark.full
def test_the_printed_commands_work_as_printed(shown: Shown):
    """The commands of "Where to look" run in a shell that does not know this `sow` (D13)."""
    printed = shown.done.stdout.partition("# Where to look\n")[2].splitlines()
    commands = [re.split(r" {2,}", line.strip())[0] for line in printed if line.startswith("  ")]
    assert len(commands) == 10
    assert commands[1].startswith("export PATH=")
    script = "\n".join(f"{command} --help" if command == "sow ui" else command for command in commands)
    result = subprocess.run(
        ["sh", "-eu", "-c", script], cwd="/", env=shown.repo.environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert "was not accepted: the review is RED" in result.stdout
    (shown.repo.root / "run.html").unlink()


@pytest.mark.full
def test_all_eight_tasks_are_merged_on_the_users_branch(shown: Shown):
    """Every task is completed, and the branch of the checkout has its files and a clean state."""
    tasks = shown.repo.ok("task", "list", "--json").json["tasks"]
    assert {task["id"]: task["status"] for task in tasks} == {f"0{n}0": "completed" for n in range(1, 9)}
    assert len(shown.events("merged")) == 8
    left = shown.repo.git("status", "--porcelain").splitlines()
    assert [line for line in left if not line.startswith("?? .sow/")] == []
    assert {"cart.py", "checkout.py", "money.py", "receipt.py", "stock.py"} <= {
        path.name for path in (shown.repo.root / "shop").iterdir()
    }


@pytest.mark.full
def test_the_tests_that_the_workers_wrote_are_real(shown: Shown):
    """The merged work passes all its tests in the checkout, and they fail once the code is broken."""
    run = ["python3", "-m", "unittest"]
    environment = {**shown.repo.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    good = subprocess.run(run, cwd=shown.repo.root, env=environment, capture_output=True, text=True)
    assert good.returncode == 0, good.stderr
    assert "Ran 13 tests" in good.stderr
    cart = shown.repo.root / "shop" / "cart.py"
    text = cart.read_text()
    cart.write_text(text.replace("count < 1", "count < -9"))
    bad = subprocess.run(run, cwd=shown.repo.root, env=environment, capture_output=True, text=True)
    cart.write_text(text)
    assert bad.returncode != 0


@pytest.mark.full
def test_three_work_at_once(shown: Shown):
    """Three tasks are started before the first of them ends."""
    order = [entry["event"] for entry in shown.journal if entry["event"] in ("task_started", "task_ended")]
    assert order[:3] == ["task_started"] * 3


@pytest.mark.full
def test_one_task_is_sent_back_and_passes(shown: Shown):
    """The reviewer sends one task back, its worker fixes it, and the second review passes."""
    verdicts = [event["verdict"] for event in shown.events("reviewed", task="040")]
    assert verdicts == ["RED", "GREEN"]
    assert shown.repo.task("040")["retry_count"] == 1
    assert "count < 1" in (shown.repo.root / "shop" / "cart.py").read_text()


@pytest.mark.full
def test_one_question_is_answered_by_the_demo(shown: Shown):
    """One worker asks; the demo answers with the command that a person types, and the work follows it."""
    (question,) = shown.events("question")
    assert question["task"] == "050"
    (asked,) = shown.repo.task("050")["questions"]
    assert asked["answer"].startswith("Up")
    assert shown.events("answered", task="050")


@pytest.mark.full
def test_one_conflict_is_solved_by_its_worker(shown: Shown):
    """Two tasks change one line: the second is sent back and joins both changes."""
    (conflict,) = shown.events("conflict")
    assert conflict["paths"] == ["shop/__init__.py"]
    assert len(shown.events("merged", task=conflict["task"])) == 1
    both = (shown.repo.root / "shop" / "__init__.py").read_text()
    assert "import Catalogue" in both
    assert "import Stock" in both


@pytest.mark.full
def test_the_demo_changes_nothing_of_the_user(shown: Shown):
    """The user's home is unchanged: settings and conversations of the demo are in a home of its own."""
    assert sorted(shown.home.rglob("*")) == shown.mine
    assert list(shown.folder.rglob("owned*")) == []
    assert (shown.folder / KEPT / "home" / ".config" / "sow" / "config.yaml").is_file()


class Browser:
    """A page without a window: it spends the token, listens to the feed, and sends actions."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.cookie = ""
        status, headers, _ = self.ask("POST", "/api/session", {"token": token})
        assert status == 204
        self.cookie = headers["Set-Cookie"].split(";")[0]
        self.feed = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
        self.feed.request("GET", "/api/feed", headers={"Cookie": self.cookie})
        self.heard = self.feed.getresponse()  # deleting the reply closes the connection
        assert self.heard.status == 200

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "X-Sow": "1", "Content-Type": "application/json"}
        text = json.dumps(body) if body is not None else None
        connection.request(method, path, text, {**headers, **({"Cookie": self.cookie} if self.cookie else {})})
        reply = connection.getresponse()
        result = reply.status, reply.headers, reply.read()
        connection.close()
        return result

    def inbox(self) -> list[dict[str, Any]]:
        status, _, text = self.ask("GET", "/api/state")
        assert status == 200, text
        result: list[dict[str, Any]] = json.loads(text)["inbox"]
        return result

    def close(self) -> None:
        self.heard.close()
        self.feed.close()


class Terminal:
    """A terminal with the demo in it, read all the time."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.seen = b""
        self.process = subprocess.Popen(
            [SOW, "demo", "--keep", "kept", *arguments],
            cwd=folder,
            env={**fresh_environment(folder / "home"), "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        while True:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:  # the other end is closed
                return

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(LONG)
        self.reader.join(LONG)
        os.close(self.master)


def until(true: Any, what: str) -> Any:
    """Waits until something is there, and returns it."""
    end = time.monotonic() + LONG
    while not (result := true()):
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.1)
    return result


@pytest.mark.full
def test_the_question_is_answered_on_the_page(tmp_path: Path):
    """The question is open on the page; the run continues with its answer, and the page stays until Enter."""
    demo = Terminal(tmp_path)
    try:
        port, token = until(lambda: ADDRESS.search(demo.seen), "the address").groups()
        time.sleep(1)
        assert b"$ sow run plan.md" not in demo.seen  # it waits for the page
        page = Browser(int(port), token.decode())
        asked = until(page.inbox, "the question")[0]
        time.sleep(1)
        assert page.inbox()  # the demo leaves it to the person
        status, _, output = page.ask("POST", "/api/acts/answer", {"question": asked["number"], "text": "Down, I say"})
        assert status == 200, output
        until(lambda: b"Press Enter to end." in demo.seen, "the end of the run")
        assert page.inbox() == []
        page.close()
        assert demo.process.poll() is None
        os.write(demo.master, b"\n")
        assert demo.process.wait(LONG) == 0
    finally:
        demo.close()
    repo = Repo(tmp_path / "kept" / "shop", fresh_environment(tmp_path / "other"))
    (answered,) = repo.task("050")["questions"]
    assert answered["answer"] == "Down, I say"
    assert repo.task("080")["status"] == "completed"
    with pytest.raises(OSError, match=r".*"):
        http.client.HTTPConnection("127.0.0.1", int(port), timeout=5).connect()


@pytest.fixture
def stage(tmp_path: Path, environment: dict[str, str]) -> DemoRepository:
    """The demo's repository with a worker's question and no process."""
    made = set_up(Context(root="", environment=environment), str(tmp_path / "kept"))
    repo = Repo(Path(made.root), made.environment)
    repo.git("switch", "-q", "-c", "feat/shop")
    repo.ok("init", "--project", "A shop")
    repo.ok("task", "create", "--name", "Discounts")
    repo.ok("task", "set", "--id", "010", "status", "in_progress")
    repo.ok("note", "add", "--task", "010", "--description", "Up or down?", "--context", "x")
    repo.ok("note", "escalate", "1", "--task", "010", "--reason", "only you know")
    repo.ok("task", "set", "--id", "010", "status", "paused")
    assert made.questions() == [1]
    return made


@few_of("wanted", [True, False], 1)
def test_without_a_terminal_the_demo_answers_at_once(stage: DemoRepository, wanted: bool):
    """Without a page and a terminal the demo waits for no one."""
    with DemoPage(stage, wanted=wanted, terminal=False) as page:
        assert page.answer("Up") is False
    assert stage.questions() == []


def test_at_a_terminal_the_demo_waits_for_the_page(stage: DemoRepository):
    """The question waits some seconds on a terminal, and longer while a page is open."""
    with DemoPage(stage, wanted=True, terminal=True) as page:
        assert page.answer("Up") is True
        assert page.server
        page.question_seen_at = time.monotonic() - 30
        browser = Browser(page.server.port, page.server.access.token)
        until(lambda: page.server and page.server.pages, "the open page")
        assert page.answer("Up") is True
        browser.close()
        until(lambda: page.server and not page.server.pages, "the closed page")
        assert page.answer("Up") is False
    assert stage.questions() == []


def test_the_demo_works_without_a_page(stage: DemoRepository, capsys: pytest.CaptureFixture[str]):
    """If the page cannot be served, the demo says so and does everything else."""
    (Path(stage.environment["HOME"]) / ".config/sow/ui").write_text("in the way")
    with DemoPage(stage, wanted=True, terminal=True) as page:
        assert page.server is None
        page.show()
        assert page.answer("Up") is False
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("note: the demo continues without its page: ")


@pytest.mark.parametrize("there", ["file", "full"])
def test_the_demo_overwrites_nothing(repo: Repo, there: str):
    """A file or a folder that is not empty is refused before anything is written."""
    place = repo.root / "place"
    if there == "file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / "mine").write_text("mine")
    result = repo.sow("demo", "--keep", "place")
    assert result.code == 2
    assert result.err.startswith(f"error: --keep: {place} exists\nhint: ")


def test_a_worker_may_not_start_the_demo(repo: Repo):
    """A supervised worker may run no plan, and so no demo."""
    result = repo.sow("demo", SOW_TASK="010", SOW_AGENT="implementer")
    assert result.code == 2
    assert "error: " in result.err
