"""Checks a workflow's design before any agent works: names, verifiers, order, files, prose and instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sow.domain.inputs import is_member
from sow.domain.plans import graph
from sow.domain.text.markdown_text import Section, has_text, sections, with_title_words
from sow.domain.text.similar_text import words
from sow.domain.workflows import crew_plan, file_checks, instruction_checks
from sow.domain.workflows.crew_plan import DesignProblem, Member, Verifier, WorkflowPlan

MAX_COMPLAINTS = 1000
NAME_FORM = "begin with a-z; then a-z, 0-9, _ and -, 63 characters at most"
TASK_ID_FORM = "write {slug}_{unix_epoch_timestamp}, such as create_user_table_1727539200"
VAGUE = frozenset({"good", "well", "nice", "properly", "correctly", "clean", "fine", "ok", "reasonable", "robust"})
MISSING_AGENT = "agent-missing"  # only the user can write the file of a new agent type
ESCALATION = (("escalation",),)
VALIDATION = (("validation",), ("checkpoint",))
FAILURE = ("fail", "failed", "failure", "fails", "remediation", "recovery", "sent", "rework")
ALL = ("each", "every", "all")
HANDOFFS = ("handoff", "handoffs", "output", "outputs", "agent", "agents", "doer", "doers", "result", "results")
PEOPLE = ("user", "users", "person", "people", "human")


def findings(
    plan: WorkflowPlan,
    instructions: Mapping[str, str | None],
    known_agents: Collection[str],
    *,
    existing: Collection[str] | None = None,
) -> list[DesignProblem]:
    """Returns all complaints, those of the reader first. `existing` are the inputs that the repository has."""
    complaints = list(plan.complaints)
    if plan.members:
        complaints += _roster(plan, known_agents)
        complaints += [*_dependencies(plan), *_cycles(plan), *_groups(plan), *_group_order(plan)]
        complaints += file_checks.check(plan, existing)
        complaints += instruction_checks.check(plan, instructions)
        complaints += _prose(plan)
    return _sorted(plan, complaints)


def _sorted(plan: WorkflowPlan, complaints: list[DesignProblem]) -> list[DesignProblem]:
    """Sorts by file and line, the plan first. Complaints over the limit are only counted."""
    complaints.sort(key=lambda complaint: (complaint.file != plan.file, complaint.file, complaint.line))
    more = len(complaints) - MAX_COMPLAINTS
    if more <= 0:
        return complaints
    message = f"there are {more:,} more complaints"
    return [*complaints[:MAX_COMPLAINTS], DesignProblem(plan.file, 0, "too-many", message, "fix these first")]


def _roster(plan: WorkflowPlan, known_agents: Collection[str]) -> list[DesignProblem]:
    """Returns all complaints about names, ids, verifiers, criteria and agent types."""
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
                plan.file, agent.line, "name-reserved", f"{agent.name} is a folder of sow", "use another name"
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
    """Checks that a member has one verifier, which exists and is another agent."""
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
    """Checks that a verifier's list matches the members that name it."""
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
    """Checks that every agent type exists, or is specified."""
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
            hint = f"make it from its specification: sow agent new {role:.64} --from-workflow"
            yield DesignProblem(plan.file, line, MISSING_AGENT, message, hint)
    for required in plan.required:
        missing = [key for key in ("description", "prompt") if not getattr(required, key)]
        if missing:
            message = f"the required agent {required.name:.64} has no {' and no '.join(missing)}"
            yield DesignProblem(
                plan.file, required.line, "agent-specification", message, "say what it is for and how it works"
            )


def _dependencies(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    names = {member.name for member in plan.members}
    for member in plan.members:
        line = member.line_of("dependencies")
        for name in dict.fromkeys(member.dependencies):
            if name == member.name:
                message = f"{member.name:.63} depends on itself"
                yield DesignProblem(plan.file, line, "dependency-self", message, "take it out of its dependencies:")
            elif name not in names:
                message = f"{member.name:.63} depends on {name:.63}, which is not in the plan"
                hint = (
                    "a verifier is no dependency: name the agent"
                    if plan.checker(name)
                    else "add it, or correct the name"
                )
                yield DesignProblem(plan.file, line, "dependency-unknown", message, hint)


def _cycles(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    for cycle in graph.cycles(plan.needs()):
        member = plan.member(cycle[0])
        if member is not None and len(cycle) > 2:
            message = f"the dependencies form a cycle: {' → '.join(cycle[:20])}"
            line = member.line_of("dependencies")
            yield DesignProblem(plan.file, line, "dependency-cycle", message, "take one of these dependencies out")


def _groups(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    """Checks that each agent is in exactly one group."""
    if not plan.groups_line:
        return
    names = {member.name for member in plan.members}
    seen: set[str] = set()
    for name in (name for group in plan.order for name in group):
        if name not in names:
            message = f"groups: {name:.63} is not among the agents"
            hint = "verifiers work by themselves and are in no group" if plan.checker(name) else "correct the name"
            yield DesignProblem(plan.file, plan.groups_line, "group-unknown", message, hint)
        elif name in seen:
            message = f"groups: {name:.63} is in two groups"
            yield DesignProblem(plan.file, plan.groups_line, "group-twice", message, "keep it in one of them")
        seen.add(name)
    for member in plan.members:
        if member.name not in seen and not plan.is_on_call(member):
            message = f"{member.name:.63} is in no group, so it would never start"
            yield DesignProblem(plan.file, plan.groups_line, "group-missing", message, "add it to groups:")


def _group_order(plan: WorkflowPlan) -> Iterator[DesignProblem]:
    """Checks that no agent depends on one of its own group or of a later one."""
    if not plan.groups_line:
        return
    positions: dict[str, int] = {}
    for position, group in enumerate(plan.order):
        for name in group:
            positions.setdefault(name, position)
    for member in plan.members:
        for name in dict.fromkeys(member.dependencies):
            if name == member.name or name not in positions or positions.get(member.name, -1) > positions[name]:
                continue
            if member.name in positions:
                location = "the same group" if positions[name] == positions[member.name] else "a later group"
                message = f"{member.name:.63} depends on {name:.63}, which is in {location}"
                hint = f"put {name:.63} into a group before"
                yield DesignProblem(plan.file, plan.groups_line, "group-order", message, hint)


def _prose(plan: WorkflowPlan) -> list[DesignProblem]:
    """Returns all complaints about the sections that the plan must have."""
    all_sections = sections(plan.prose, plan.prose_line)
    escalation, validation = with_title_words(all_sections, ESCALATION), with_title_words(all_sections, VALIDATION)
    return [
        *_section(plan, escalation, "escalation", "say how blocked agents are handled, and when the user is asked"),
        *_section(plan, validation, "validation", "say what is checked at every handoff, and what happens on failure"),
        *_handoffs(plan, validation),
        *_mentions(plan, escalation, "escalation-user", PEOPLE, "does not say when the user is asked"),
        *_mentions(plan, validation, "validation-failure", FAILURE, "does not say what happens when work fails"),
    ]


def _section(plan: WorkflowPlan, matching: list[Section], name: str, hint: str) -> Iterator[DesignProblem]:
    rule = f"{name}-section"
    if not matching:
        message = f"the plan has no section on {name}"
        yield DesignProblem(plan.file, plan.prose_line, rule, message, f"add a heading ## {name.title()} and {hint}")
    elif not any(has_text(section) for section in matching):
        yield DesignProblem(
            plan.file, matching[0].line, rule, f"the section {matching[0].title!r:.80} says nothing", hint
        )


def _handoffs(plan: WorkflowPlan, validation: list[Section]) -> Iterator[DesignProblem]:
    """Checks that the section on validation names every agent with dependents, or says what holds for each handoff."""
    if not any(has_text(section) for section in validation):
        return
    text = " ".join(section.text for section in validation).casefold()
    names = "".join(letter if letter.isalnum() or letter in "_-" else " " for letter in text).split()
    phrases = f" {' '.join(words(text))} "
    if any(f" {all_of} {handoffs} " in phrases for all_of in ALL for handoffs in HANDOFFS):
        return
    for member in plan.members:
        dependents = [other.name for other in plan.members if member.name in other.dependencies]
        if dependents and member.name not in names:
            handoff = f"{member.name:.63} → {dependents[0]:.63}"
            message = f"the section {validation[0].title!r:.80} has no checkpoint for {handoff}"
            hint = f"add a line: - {handoff}: what is checked, what makes it pass, and what happens if it fails"
            yield DesignProblem(plan.file, validation[0].line, "validation-handoff", message, hint)


def _mentions(
    plan: WorkflowPlan, matching: list[Section], rule: str, expected: tuple[str, ...], lack: str
) -> Iterator[DesignProblem]:
    """Warns if none of the expected words is in the sections. This is a weak sign, so it is not an error."""
    section_words = {word for section in matching for word in words(f"{section.title} {section.text}")}
    if matching and any(has_text(section) for section in matching) and not section_words.intersection(expected):
        message = f"the section {matching[0].title!r:.80} {lack}"
        yield DesignProblem(plan.file, matching[0].line, rule, message, "add a sentence about it", error=False)
