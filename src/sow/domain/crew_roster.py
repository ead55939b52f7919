"""The people of a crew: their names, their task ids, who verifies whom, and whether their agent types exist."""

from __future__ import annotations

from sow.domain import crew_plan
from sow.domain.crew_plan import Complaint
from sow.domain.ids import is_member
from sow.domain.wording import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sow.domain.crew_plan import Checker, Member, WorkflowPlan

NAME_FORM = "begin with a-z; then a-z, 0-9, _ and -, 63 characters at most"
TASK_ID_FORM = "write {slug}_{unix_epoch_timestamp}, such as create_user_table_1727539200"
VAGUE = frozenset({"good", "well", "nice", "properly", "correctly", "clean", "fine", "ok", "reasonable", "robust"})


def check(plan: WorkflowPlan, known_agents: Collection[str]) -> list[Complaint]:
    """All complaints about names, ids, verifiers, criteria and agent types."""
    return [
        *_workflow(plan),
        *_names(plan),
        *_task_ids(plan),
        *(each for member in plan.members for each in _verified(plan, member)),
        *(each for checker in plan.verifiers for each in _verifies(plan, checker)),
        *(each for member in plan.members for each in _criteria(plan, member)),
        *_types(plan, known_agents),
    ]


def _workflow(plan: WorkflowPlan) -> Iterator[Complaint]:
    if plan.name and not is_member(plan.name):
        yield Complaint(plan.file, 1, "workflow-name", f"{plan.name!r:.80} is no name of a workflow", NAME_FORM)
    if len(plan.task_id) > crew_plan.MAX_TASK_ID:
        what = f"the workflow's task_id has more than {crew_plan.MAX_TASK_ID} characters"
        yield Complaint(plan.file, 1, "task-id-format", what, "shorten it")


def _names(plan: WorkflowPlan) -> Iterator[Complaint]:
    seen: dict[str, int] = {}
    everybody: list[Member | Checker] = [*plan.members, *plan.verifiers]
    for each in everybody:
        if not is_member(each.name):
            yield Complaint(plan.file, each.line, "name-form", f"{each.name!r:.80} is no name of an agent", NAME_FORM)
        if each.name in crew_plan.RESERVED:
            yield Complaint(plan.file, each.line, "name-reserved", f"{each.name} is sow's own desk", "use another name")
        if each.name in seen:
            what = f"the name {each.name:.63} is here a second time, after line {seen[each.name]}"
            yield Complaint(plan.file, each.line, "name-duplicate", what, "give each agent and verifier its own name")
        seen.setdefault(each.name, each.line)
    architects = [each for each in plan.members if each.kind == crew_plan.ARCHITECT]
    for second in architects[1:]:
        what = f"{second.name:.63} is a second solution architect, after {architects[0].name:.63}"
        yield Complaint(plan.file, second.line_of("role"), "architect-second", what, "keep one of them")


def _task_ids(plan: WorkflowPlan) -> Iterator[Complaint]:
    seen: dict[str, Member] = {}
    for member in plan.members:
        line, given = member.line_of("task_id"), member.task_id
        if not given:
            what = f"{member.name:.63} has no task_id"
            yield Complaint(plan.file, line, "task-id-missing", what, TASK_ID_FORM)
            continue
        if not crew_plan.is_task_id(given):
            what = f"{member.name:.63}: {given!r:.130} is no task_id"
            yield Complaint(plan.file, line, "task-id-format", what, TASK_ID_FORM)
        if given in seen or given == plan.task_id:
            owner = seen[given].name if given in seen else "the workflow itself"
            what = f"{member.name:.63} has the task_id {given:.120} of {owner:.63}"
            yield Complaint(plan.file, line, "task-id-duplicate", what, "give each agent a task_id of its own")
        seen.setdefault(given, member)


def _verified(plan: WorkflowPlan, member: Member) -> Iterator[Complaint]:
    """Each doer has one verifier, which exists and is somebody else."""
    line, given = member.line_of("verifier"), member.verifier
    if not given:
        what = f"{member.name:.63} has no verifier"
        yield Complaint(plan.file, line, "verifier-missing", what, "name one: verifier: database_verifier")
    elif given == member.name:
        what = f"{member.name:.63} verifies itself"
        yield Complaint(plan.file, line, "verifier-self", what, "name another agent below verifiers:")
    elif plan.checker(given) is None:
        is_member = plan.member(given) is not None
        what = f"{member.name:.63}: the verifier {given:.63} is {'a worker' if is_member else 'not'} in the plan"
        yield Complaint(plan.file, line, "verifier-unknown", what, f"add it below verifiers: - name: {given:.63}")


def _verifies(plan: WorkflowPlan, checker: Checker) -> Iterator[Complaint]:
    """A verifier's list agrees with what the agents say."""
    assigned = [each.name for each in plan.members if each.verifier == checker.name]
    for name in checker.verifies:
        if name == checker.name:
            what = f"{name:.63} verifies itself"
            yield Complaint(plan.file, checker.line, "verifier-self", what, "take it out of verifies:")
        elif name not in assigned:
            what = f"{checker.name:.63} verifies {name:.63}, which does not name it as its verifier"
            hint = f"write verifier: {checker.name:.63} for {name:.63}, or take it out of verifies:"
            yield Complaint(plan.file, checker.line, "verifier-mismatch", what, hint)
    for name in assigned if checker.verifies else []:
        if name not in checker.verifies:
            what = f"{name:.63} names the verifier {checker.name:.63}, whose verifies: does not have it"
            yield Complaint(plan.file, checker.line, "verifier-mismatch", what, f"add {name:.63} to verifies:")
    if not assigned and not checker.verifies:
        what = f"{checker.name:.63} verifies nobody"
        hint = "name it as somebody's verifier, or leave it out"
        yield Complaint(plan.file, checker.line, "verifier-idle", what, hint, error=False)


def _criteria(plan: WorkflowPlan, member: Member) -> Iterator[Complaint]:
    line = member.line_of("criteria")
    if not member.criteria and not plan.is_on_call(member):
        what = f"{member.name:.63} has no criteria"
        hint = "say how its completion is measured: criteria: [all 12 tests of tests/db pass]"
        yield Complaint(plan.file, line, "criteria-missing", what, hint)
    for each in member.criteria:
        given = words(each)
        if len(given) < 3 or (len(given) < 6 and VAGUE.intersection(given)):
            what = f"{member.name:.63}: {each!r:.120} cannot be measured"
            hint = "name a command, a number or a file that shows it"
            yield Complaint(plan.file, line, "criteria-vague", what, hint, error=False)


def _types(plan: WorkflowPlan, known_agents: Collection[str]) -> Iterator[Complaint]:
    """Every agent type exists, or is specified so that it can be made."""
    known = set(known_agents)
    specified = {each.name for each in plan.required}
    used = [(each.name, crew_plan.role_of(each, known), each.line_of("agent")) for each in plan.members]
    used += [(each.name, each.agent, each.line) for each in plan.verifiers]
    for name, role, line in used:
        if role not in known and role not in specified:
            what = f"{name:.63} is played by {role:.64}, an agent type that does not exist"
            hint = "specify it below required_agents:, or see 'sow agent list'"
            yield Complaint(plan.file, line, "agent-unknown", what, hint)
        elif role not in known:
            what = f"the agent type {role:.64} of {name:.63} does not exist yet"
            yield Complaint(
                plan.file, line, "agent-missing", what, f"make it from its specification: sow agent new {role:.64}"
            )
    for each in plan.required:
        missing = [key for key in ("description", "prompt") if not getattr(each, key)]
        if missing:
            what = f"the required agent {each.name:.64} has no {' and no '.join(missing)}"
            yield Complaint(plan.file, each.line, "agent-specification", what, "say what it is for and how it works")
