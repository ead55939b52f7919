"""Checks the agents of a crew: their names, task ids, verifiers, criteria and agent types."""

from __future__ import annotations

from sow.domain.ids import is_member
from sow.domain.text.similar_text import words
from sow.domain.workflows import crew_plan
from sow.domain.workflows.crew_plan import DesignProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sow.domain.workflows.crew_plan import Member, Verifier, WorkflowPlan

NAME_FORM = "begin with a-z; then a-z, 0-9, _ and -, 63 characters at most"
TASK_ID_FORM = "write {slug}_{unix_epoch_timestamp}, such as create_user_table_1727539200"
VAGUE = frozenset({"good", "well", "nice", "properly", "correctly", "clean", "fine", "ok", "reasonable", "robust"})


def check(plan: WorkflowPlan, known_agents: Collection[str]) -> list[DesignProblem]:
    """Return all complaints about names, ids, verifiers, criteria and agent types."""
    return [
        *_workflow(plan),
        *_names(plan),
        *_task_ids(plan),
        *(complaint for member in plan.members for complaint in _check_verifier(plan, member)),
        *(complaint for checker in plan.verifiers for complaint in _check_verifies_list(plan, checker)),
        *(complaint for member in plan.members for complaint in _criteria(plan, member)),
        *_types(plan, known_agents),
    ]


def _workflow(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    if plan.name and not is_member(plan.name):
        yield DesignProblem(plan.file, 1, "workflow-name", f"{plan.name!r:.80} is no name of a workflow", NAME_FORM)
    if len(plan.task_id) > crew_plan.MAX_TASK_ID:
        message = f"the workflow's task_id has more than {crew_plan.MAX_TASK_ID} characters"
        yield DesignProblem(plan.file, 1, "task-id-format", message, "shorten it")


def _names(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    seen: dict[str, int] = {}
    agents: list[Member | Verifier] = [*plan.members, *plan.verifiers]
    for agent in agents:
        if not is_member(agent.name):
            yield DesignProblem(
                plan.file, agent.line, "name-form", f"{agent.name!r:.80} is no name of an agent", NAME_FORM
            )
        if agent.name in crew_plan.RESERVED:
            yield DesignProblem(
                plan.file, agent.line, "name-reserved", f"{agent.name} is sow's own desk", "use another name"
            )
        if agent.name in seen:
            message = f"the name {agent.name:.63} is here a second time, after line {seen[agent.name]}"
            yield DesignProblem(
                plan.file, agent.line, "name-duplicate", message, "give each agent and verifier its own name"
            )
        seen.setdefault(agent.name, agent.line)
    architects = [member for member in plan.members if member.kind == crew_plan.ARCHITECT]
    for second in architects[1:]:
        message = f"{second.name:.63} is a second solution architect, after {architects[0].name:.63}"
        yield DesignProblem(plan.file, second.line_of("role"), "architect-second", message, "keep one of them")


def _task_ids(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    seen: dict[str, Member] = {}
    for member in plan.members:
        line, task_id = member.line_of("task_id"), member.task_id
        if not task_id:
            message = f"{member.name:.63} has no task_id"
            yield DesignProblem(plan.file, line, "task-id-missing", message, TASK_ID_FORM)
            continue
        if not crew_plan.is_task_id(task_id):
            message = f"{member.name:.63}: {task_id!r:.130} is no task_id"
            yield DesignProblem(plan.file, line, "task-id-format", message, TASK_ID_FORM)
        if task_id in seen or task_id == plan.task_id:
            owner = seen[task_id].name if task_id in seen else "the workflow itself"
            message = f"{member.name:.63} has the task_id {task_id:.120} of {owner:.63}"
            yield DesignProblem(plan.file, line, "task-id-duplicate", message, "give each agent a task_id of its own")
        seen.setdefault(task_id, member)


def _check_verifier(plan: WorkflowPlan, member: Member) -> Iterator[DesignProblem]:
    """Check that a member has one verifier, which exists and is another agent."""
    line, verifier = member.line_of("verifier"), member.verifier
    if not verifier:
        message = f"{member.name:.63} has no verifier"
        yield DesignProblem(plan.file, line, "verifier-missing", message, "name one: verifier: database_verifier")
    elif verifier == member.name:
        message = f"{member.name:.63} verifies itself"
        yield DesignProblem(plan.file, line, "verifier-self", message, "name another agent below verifiers:")
    elif plan.checker(verifier) is None:
        is_worker = plan.member(verifier) is not None
        message = f"{member.name:.63}: the verifier {verifier:.63} is {'a worker' if is_worker else 'not'} in the plan"
        yield DesignProblem(
            plan.file, line, "verifier-unknown", message, f"add it below verifiers: - name: {verifier:.63}"
        )


def _check_verifies_list(plan: WorkflowPlan, checker: Verifier) -> Iterator[DesignProblem]:
    """Check that a verifier's list matches the members that name it."""
    assigned = [member.name for member in plan.members if member.verifier == checker.name]
    for name in checker.verifies:
        if name == checker.name:
            message = f"{name:.63} verifies itself"
            yield DesignProblem(plan.file, checker.line, "verifier-self", message, "take it out of verifies:")
        elif name not in assigned:
            message = f"{checker.name:.63} verifies {name:.63}, which does not name it as its verifier"
            hint = f"write verifier: {checker.name:.63} for {name:.63}, or take it out of verifies:"
            yield DesignProblem(plan.file, checker.line, "verifier-mismatch", message, hint)
    for name in assigned if checker.verifies else []:
        if name not in checker.verifies:
            message = f"{name:.63} names the verifier {checker.name:.63}, whose verifies: does not have it"
            yield DesignProblem(plan.file, checker.line, "verifier-mismatch", message, f"add {name:.63} to verifies:")
    if not assigned and not checker.verifies:
        message = f"{checker.name:.63} verifies nobody"
        hint = "name it as somebody's verifier, or leave it out"
        yield DesignProblem(plan.file, checker.line, "verifier-idle", message, hint, error=False)


def _criteria(plan: WorkflowPlan, member: Member) -> Iterator[DesignProblem]:
    line = member.line_of("criteria")
    if not member.criteria and not plan.is_on_call(member):
        message = f"{member.name:.63} has no criteria"
        hint = "say how its completion is measured: criteria: [all 12 tests of tests/db pass]"
        yield DesignProblem(plan.file, line, "criteria-missing", message, hint)
    for criterion in member.criteria:
        criterion_words = words(criterion)
        if len(criterion_words) < 3 or (len(criterion_words) < 6 and VAGUE.intersection(criterion_words)):
            message = f"{member.name:.63}: {criterion!r:.120} cannot be measured"
            hint = "name a command, a number or a file that shows it"
            yield DesignProblem(plan.file, line, "criteria-vague", message, hint, error=False)


def _types(plan: WorkflowPlan, known_agents: Collection[str]) -> Iterator[DesignProblem]:
    """Check that every agent type exists, or is specified."""
    existing = set(known_agents)
    specified = {required.name for required in plan.required}
    used = [(member.name, crew_plan.role_of(member, existing), member.line_of("agent")) for member in plan.members]
    used += [(checker.name, checker.agent, checker.line) for checker in plan.verifiers]
    for name, role, line in used:
        if role not in existing and role not in specified:
            message = f"{name:.63} is played by {role:.64}, an agent type that does not exist"
            hint = "specify it below required_agents:, or see 'sow agent list'"
            yield DesignProblem(plan.file, line, "agent-unknown", message, hint)
        elif role not in existing:
            message = f"the agent type {role:.64} of {name:.63} does not exist yet"
            yield DesignProblem(
                plan.file, line, "agent-missing", message, f"make it from its specification: sow agent new {role:.64}"
            )
    for required in plan.required:
        missing = [key for key in ("description", "prompt") if not getattr(required, key)]
        if missing:
            message = f"the required agent {required.name:.64} has no {' and no '.join(missing)}"
            yield DesignProblem(
                plan.file, required.line, "agent-specification", message, "say what it is for and how it works"
            )
