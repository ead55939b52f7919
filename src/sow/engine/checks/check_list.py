"""Runs the check list of a task in a clean checkout of one commit, with limits, and records the results as evidence.

Unless the settings decide it, checks in a sandbox use the network only with the user's consent for the repository. sow
asks for it if a list fails on the base commit and passes there with the network. In a run that does not check the base
commit, checks reach what agents reach.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from sow.domain.checks import task_checks, test_counts
from sow.domain.checks.missing_program import missing_program
from sow.domain.documents.state import Check, Evidence, TestCounts
from sow.domain.inputs import is_task_id
from sow.domain.network import ALL
from sow.domain.plans import command_line
from sow.domain.task import ANSWERER
from sow.engine.checks import setup_plan
from sow.engine.checks.setup_plan import Setup, commit_reader
from sow.engine.consent import (
    KIND,
    OFFLINE,
    OPEN,
    checks_network,
    is_network_need_detectable,
    network_decision,
    require,
)
from sow.errors import Interrupted, SowError
from sow.gitwork import slots
from sow.gitwork.check_processes import CheckMark
from sow.gitwork.slots import Slot
from sow.gitwork.worktree import EnvironmentProblem
from sow.store.projects import task_folder, tasks
from sow.store.user import consents
from sow.system import clock, git, plain_file
from sow.system.process import child_process
from sow.system.process.exit_code import exit_text
from sow.system.process.steps import Steps
from sow.system.sandbox import Box
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import ProjectState, Task
    from sow.engine.runs.run_context import RunContext

COMMIT, FOLDER = "commit", "folder"
# Variables of a terminal or a login session. Checks have no terminal, so these do not make another environment.
OF_A_LOGIN = frozenset({"TERM", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SEAT", "XDG_VTNR"})
HERE = "."  # means the checkout's own path, so that the same environment in two slots has one digest


@dataclass
class CheckListResult:
    """The results of one check list on one commit."""

    evidence: list[Evidence] = field(default_factory=list)
    tails: dict[str, str] = field(default_factory=dict)  # command: the end of its output
    interrupted: bool = False  # a person stopped it, so the results are incomplete
    imports_outside: bool = False  # the user accepted that it imports code of their own checkout
    is_elsewhere: bool = False  # the environment is not the wanted one, so nothing was run

    @property
    def passed(self) -> bool:
        return not self.interrupted and all(entry["passed"] for entry in self.evidence)


def run_list(
    context: RunContext,
    checks: Sequence[Check],
    *,
    commit: str,
    tree: str,
    iteration: int,
    name: str,
    kind: str = "",
    fresh: bool = False,
    on_base: bool = False,
    environment_wanted: str = "",
    network: str = "",
) -> Steps[CheckListResult]:
    """Runs all commands of a list in order; `name` is the task, or the folder that keeps their output.

    Without isolation they run in the shared folder, and the evidence belongs to no commit. `kind` replaces the kind of
    each check in the evidence, such as `merge` or `final`. With `fresh` the setup is built again.
    A command or a setup that this machine cannot run raises EnvironmentProblem. With `on_base` a command does not: on
    the base commit it may call what the work is to make. With `environment_wanted`, a digest, nothing is run in any
    other environment. `network` replaces what checks may reach in the sandbox.
    """
    done = CheckListResult()
    if not checks:
        return done
    wanted: Sequence[Check] = [{**check, "kind": kind} for check in checks] if kind else checks
    if context.slots is None:
        environment = context.check_environment(context.home.root)
        facts: Evidence = {"list": task_checks.digest(checks), "scope": FOLDER}  # type: ignore[typeddict-item]
        yield from _run_all(
            context, done, wanted, facts, CheckFolder(context, context.home.root, environment, name, iteration, "")
        )
        return done
    slot = None if context.stopping else (yield from context.slots.acquire())
    if slot is None:
        done.interrupted = True
        return done
    try:
        setup = context.setups.setup_for(commit_reader(context.home.root, tree))
        environment = setup.environment(slot.path, setting_up=True)
        check_folder = CheckFolder(context, slot.path, environment, name, iteration, tree, slot, network, on_base)
        yield from _set_up(slot, setup, check_folder, commit, fresh=fresh)
        commands = [check["command"] for check in checks]
        done.imports_outside = setup_plan.are_imports_accepted(context, setup, commands, slot.path)
        if not done.imports_outside:
            setup.sources = None  # the list needs nothing of the user's checkout
        environment = check_folder.environment = setup.environment(slot.path)
        facts = {  # type: ignore[typeddict-item]
            "list": task_checks.digest(checks),
            "scope": COMMIT,
            "setup": setup.key,
            "environment": environment_digest(environment, slot.path, box_network(context, network)),
        }
        if environment_wanted not in ("", facts["environment"]):
            done.is_elsewhere = True
            return done
        yield from _run_all(context, done, wanted, facts, check_folder, on_base=on_base)
    except Interrupted:
        done.interrupted = True
    finally:
        context.slots.release(slot)
    return done


def reusable_evidence(
    context: RunContext, recorded: Sequence[Evidence], checks: Sequence[Check], tree: str
) -> list[Evidence]:
    """Returns the evidence of a whole list that passed on an equal tree, setup and environment; else an empty list."""
    if context.slots is None or not checks:
        return []
    setup = context.setups.setup_for(commit_reader(context.home.root, tree))
    slot = f"{context.home.sow}/local/worktrees/slot-1"
    environment = environment_digest(setup.environment(slot), slot, box_network(context))
    facts = {"setup": setup.key, "environment": environment}
    comparable = [entry for entry in recorded if facts.items() <= entry.items()]
    evidence = task_checks.last_complete_run(comparable, checks, tree=tree)
    return evidence if all(entry["passed"] for entry in evidence) else []


def is_set_up(context: RunContext, tree: str) -> bool:
    """Tells whether commands set up the checkouts of a tree, so that an earlier list may have changed their output."""
    return bool(context.setups.setup_for(commit_reader(context.home.root, tree)).commands)


def box_network(context: RunContext, network: str = "") -> str:
    """Returns what checks reach in the sandbox; empty if they run without one."""
    return (network or network_of_checks(context)) if context.sandbox.is_on else ""


def environment_digest(environment: Mapping[str, str], folder: str, network: str = "") -> str:
    """Returns the identity of an environment, wherever its folder is; `network` is that of its sandbox."""
    variables = Box.environment(environment, network) if network else environment
    counted = sorted((name, value) for name, value in variables.items() if name not in OF_A_LOGIN)
    text = "".join(f"{name}={value.replace(folder, HERE)}\0" for name, value in counted)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass
class CheckFolder:
    """The checkout and environment in which commands run, and the folder of their output."""

    context: RunContext
    cwd: str
    environment: Mapping[str, str]
    name: str
    iteration: int
    tree: str = ""
    slot: Slot | None = None
    network: str = ""
    is_base: bool = False  # whether this is the user's own commit

    def has_file(self, name: str) -> bool:
        """Tells whether the work has a file of this name."""
        return self.slot.has_named(name) if self.slot is not None else os.path.isfile(f"{self.cwd}/{name}")

    def _network(self, check: Check) -> str:
        """What a command may reach; set-up, and what the work builds on, may need everything."""
        return ALL if check["kind"] == "dependency" else self.network or network_of_checks(self.context)

    def run(self, check: Check, *, setup_home: str = "") -> Steps[CheckResult]:
        """Runs one command that the user agreed to, with exactly this environment; one that a person stopped raises."""
        context, command, about_task = self.context, check["command"], is_task_id(self.name)
        if about_task:
            context.progress(self.name, f"{'setting up:' if setup_home else 'running'} {command}"[:120])
        require(context.agreed, command)
        box = context.check_box(self.cwd, setup_home=setup_home, network=self._network(check))
        ran = yield from self._start(check, box)
        if about_task:
            facts = {key: ran.evidence[key] for key in ("kind", "command", "exit", "seconds", "passed", "iteration")}
            context.journal("check", task=self.name, **facts | ({"kind": "setup"} if setup_home else {}))
        return ran

    def _start(self, check: Check, box: Box | None) -> Steps[CheckResult]:
        """Runs a command to its end; its output goes to files."""
        command = check["command"]
        name = f"{self.context.checks_folder(self.name)}/{check['kind']}-{clock.stamp()}-{os.urandom(3).hex()}"
        out, err = f"{name}.out", f"{name}.err"
        started = time.monotonic()
        with CheckMark(name) as mark:
            try:
                child = child_process.Child(
                    command_arguments(command),
                    cwd=self.cwd,
                    environment=self.environment,
                    stdin_path=os.devnull,
                    stdout_path=out,
                    stderr_path=err,
                    mark=mark.mark,
                    limits=self.context.check_limits(),
                    box=box,
                )
            except SowError as problem:
                return self._result(check, NOT_FOUND, 0.0, problem.message)
            try:
                while child.step(_ignore_line):
                    reason = yield
                    if reason:
                        child.stop(reason)
            finally:
                code = child.close()
        if child.stopped == child_process.INTERRUPT:
            raise Interrupted(f"interrupted: `{command}` was not ended", "run the same command again")
        if child.box_failed:
            reason = child.stderr_tail().strip().partition("\n")[0]
            raise EnvironmentProblem(
                f"the sandbox of `{command}` did not start: {reason}", "see what sow doctor says about the sandbox"
            )
        text = read_output(out, err) + (f"\n(stopped: {child.stopped})" if child.stopped else "")
        ran = self._result(check, LIMIT_REACHED if child.stopped else code, time.monotonic() - started, text)
        counts = _counts(command, (out, err), passed=ran.evidence["passed"])
        if counts is not None:
            ran.evidence["tests"] = counts
        return ran

    def _result(self, check: Check, code: int, seconds: float, text: str) -> CheckResult:
        evidence: Evidence = {
            "kind": check["kind"],
            "command": check["command"],
            "exit": code,
            "passed": code == command_line.expected_exit_code(check.get("expected", "")),
            "seconds": round(seconds, 3),
            "output": hashlib.sha256(text.encode()).hexdigest(),
            "iteration": self.iteration,
            "at": clock.now(),
        }
        if self.tree:
            evidence["tree"] = self.tree
        return CheckResult(evidence, escape_control(text)[-TAIL:])


def _run_all(
    context: RunContext,
    done: CheckListResult,
    checks: Sequence[Check],
    facts: Evidence,
    check_folder: CheckFolder,
    *,
    on_base: bool = False,
) -> Steps[None]:
    """Runs every command, with the tracked files restored before each."""
    baselines = context.folder.run.get("baselines", ())
    # If the list passed on the base commit, this machine has what it needs, so the work must have broken it.
    never_asks = on_base or any(baseline["passed"] for baseline in baselines if baseline["list"] == facts["list"])
    try:
        for number, check in enumerate(checks):
            if number and check_folder.slot is not None:
                check_folder.slot.restore()
            ran = yield from check_folder.run(check)
            if not never_asks:
                _refuse_missing_program(check["command"], ran, check_folder)
            done.evidence.append({**ran.evidence, **facts})
            done.tails[check["command"]] = ran.tail
    except Interrupted:
        done.interrupted = True


def _refuse_missing_program(command: str, ran: CheckResult, check_folder: CheckFolder) -> None:
    """Raises a question about a command that cannot run on this machine: no worker can change that."""
    code = None if ran.evidence["passed"] else ran.evidence["exit"]
    program = missing_program(command, code, ran.tail, check_folder.has_file)
    if program:
        code = ran.evidence["exit"]
        why = "command not found" if code == 127 else "cannot be executed"
        refused = (
            check_folder.context.setups.refusal(commit_reader(check_folder.context.home.root, check_folder.tree))
            if check_folder.tree
            else ""
        )
        raise EnvironmentProblem(
            f"`{command}` cannot run here ({exit_text(code)}): {program}: {why}",
            f"install {program}, or let worktree.setup install it (sow config edit), then answer this question"
            + (f"\n{refused}" if refused else ""),
        )


def _set_up(slot: Slot, setup: Setup, check_folder: CheckFolder, commit: str, *, fresh: bool) -> Steps[None]:
    """Shows a commit in a slot with its setup; commands run only if the slot has another setup, or none."""
    outputs = _outputs(slot, setup)
    if outputs is None or fresh:
        git.remove_file(f"{slot.file_prefix}.setup")
        outputs = None
    copies = [os.path.normpath(path) for path in setup.copies]
    # A copied folder can be large, so it stays. Files and links are made again for every list.
    kept = [path for path in copies if outputs is not None and _is_folder(f"{slot.path}/{path}")]
    slot.checkout(commit, spare=[*(outputs or ()), *kept])
    root = slot.repository.home.root
    for paths, put in ((setup.links, slots.link_into), (setup.copies, slots.copy_into)):
        for path in paths:
            if slot.has(slots.inner_path(root, slot.path, path)):
                raise slots.committed_path_error(path)
            put(root, slot.path, path)
    if outputs is not None:
        return
    before = set(slot.untracked())
    yield from run_setup(check_folder, setup.commands)
    if setup.commands:
        slot.restore()
    made = [path for path in setup.outputs if os.path.lexists(f"{slot.path}/{path}")]
    made += [path for path in slot.untracked() if path not in before]
    git.write_file(f"{slot.file_prefix}.setup", "\0".join([setup.key, *dict.fromkeys(made)]))


def run_setup(check_folder: CheckFolder, commands: Iterable[Sequence[str]]) -> Steps[None]:
    """Runs the setup commands of a checkout; one that fails is a question, because no worker can change that."""
    shown_commands = [shlex.join(command) for command in commands]
    if shown_commands:
        about = {"task": check_folder.name} if is_task_id(check_folder.name) else {}
        check_folder.context.journal("setup", **about, text="; ".join(shown_commands)[:500])
    with check_folder.context.setup_home(is_base=check_folder.is_base) if shown_commands else nullcontext("") as home:
        for shown in shown_commands:
            ran = yield from check_folder.run({"kind": "dependency", "command": shown}, setup_home=home)
            if not ran.evidence["passed"]:
                why = f"{shown} ({exit_text(ran.evidence['exit'])})\n{ran.tail}".strip()
                raise EnvironmentProblem(
                    f"the setup of the checkout failed: {why}", "repair it, or see worktree.setup: sow config edit"
                )


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _outputs(slot: Slot, setup: Setup) -> list[str] | None:
    """Returns the outputs of the setup that a slot has; None if it has another setup or lost a part."""
    try:
        with open(f"{slot.file_prefix}.setup", encoding="utf-8", errors="surrogateescape") as file:
            key, *paths = file.read().split("\0")
    except FileNotFoundError:
        return None
    is_complete = all(os.path.lexists(f"{slot.path}/{path}") for path in paths)
    return paths if key == setup.key and is_complete else None


SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
NOT_FOUND = 127
LIMIT_REACHED = 124  # exit code of a command that was stopped, as of `timeout`
TAIL = 4000


@dataclass
class CheckResult:
    """The evidence of one command and the end of its output."""

    evidence: Evidence
    tail: str


def failed_evidence(kind: str, command: str, iteration: int) -> Evidence:
    """Returns the evidence of something that failed and is no command, such as a merge."""
    facts: dict[str, Any] = {"exit": 1, "passed": False, "seconds": 0, "output": "0" * 64, "at": clock.now()}
    return {"kind": kind, "command": command, "iteration": iteration, **facts}  # type: ignore[typeddict-item]


def command_arguments(command: str) -> list[str]:
    """Returns what is started for a command: its words, or a shell if only a shell understands it."""
    words = command_line.split_words(command)
    if words is not None:
        return words
    shell = next((path for path in SHELLS if os.access(path, os.X_OK)), SHELLS[-1])
    return [shell, "-c", command]


def _ignore_line(line: str) -> None:
    """Ignores a line: the output is read when the check has ended."""


def read_output(out: str, err: str) -> str:
    """Returns the output of a command, up to the size that is kept."""
    parts = [plain_file.read_text(path, child_process.MAX_LINE) for path in (out, err)]
    return "\n".join(part.rstrip("\n") for part in parts if part.strip())


def _counts(command: str, paths: Sequence[str], *, passed: bool) -> TestCounts | None:
    """Returns how many tests a command ran, from its output; None if the output was removed."""
    try:
        ending = "\n".join(_ending(path) for path in paths)
    except OSError:
        return None
    return test_counts.of_command(command, ending) if passed else test_counts.parse(ending)


def _ending(path: str) -> str:
    """Returns the end of a file, where a test runner prints its counts."""
    with open(plain_file.open_to_read(path), "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - test_counts.MOST_BYTES, 0))
        return file.read(test_counts.MOST_BYTES).decode("utf-8", "replace")


ASKED = "network-questions"  # the kind of the file with sow's questions
ANSWERS = {"y": OPEN, "yes": OPEN, "n": OFFLINE, "no": OFFLINE}
QUESTION = "checks of this repository pass only with the network"
NOTHING = {"text": ""}
HINT = "may its checks use the network? Answer yes or no; the answer counts for this repository, also in later runs"


def network_of_checks(context: RunContext) -> str:
    """Returns what checks may reach."""
    return checks_network(context.home, context.config, context.environment, context.settings)


def may_need_network(context: RunContext) -> bool:
    """Tells whether checks run without the network although nobody decided that."""
    is_default = not context.config.checks_network() and context.settings.get("network", ALL) == ALL
    return is_default and context.sandbox.is_on and _is_detectable(context) and not _decision(context)


def network_question(context: RunContext, checks: Sequence[Check]) -> EnvironmentProblem:
    """Returns the question to the user about a list that passed on the base commit with the network only.

    Its text is recorded out of reach of agents, because a worker may ask a question that looks like this one.
    """
    text = f"{QUESTION}: {'; '.join(check['command'] for check in checks)}"
    consents.add(context.environment, context.home.checkout.common, [text], kind=ASKED)
    return EnvironmentProblem(text, HINT)


def _is_ours(context: RunContext, text: str) -> bool:
    """Tells whether sow asked this question itself."""
    asked = consents.read(consents.path(context.environment, context.home.checkout.common, ASKED))
    return any(text.startswith(command) for command in asked)


def settle_network(context: RunContext, task: Task) -> None:
    """Records the user's answer to the question, if the task asked it."""
    for asked in task.get("questions", ()):
        decided = ANSWERS.get(asked["answer"].strip().lower().strip(".,!"))  # any other answer: sow asks again
        if decided and not _decision(context) and _is_ours(context, asked["text"]):
            consents.add(context.environment, context.home.checkout.common, [decided], kind=KIND)


def answer_other_tasks(context: RunContext, project: ProjectState) -> None:
    """Answers tasks that ask what the user has answered for another one."""
    all_tasks = [task for _, task in task_folder.load_readable(context.home, project)[0]]
    for task in all_tasks:
        settle_network(context, task)
    asking = [task["id"] for task in all_tasks if _is_ours(context, task.get("question", NOTHING)["text"])]
    for ident in asking if _decision(context) else ():
        tasks.answer(context.home, ident, _decision(context), actor=ANSWERER)


def _is_detectable(context: RunContext) -> bool:
    return is_network_need_detectable(context.settings)


def _decision(context: RunContext) -> str:
    return network_decision(context.home, context.environment)
