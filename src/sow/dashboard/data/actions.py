"""Carries out what a user does on the page. Each act runs the sow command, so that all its rules apply."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from sow.domain.inputs import is_member, is_task_id
from sow.engine.turns.allowed_commands import sow_path
from sow.errors import SowError
from sow.system.caller import SESSION_MARKS
from sow.system.process import program
from sow.system.process.program import ProgramResult
from sow.system.terminal import escape_control

Body = Mapping[str, Any]

TIMEOUT = 60.0  # seconds
STOP_WAIT = "30s"
MAX_OUTPUT = 4000  # characters of a command's output
LONGEST = 100_000
LONGEST_REASON = 2000  # the limit of the command itself
LONGEST_COMMENT = 4000
MOST_COMMENTS = 100  # in one feedback
REFUSED, BAD, TOO_LONG = 409, 422, 504
USAGE = 2  # exit code of the command for bad input


class BadValue(SowError):
    """The request's values are not what the act takes."""


class Action:
    """One call of the sow command: its arguments and its input."""

    def __init__(self, *words: str, given: str | None = None) -> None:
        self.arguments = words
        self.input = given


def _text(body: Body, name: str, longest: int = LONGEST) -> str:
    value = body.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > longest or not _is_passable(value):
        raise BadValue(f"{name} must be a text of 1 to {longest} characters", f"send {name} with the act")
    return value


def _is_passable(text: str) -> bool:
    """Returns whether a text can be passed to a program: it has no NUL and no surrogate."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _word(body: Body, name: str) -> str:
    """Returns a short name from the request: of a task, an agent, a run or a question."""
    value = _text(body, name)
    if len(value) > 200 or not value.isprintable() or value != value.strip():
        raise BadValue(f"{name} is not a name", "send the name as the page has it")
    return value


def _task(body: Body) -> str:
    ident = _word(body, "task")
    if not is_task_id(ident):
        raise BadValue(f"{ident!r:.60} is not a task", "send the id of a task, such as 010")
    return ident


def _answer(body: Body) -> list[Action]:
    always = body.get("always", False)
    if not isinstance(always, bool):
        raise BadValue("always must be true or false", "leave it out, or send a boolean")
    flags = ["--always"] if always else []
    return [Action("answer", *flags, "--", _word(body, "question"), "-", given=_text(body, "text"))]


def _approve(body: Body) -> list[Action]:
    """Accepts work; a reason and the checks to waive may be given."""
    reason = [f"--reason={_text(body, 'reason', LONGEST_REASON)}"] if body.get("reason") else []
    waive = body.get("waive", [])
    if not isinstance(waive, list) or not all(isinstance(command, str) and _is_passable(command) for command in waive):
        raise BadValue("waive must be a list of commands", "send the checks as the page has them")
    return [Action("approve", *reason, *(f"--waive={command}" for command in waive), "--", _task(body))]


def _feedback(body: Body) -> list[Action]:
    """Adds feedback: a text, comments on lines of a tree, or both."""
    comments = body.get("comments") or []
    if not isinstance(comments, list) or len(comments) > MOST_COMMENTS or not all(map(_is_comment, comments)):
        raise BadValue(
            f"comments must be at most {MOST_COMMENTS} objects with file, line and text", "send them as the page does"
        )
    places = [f"--at={comment['file']}:{comment['line']}" for comment in comments]
    tree = [f"--tree={_word(body, 'tree')}"] if comments else []
    # The space keeps a text from naming a file (@) or the input (-). The command removes it.
    texts = [f" {_text(comment, 'text', LONGEST_COMMENT)}" for comment in comments]
    general = _text(body, "text") if body.get("text") or not comments else None
    words = [_task(body), *(["-"] if general else []), *texts]
    return [Action("feedback", "add", *places, *tree, "--", *words, given=general)]


def _is_comment(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    file, line = value.get("file"), value.get("line")
    is_number = isinstance(line, int) and not isinstance(line, bool)
    return is_number and isinstance(file, str) and len(file) <= LONGEST_REASON and _is_passable(file)


def _send_back(body: Body) -> list[Action]:
    """Adds the feedback first: a task that goes back without it would be done the same way again."""
    return [*_feedback(body), Action("task", "set", f"--id={_task(body)}", "--", "status", "in_progress")]


def _retry(body: Body) -> list[Action]:
    ident = _word(body, "task")
    if is_member(ident):
        return [Action("workflow", "set", f"--agent={ident}", "--", "status", "working")]
    return [Action("task", "set", f"--id={_task(body)}", "--", "status", "in_progress")]


def _abandon(body: Body) -> list[Action]:
    return [Action("task", "abandon", f"--reason={_text(body, 'reason', LONGEST_REASON)}", "--", _task(body))]


ACTS: dict[str, Callable[[Body], list[Action]]] = {
    "answer": _answer,
    "approve": _approve,
    "feedback": _feedback,
    "send-back": _send_back,
    "retry": _retry,
    "abandon": _abandon,
    "stop": lambda body: [Action("runs", "stop", f"--wait={STOP_WAIT}", "--", _word(body, "run"))],
    "approve-workflow": lambda body: [Action("workflow", "approve")],
}


class ActRunner:
    """Carries out acts in one checkout, with the server's environment."""

    def __init__(self, root: str, environment: Mapping[str, str], status_of: Callable[[str], str]) -> None:
        self.root = root
        # The page was opened from an agent's session perhaps, but the guard has seen that a person acts on it.
        kept = {name: value for name, value in environment.items() if name not in SESSION_MARKS}
        self.environment = {**kept, "NO_COLOR": "1"}
        self.status_of = status_of

    def do(self, name: str, body: Body) -> tuple[int, dict[str, Any]]:
        """Carries out an act; returns the HTTP status and the document of the reply."""
        if name not in ACTS:
            return 404, _error(f"there is no act {name!r:.60}", f"the acts are: {', '.join(ACTS)}")
        try:
            calls = ACTS[name](body)
        except BadValue as error:
            return BAD, _error(error.message, error.hint)
        status = self.status_of(str(body.get("task", ""))) if name == "send-back" else "needs_review"
        if status != "needs_review":  # otherwise the first of the two calls would leave feedback on any task
            return REFUSED, _error(f"this task has no work to send back: it is {status}", "reload the task")
        outputs = []
        for call in calls:
            result = self._run(call)
            if result is None:
                return TOO_LONG, _error("the command took too long", "see the result: sow status")
            if result.code:
                return _refusal(result)
            outputs.append(result.out.strip())
        text = escape_control("\n".join(output for output in outputs if output))[-MAX_OUTPUT:]
        return 200, {"ok": True, "text": text}

    def _run(self, call: Action) -> ProgramResult | None:
        """Runs one call to its end; None if it took too long and was stopped."""
        stop = threading.Event()
        timer = threading.Timer(TIMEOUT, stop.set)
        timer.daemon = True
        timer.start()
        arguments = [sow_path(), f"--root={self.root}", *call.arguments]
        try:
            result = program.run_until_stopped(
                arguments, cwd=self.root, environment=self.environment, stop=stop, given=call.input
            )
        finally:
            timer.cancel()
        return None if stop.is_set() else result


def _error(error: str, hint: str) -> dict[str, Any]:
    return {"error": error, "hint": hint}


def _refusal(result: ProgramResult) -> tuple[int, dict[str, Any]]:
    """Turns the `error:` and `hint:` lines of a call into a status and a document."""
    preamble, _, rest = escape_control(result.err).partition("error: ")
    error, _, hint = rest.partition("\nhint: ")
    if not error.strip():
        error, hint = (preamble.strip() or result.out.strip())[-MAX_OUTPUT:] or f"exit code {result.code}", ""
    status = BAD if result.code == USAGE else REFUSED
    return status, _error(error.strip()[:MAX_OUTPUT], hint.strip()[:MAX_OUTPUT])
