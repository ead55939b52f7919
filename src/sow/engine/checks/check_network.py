"""Decides whether checks in the sandbox may use the network: without the user's consent for a repository they may not.

Whether a check needs it shows on the base commit: it fails there, and passes with the network. Then the user is asked,
once for each repository. Without a run on the base commit nobody could tell, so checks reach what agents reach.
"""

from __future__ import annotations

from sow.domain.network import ALL, NONE, narrower
from sow.domain.task import PERSON, Actor
from sow.gitwork.worktree import EnvironmentProblem
from sow.store.projects import task_folder, tasks
from sow.store.user import consents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.documents.state import Check, ProjectState, Task
    from sow.engine.runs.run_context import RunContext

KIND, ASKED = "network", "network-questions"  # the kinds of the files with the decisions and with sow's questions
OPEN, OFFLINE = "checks may use the network", "checks run without the network"
ANSWERS = {"y": OPEN, "yes": OPEN, "n": OFFLINE, "no": OFFLINE}
QUESTION = "checks of this repository pass only with the network"
NOTHING = {"text": ""}
ANSWERER = Actor(kind=PERSON, name="standing-answer")
HINT = "may its checks use the network? Answer yes or no; the answer counts for this repository, also in later runs"


def network_of_checks(context: RunContext) -> str:
    """Returns what checks may reach."""
    wanted = context.config.checks_network()
    if not wanted:
        decided = _decision(context)
        wanted = context.config.sandbox_network() if not _is_detectable(context) else ALL if decided == OPEN else NONE
    return narrower(wanted, context.settings.get("network", ALL))


def may_need_network(context: RunContext) -> bool:
    """Tells whether checks run without the network although nobody decided that."""
    is_default = not context.config.checks_network() and context.settings.get("network", ALL) == ALL
    return is_default and context.sandbox.is_on and _is_detectable(context) and not _decision(context)


def question(context: RunContext, checks: Sequence[Check]) -> EnvironmentProblem:
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


def settle(context: RunContext, task: Task) -> None:
    """Records the user's answer to the question, if the task asked it."""
    for asked in task.get("questions", ()):
        decided = ANSWERS.get(asked["answer"].strip().lower().strip(".,!"))  # any other answer: sow asks again
        if decided and not _decision(context) and _is_ours(context, asked["text"]):
            consents.add(context.environment, context.home.checkout.common, [decided], kind=KIND)


def answer_others(context: RunContext, project: ProjectState) -> None:
    """Answers tasks that ask what the user has answered for another one."""
    all_tasks = [task for _, task in task_folder.load_readable(context.home, project)[0]]
    for task in all_tasks:
        settle(context, task)
    asking = [task["id"] for task in all_tasks if _is_ours(context, task.get("question", NOTHING)["text"])]
    for ident in asking if _decision(context) else ():
        tasks.answer(context.home, ident, _decision(context), actor=ANSWERER)


def _is_detectable(context: RunContext) -> bool:
    return context.isolation is not None and context.settings.get("baseline", "on") != "off"


def _decision(context: RunContext) -> str:
    decided = consents.read(consents.path(context.environment, context.home.checkout.common, KIND))
    return next((text for text in (OFFLINE, OPEN) if text in decided), "")
