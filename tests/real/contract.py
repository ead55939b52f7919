"""The tests that every agent CLI must pass, with the facts in which the CLIs differ."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SOW, Repo
from support import shared_scenario

from real import install
from real.cli_repo import CliRepo, stop, wait_for
from real.stub import DONE, TOKENS_IN, TOKENS_OUT, Stub
from sow.executors.adapter import Outcome, ProcessEnd, Request, Role, TurnSummary
from sow.executors.settings import adapter as find_adapter
from sow.system.sandbox import sandbox_state

NEEDS_REVIEW = f"sh:{SOW} task set --id 010 status needs_review"
PAUSED = f"sh:{SOW} task set --id 010 status paused"


class Contract:
    """One CLI; a subclass has its name and its differences."""

    name = ""
    sessions = ""  # where it keeps its conversations, below the home
    write_tool = ""  # its own tool that writes a file, and that tool's words for path and content
    write_words = ("file_path", "content")
    model = ""
    custom_args: tuple[str, ...] = ()
    cost: float | None = None  # what one request costs
    overload = "503"
    patience = "10s"  # enough for its start and its first request
    judge_calls_sow = True
    network = "model"  # in the sandbox
    runs_tests = True  # a command with its words can be granted

    @pytest.fixture
    def cli_repo(self, repo: Repo, tmp_path: Path) -> Iterator[CliRepo]:
        with Stub(tmp_path / "stub.jsonl") as stub:
            cli_repo = CliRepo(self.name, repo, stub)
            self.configure(cli_repo, yolo_mode=True)
            try:
                yield cli_repo
            finally:
                cli_repo.close()

    def configure(self, cli_repo: CliRepo, *, yolo_mode: bool) -> None:
        cli_repo.settings(*self.custom_args, yolo_mode=yolo_mode, **({"model": self.model} if self.model else {}))

    def writing(self, path: Path) -> str:
        """Returns a directive that makes the model write a file without a shell, if the CLI has a tool for that."""
        if not self.write_tool:
            return f"sh:echo made > {path}"
        where, what = self.write_words
        return f"call:{self.write_tool} {json.dumps({where: str(path), what: 'made'})}"

    def check_numbers(self, cli_repo: CliRepo, number: int, requests: int) -> None:
        """Checks that a turn's record has the tokens and the cost of its own requests, not of the whole session."""
        turn = cli_repo.turn(number)
        result = (turn["input_tokens"], turn["output_tokens"])
        assert result == (requests * TOKENS_IN, requests * TOKENS_OUT), turn
        cost = turn["cost_usd"]
        assert cost is None if self.cost is None else cost == pytest.approx(requests * self.cost), turn

    def test_work_pause_resume_review_and_completion(
        self, cli_repo: CliRepo, tmp_path: Path, _project_template: Path
    ) -> None:
        """A task goes from spawn over a question and a review to completion, with the same files as any executor.

        All turns are one session, whose whole conversation the model gets again in each.
        """
        cues = [f"[[play:turn-{number}]]" for number in (1, 2, 3)]
        commands = [turn.commands() for turn in shared_scenario.TURNS]
        for cue, text in zip(cues, commands, strict=True):
            cli_repo.stub.plays[cue[7:-2]] = [f"sh:{item}" for item in text]
        result = shared_scenario.play(cli_repo.repo, cues)
        (tmp_path / "expected").mkdir()
        assert result == shared_scenario.expected(tmp_path / "expected", _project_template, cues)
        assert shared_scenario.turns(cli_repo.repo) == [shared_scenario.TURN_BY_TURN]
        before = 0
        for number, text in enumerate(commands, 1):
            assert cli_repo.turn(number)["tools"] == len(text)
            assert DONE in cli_repo.readable(number) and cues[number - 1] in cli_repo.asked(before)
            assert number == 1 or (cues[0] in cli_repo.asked(before) and "status is paused" in cli_repo.asked(before))
            self.check_numbers(cli_repo, number, len(text) + 1)
            before += len(text) + 1
        assert len(cli_repo.stub.requests()) == before

    def test_the_same_in_the_sandbox(self, cli_repo: CliRepo, tmp_path: Path, _project_template: Path) -> None:
        """In the sandbox a task has the same result, also without yolo_mode, and leaves nothing in the user's home.

        If its network is limited, it reaches its model and tries nothing else.
        """
        if find_adapter(self.name).capabilities.private_home is None:
            pytest.skip(f"{self.name} does not run in the sandbox yet")
        if problem := sandbox_state("bwrap", os.environ).problem:
            pytest.skip(f"no sandbox here: {problem}")
        cli_repo.repo.environment["SOW_SANDBOX"] = "bwrap"
        self.configure(cli_repo, yolo_mode=False)
        cli_repo.sandbox(network=self.network, hosts=[f"127.0.0.1:{cli_repo.stub.port}"])
        self.test_work_pause_resume_review_and_completion(cli_repo, tmp_path, _project_template)
        if self.network == "model":
            log = (cli_repo.repo.root / ".sow/local/sessions/010/1/turn-001.network").read_text()
            assert f" allowed 127.0.0.1:{cli_repo.stub.port}\n" in log and " refused " not in log, log
        assert not Path(cli_repo.repo.environment["HOME"], self.sessions).exists()

    def test_an_unknown_session_is_replaced(self, cli_repo: CliRepo) -> None:
        """A session that the CLI has lost is replaced by a fresh one with the state on disk."""
        cli_repo.stub.plays |= {"work": [PAUSED], "more": [NEEDS_REVIEW]}
        cli_repo.task("play:work")
        cli_repo.spawn()
        lost = Path(cli_repo.repo.environment["HOME"], self.sessions)
        assert lost.is_dir()
        lost.rename(lost.with_name("lost"))
        before = len(cli_repo.stub.requests())
        result = cli_repo.resume("Go on [[play:more]]")
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert cli_repo.turn(2)["outcome"] == "not_found"
        assert "An earlier session worked on this task and is gone" in cli_repo.asked(before)
        assert cli_repo.repo.task("010")["session_id"] == cli_repo.session(2)["session_id"]

    def test_a_rate_limit_is_a_typed_outcome(self, cli_repo: CliRepo) -> None:
        """429 is `limited` within a minute, with exit 4, the task unchanged, and no process left."""
        self.check_busy(cli_repo, "429", 4, "limited")

    def test_an_overload_is_a_typed_outcome(self, cli_repo: CliRepo) -> None:
        """An overloaded server is `overloaded` within a minute, with exit 1 and the task unchanged."""
        self.check_busy(cli_repo, self.overload, 1, "overloaded")

    def check_busy(self, cli_repo: CliRepo, status: str, code: int, outcome: str) -> None:
        cli_repo.task(f"status:{status}")
        started = time.monotonic()
        result = cli_repo.spawn()
        assert (result.code, cli_repo.turn()["outcome"], cli_repo.status()) == (code, outcome, "in_progress"), result
        assert status in result.err, result
        assert time.monotonic() - started < 60
        assert cli_repo.marked() == []

    def test_ctrl_c_during_a_turn_leaves_no_process(self, cli_repo: CliRepo) -> None:
        """Ctrl-C while a tool of the CLI runs ends both, and the same session continues afterwards."""
        cli_repo.stub.plays["more"] = [NEEDS_REVIEW]
        self.make_sleeper(cli_repo)
        cli_repo.task("sh:./sleeper")
        process = cli_repo.start()
        wait_for(lambda: any("300.5" in words for words in cli_repo.marked()))
        assert stop(process, signal.SIGINT)[0] == 130
        assert cli_repo.marked() == []
        assert cli_repo.turn()["outcome"] == "interrupted"
        result = cli_repo.resume("Go on [[play:more]]")
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert len(cli_repo.session()["turns"]) == 2

    def test_a_time_out_during_a_request_leaves_no_process(self, cli_repo: CliRepo) -> None:
        """A turn that exceeds its time while the model is silent is stopped, and no process is left."""
        cli_repo.task("hang:120")
        process = cli_repo.start("--timeout", self.patience)
        cli_repo.stub.wait()
        output = process.communicate(timeout=60)[1].decode()
        assert (process.returncode, cli_repo.turn()["outcome"]) == (1, "timeout"), output
        assert cli_repo.marked() == []

    def make_sleeper(self, cli_repo: CliRepo) -> None:
        """Makes a script that waits: some CLIs refuse a command that is only a long sleep."""
        path = cli_repo.repo.root / "sleeper"
        path.write_text("#!/bin/sh\nsleep 300.5\n")
        path.chmod(0o755)

    def test_without_yolo_it_works_only_on_its_task(self, cli_repo: CliRepo, tmp_path: Path) -> None:
        """With yolo_mode off it writes in its worktree and task folder, commits and calls sow, and nothing else.

        Another task's folder is there too: it is denied to a CLI whose capability record says so.
        """
        self.configure(cli_repo, yolo_mode=False)
        home = Path(cli_repo.repo.environment["HOME"])
        outside = [home / "outside-1", home / "outside-2"]
        made = cli_repo.repo.root / "made.txt"
        mine, theirs = (cli_repo.repo.task_folder(task) / "made.md" for task in ("010", "020"))
        cli_repo.stub.plays["work"] = [
            self.writing(made),
            self.writing(mine),
            self.writing(theirs),
            self.writing(outside[0]),
            f"sh:echo x > {outside[1]}",
            "sh:git add made.txt && git commit -q -m made",
            NEEDS_REVIEW,
        ]
        cli_repo.task("play:work")
        cli_repo.repo.ok("task", "create", "--name", "Another")
        result = cli_repo.spawn()
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert not cli_repo.turn()["inferred"], "its call of sow was refused"
        assert cli_repo.repo.git("log", "-1", "--format=%s %an").strip() == "made Ada"
        assert cli_repo.repo.git("show", "--stat", "--format=", "HEAD").split()[0] == "made.txt"
        assert not any(path.exists() for path in outside)
        closes = find_adapter(self.name).capabilities.closes
        assert (mine.exists(), theirs.exists()) == (True, not closes)
        assert len(cli_repo.stub.requests()) == 8

    def test_without_yolo_it_works_in_the_worktree_of_a_run(self, cli_repo: CliRepo) -> None:
        """A run's worker with yolo_mode off writes in its worktree, runs its task's test, calls sow, and is merged."""
        self.configure(cli_repo, yolo_mode=False)
        root = cli_repo.repo.root
        made = root / ".sow/local/worktrees/010/made.txt"
        cli_repo.stub.plays["work"] = [self.writing(made), "sh:python3 -B look.py", NEEDS_REVIEW]
        (root / "look.py").write_text("print('it says ' + open('made.txt').read())\n")
        tests = "**Test Commands**:\n- `python3 -B look.py`\n"
        (root / "plan.md").write_text(f"# Plan\n\n## Task 1: Do the work [[play:work]]\n{tests}")
        cli_repo.repo.git("add", ".")
        cli_repo.repo.git("commit", "-q", "-m", "The plan")
        result = cli_repo.sow("run", "plan.md", "--review", "off", "--yes")
        assert (result.code, cli_repo.status()) == (0, "completed"), result
        assert cli_repo.repo.git("show", "HEAD:made.txt").strip() == "made"
        assert not cli_repo.turn()["inferred"], "its call of sow was refused"
        texts = [text for _, kind, text in cli_repo.stub.conversations()[-1] if kind == "tool_result"]
        assert any("it says made" in text for text in texts) is self.runs_tests, texts
        assert cli_repo.marked() == []

    def test_without_configuration_it_runs_the_tests(self, cli_repo: CliRepo) -> None:
        """Without yolo_mode it reads, runs the project's tests and calls sow by its name; all else is refused.

        A task without any word about tests is enough (A1).
        """
        self.configure(cli_repo, yolo_mode=False)
        root = cli_repo.repo.root
        (root / "test_it.py").write_text("def test_it():\n    assert True\n")
        looks = ["ls -la", "cat test_it.py", "grep -rn assert test_it.py", "find . -name test_it.py"]
        steps = [*looks, "python3 -m pytest -q -p no:cacheprovider test_it.py", "sow task list", "npm install left-pad"]
        cli_repo.stub.plays["work"] = [*(f"sh:{step}" for step in steps), NEEDS_REVIEW]
        cli_repo.task("play:work")
        result = cli_repo.spawn()
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert not cli_repo.turn()["inferred"], "its call of sow was refused"
        output = "\n".join(text for _, kind, text in cli_repo.stub.conversations()[-1] if kind == "tool_result")
        assert ("1 passed" in output) is self.runs_tests and "Do the work" in output, output
        refused = [refusal.get("command") for refusal in cli_repo.repo.task("010").get("refusals", [])]
        assert "npm install left-pad" in refused
        assert not set(refused) & {*looks, "sow task list"}

    def test_a_judge_changes_nothing(self, cli_repo: CliRepo) -> None:
        """A reviewer reads with git, but neither its editing tool nor its shell writes, even in yolo_mode."""
        made, touched = cli_repo.repo.root / "made.txt", cli_repo.repo.root / "touched.txt"
        says = NEEDS_REVIEW if self.judge_calls_sow else "sh:true"
        steps = ["sh:git log -1 --format=%H", f"sh:touch {touched}", f"sh:git log --output={touched}", says]
        cli_repo.stub.plays |= {"look": steps, "write": [self.writing(made)]}
        cli_repo.task("play:look", agent="reviewer")
        result = cli_repo.spawn(agent="reviewer")
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert len(cli_repo.stub.requests()) == 5
        output = cli_repo.stub.conversations()[-1]
        head = cli_repo.repo.git("rev-parse", "HEAD").strip()
        assert any(kind == "tool_result" and head in text for _, kind, text in output), output
        assert cli_repo.resume("Look again [[play:write]]").code == 0
        assert not made.exists() and not touched.exists()

    def test_a_planner_answers_with_a_plan(self, cli_repo: CliRepo) -> None:
        """It reads a checkout of its own, gets the findings about its plan in the same session, and writes nothing."""
        plan = "BEGIN PLAN {NONCE}\n# Crane\n\n## Task 1: Lift\n**Depends on**: {NEED}\n\nLift it.\nEND PLAN {NONCE}"
        made = cli_repo.repo.root / ".sow/local/worktrees/plan-new-1/made.txt"
        cli_repo.stub.patterns["NONCE"] = "BEGIN PLAN ([0-9a-f-]{36})"
        cli_repo.stub.phrases["The plan was checked"] = " again"
        cli_repo.stub.plays |= {
            "plan": ["sh:git log -1 --format=%H", f"sh:touch {made}", "text:" + plan.replace("{NEED}", "7")],
            "plan again": ["text:" + plan.replace("{NEED}", "None")],
        }
        result = cli_repo.sow("plan", "new", "Add a crane [[play:plan]]", "--executor", self.name, "--json")
        assert result.code == 0, result
        assert "depends on task 7" in result.err and result.json["plan"] == "plans/crane.md", result
        output = cli_repo.stub.conversations()[-1]
        head = cli_repo.repo.git("rev-parse", "HEAD").strip()
        assert any(kind == "tool_result" and head in text for _, kind, text in output), output
        assert any("line 4: task 1 depends on task 7" in text for _, _, text in output), output
        assert not list(cli_repo.repo.root.rglob("made.txt"))

    def test_doctor_knows_the_cli(self, cli_repo: CliRepo) -> None:
        """Doctor prints the pinned version, and finds every flag that sow depends on."""
        result = {executor["name"]: executor for executor in cli_repo.sow("doctor", "--json").json["executors"]}[
            self.name
        ]
        assert (result["version"], result["trouble"]) == (install.PINNED[self.name][2], None)
        assert (result["flags_known"], result["missing_flags"]) == (True, [])


class ObedientContract(Contract):
    """A CLI that accepts sow's id for a session and a role's list of tools."""

    readers = frozenset({"Read", "Grep", "read_file", "grep_search"})
    others = frozenset({"Bash", "Write", "Edit", "run_shell_command", "write_file", "replace", "edit", "web_fetch"})

    def test_a_role_with_few_tools_gets_no_others(self, cli_repo: CliRepo) -> None:
        """A role's `tools` restrict what the CLI offers to the model, also in yolo_mode."""
        role = Path(cli_repo.repo.environment["HOME"], ".claude/agents/reader.md")
        role.parent.mkdir(parents=True)
        role.write_text("---\nname: reader\ndescription: Reads.\ntools: [Read, Grep]\n---\nYou read.\n")
        cli_repo.task("text:read", agent="reader")
        cli_repo.sow("agent", "spawn", "reader", "010", "--executor", self.name)
        offered = set(cli_repo.stub.requests()[0]["tools"])
        assert offered & self.readers and not offered & self.others, offered

    def test_an_id_is_never_used_twice(self, cli_repo: CliRepo) -> None:
        """The CLI refuses a session id that it knows, and sow reads that as `in_use`."""
        request = Request(
            role=Role(name="implementer"),
            session=str(uuid.uuid4()),
            cwd=str(cli_repo.repo.root),
            session_folder=str(cli_repo.repo.root),
            yolo=True,
            model=self.model,
        )
        assert [self.run(cli_repo, request).kind for _ in range(2)] == ["done", "in_use"]

    def run(self, cli_repo: CliRepo, request: Request) -> Outcome:
        """Takes one turn without sow around it: the adapter's command line, and its outcome."""
        adapter, story = find_adapter(self.name), TurnSummary()
        call = adapter.spawn_command(request)
        result = subprocess.run(
            [install.binary(self.name), *call.arguments],
            cwd=request.cwd,
            env={**cli_repo.repo.environment, **call.environment},
            input="hello [[text:hello]]",
            capture_output=True,
            text=True,
            timeout=60,
        )
        for line in result.stdout.splitlines():
            for event in adapter.read(line):
                story.add(event)
        return adapter.outcome(ProcessEnd(code=result.returncode, stderr=result.stderr), story)
