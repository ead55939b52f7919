"""Phases: their order, their names, and every sequence of moves."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.quick_cases import all_of
from support.samples import NOW, phase

from sow.domain import task as task_rules
from sow.errors import IllegalStatusChange, SowError

MOVES = {
    ("proposed", "pending"),
    ("pending", "active"),
    ("pending", "completed"),
    ("active", "completed"),
    ("active", "pending"),
    ("completed", "active"),
    ("completed", "pending"),
}
NAMES = ["discovery", "design", "implementation", "test", "review", "document", "release"]
SHORT = {"proposed": "?", "pending": "o", "active": "*", "completed": "x"}


def made(text: str) -> list:
    """Parses phases: `x design, * test` is a completed phase design and an active phase test."""
    statuses = {mark: status for status, mark in SHORT.items()}
    pairs = (part.split() for part in text.split(", "))
    return [phase(name, statuses[mark]) for mark, name in pairs]


def shown(phases: list) -> str:
    return ", ".join(f"{SHORT[phase['status']]} {phase['name']}" for phase in phases)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "* implementation"),
        (["implement"], "* implementation"),
        (["design", "implement"], "* design, o implementation"),
        (["discovery", "design", "3rd_step-x"], "* discovery, o design, o 3rd_step-x"),
    ],
)
def test_a_new_project_begins_with_its_first_phase(names, expected):
    """The first phase of a project is active, the others pending, and without names there is one."""
    assert shown(task_rules.new_phases(names, now=NOW)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* design, o implementation", "implementation"),
        ("x discovery, * design, o release", "design"),
        ("x discovery, x design", "design"),
    ],
)
def test_the_phase_of_a_plans_tasks(text, expected):
    """A plan's tasks go to implementation; without that phase they go to the current one, or the last."""
    assert task_rules.default_phase(made(text)) == expected


@pytest.mark.parametrize("names", [["design", "design"], ["implement", "implementation"]])
def test_a_duplicate_phase_is_refused(names):
    """The same phase twice, also under its alias, is refused."""
    with pytest.raises(SowError, match="is given twice"):
        task_rules.new_phases(names, now=NOW)


@all_of(
    "name", ["", "-", "_x", "-x", "Design", "a b", "a/b", "..", "../x", "é", "x" * 41, "a\n", "a\0b", ".hidden", "٣"]
)
def test_a_name_unfit_for_a_folder_is_refused(name):
    """A name must be a valid folder on every system."""
    with pytest.raises(SowError, match="is not a name for a phase"):
        task_rules.check_name(name)


PHASES = made("x design, * implementation, o integration-test, o integration-docs, ? release")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("implementation", "implementation"),
        ("implement", "implementation"),
        ("impl", "implementation"),
        ("d", "design"),
        ("integration-t", "integration-test"),
        ("rel", "release"),
    ],
)
def test_a_unique_prefix_is_enough(text, name):
    """A phase is found by its name, its alias, and a prefix of no other phase."""
    assert task_rules.find_name(text, PHASES) == name


def test_a_whole_name_goes_before_a_longer_one():
    """A name that is also the beginning of another is not ambiguous."""
    assert task_rules.find_name("test", made("* test, o test-more")) == "test"
    assert task_rules.find_name("implement", made("* implement-api, o design")) == "implement-api"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("i", "phase 'i' is ambiguous", "it could be: implementation, integration-test, integration-docs"),
        ("", "there is no phase ''", "the phases are: design, implementation"),
        ("testing", "there is no phase 'testing'", 'a new one: sow phase add testing --reason "…"'),
    ],
)
def test_an_ambiguous_name_is_refused(text, message, hint):
    """Several matches, or none, are refused, and the hint lists the phases."""
    with pytest.raises(SowError) as refused:
        task_rules.find_name(text, PHASES)
    assert refused.value.message == message
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("before", "place", "after"),
    [
        ("x design, * implementation, o test", {}, "x design, * implementation, ? discovery, o test"),
        ("x design, * implementation, o test", {"before": "test"}, "x design, * implementation, ? discovery, o test"),
        ("x design, * implementation, o test", {"after": "test"}, "x design, * implementation, o test, ? discovery"),
        ("x design, * implementation", {"before": "des"}, "? discovery, x design, * implementation"),
        ("x design, x implementation", {}, "x design, x implementation, ? discovery"),
    ],
)
def test_a_phase_is_proposed_at_its_place(before, place, after):
    """A proposed phase is at the given place, or after the active one, with its reason and its number."""
    phases = task_rules.propose(made(before), "discovery", reason="a race", question=3, now=NOW, **place)
    assert shown(phases) == after
    (proposal,) = [phase for phase in phases if phase["name"] == "discovery"]
    assert proposal == phase("discovery", "proposed", created_at=NOW, reason="a race", question=3)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("design", {}),
        ("implement", {}),
        ("Bad Name", {}),
        ("discovery", {"before": "nowhere"}),
        ("discovery", {"after": "i"}),
        ("discovery", {"before": "design", "after": "design"}),
    ],
)
def test_an_invalid_proposal_is_refused(name, place):
    """An existing phase, a bad name and an ambiguous place are refused."""
    with pytest.raises(SowError):
        task_rules.propose(PHASES, name, reason="a race", question=3, now=NOW, **place)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("* design, ? new, o test", "* design, o new, o test"),
        ("? new, * design, o test", "* new, o design, o test"),
        ("x design, ? new, x test, * build", "x design, * new, o test, o build"),
        ("x design, x test, ? new", "x design, x test, * new"),
        ("x design, ? new, x test", "x design, * new, o test"),
    ],
)
def test_an_approved_phase_takes_its_place_in_the_order(before, after):
    """After the active phase it is pending. Before it, or when all are completed, it becomes active (B1)."""
    phases = task_rules.approve_phase(made(before), "new")
    assert shown(phases) == after
    (approved,) = [phase for phase in phases if phase["name"] == "new"]
    assert "question" not in approved
    assert approved["reason"] == "a race"


@pytest.mark.parametrize(
    ("before", "place", "after"),
    [
        ("* design, o new, o test", {"after": "test"}, "* design, o test, o new"),
        ("* design, o test, o new", {"before": "design"}, "* new, o design, o test"),
        ("* new, o design, o test", {"after": "design"}, "* design, o new, o test"),
        ("x new, * design, o test", {"after": "test"}, "* design, o test, o new"),
        ("x design, x new", {"before": "design"}, "x new, x design"),
        ("* design, ? new, o test", {"after": "te"}, "* design, o test, ? new"),
    ],
)
def test_a_phase_is_moved(before, place, after):
    """The first phase that is not completed is active, so that none is skipped (B1)."""
    assert shown(task_rules.move_phase(made(before), "ne", **place)) == after


@pytest.mark.parametrize(
    "place", [{}, {"before": "new"}, {"after": "none"}, {"before": "design", "after": "design"}, {"after": "d"}]
)
def test_a_move_needs_one_place_next_to_another_phase(place):
    """No place, two places, an unknown phase and the phase itself are refused."""
    with pytest.raises(SowError):
        task_rules.move_phase(made("* design, o docs, o new"), "new", **place)


def test_a_rejected_phase_is_removed():
    """A rejected proposal leaves the others as they are; a phase that is no proposal is never removed."""
    phases = made("x design, ? new, * test")
    assert shown(task_rules.reject(phases, "new")) == "x design, * test"
    assert task_rules.reject(phases, "design") == phases


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("* design, o test", "x design, * test"),
        ("* design, ? new, o test", "x design, ? new, * test"),
        ("x design, * test", "x design, x test"),
        ("x design, * test, ? new", "x design, x test, ? new"),
    ],
)
def test_advancing_completes_the_phase_and_begins_the_next(before, after):
    """The next phase begins, a proposal is skipped, and after the last one all are completed."""
    assert shown(task_rules.advance(made(before), {})) == after


@pytest.mark.parametrize(
    ("open_tasks", "message"),
    [
        ({"design": ["020", "010"]}, "phase design has open tasks: 010, 020"),
        ({"test": ["030"]}, "phase test has open tasks: 030"),
    ],
)
def test_no_phase_is_left_with_open_tasks(open_tasks, message):
    """An open task in this phase or an earlier one stops the advance."""
    with pytest.raises(IllegalStatusChange) as refused:
        task_rules.advance(made("x design, * test, o release"), open_tasks)
    assert refused.value.message == message


def test_open_tasks_of_later_phases_do_not_stop_an_advance():
    """Only tasks of this phase and earlier ones count."""
    assert shown(task_rules.advance(made("* design, o test"), {"test": ["030"]})) == "x design, * test"


def test_advancing_past_the_end_is_refused():
    """When all phases are completed, the error has both next steps."""
    with pytest.raises(IllegalStatusChange, match="all phases are completed") as refused:
        task_rules.advance(made("x design"), {})
    assert "sow phase add" in refused.value.hint
    assert "sow cleanup" in refused.value.hint


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("x design, x test, * release", "", "x design, * test, o release"),
        ("x design, x test, * release", "des", "* design, o test, o release"),
        ("x design, x test", "", "x design, * test"),
        ("x design, ? new, * test", "", "* design, ? new, o test"),
    ],
)
def test_going_back_reopens_an_earlier_phase(before, name, after):
    """The earlier phase is active again, and later ones are pending."""
    assert shown(task_rules.back(made(before), name)) == after


@pytest.mark.parametrize(
    ("before", "name", "message"),
    [
        ("* design, o test", "", "there is no earlier phase to go back to"),
        ("? new, * design", "", "there is no earlier phase to go back to"),
        ("x design, * test, o release", "release", "phase release is not an earlier phase"),
        ("x design, * test", "test", "phase test is not an earlier phase"),
        ("x design, ? new, * test", "new", "phase new is not an earlier phase"),
    ],
)
def test_going_back_needs_an_earlier_phase(before, name, message):
    """The first phase has none before it; later, current and proposed ones are refused."""
    with pytest.raises(IllegalStatusChange) as refused:
        task_rules.back(made(before), name)
    assert refused.value.message == message


@pytest.mark.parametrize("name", ["design", "test"])
def test_work_starts_in_a_phase_that_has_begun(name):
    """Tasks start in the active phase and in those before it."""
    task_rules.require_begun(made("x design, * test, o release, ? new"), name)


@pytest.mark.parametrize(
    ("name", "message", "way"),
    [
        ("release", "phase release waits: the active phase is test", "sow phase advance"),
        ("new", "phase new is only proposed", "sow phase approve new"),
    ],
)
def test_no_work_starts_before_its_phase(name, message, way):
    """A pending or proposed phase starts no task, and the error says how to begin it."""
    with pytest.raises(IllegalStatusChange) as refused:
        task_rules.require_begun(made("x design, * test, o release, ? new"), name)
    assert refused.value.message == message
    assert way in refused.value.hint


def test_a_task_can_be_planned_in_any_approved_phase():
    """Tasks may be created in later phases, but not in a proposed one."""
    phases = made("x design, * test, o release, ? new")
    for name in ("design", "test", "release"):
        task_rules.require_approved(phases, name)
    with pytest.raises(IllegalStatusChange, match="phase new is only proposed"):
        task_rules.require_approved(phases, "new")


class Project(RuleBasedStateMachine):
    """Any order of proposals, approvals, rejections, advances and returns."""

    @initialize(names=st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    def begin(self, names):
        self.phases = task_rules.new_phases(names, now=NOW)

    def step(self, act, *arguments, **named):
        """Makes the move; a refused one changes nothing, and a successful one follows the table."""
        before = deepcopy(self.phases)
        try:
            after = act(self.phases, *arguments, **named)
        except SowError:
            after = self.phases
        assert self.phases == before, "the rules changed what they were given"
        was = {task["name"]: task["status"] for task in before}
        for task in after:
            old = was.get(task["name"], task["status"])
            if old == "proposed" and task["status"] != old:
                old = "pending"  # approval is the move to pending, from which it may continue at once
            assert old == task["status"] or (old, task["status"]) in MOVES
        gone = was.keys() - {entry["name"] for entry in after}
        assert all(was[name] == "proposed" for name in gone)
        self.phases = after

    @rule(name=st.sampled_from(NAMES), anchor=st.sampled_from(["", *NAMES]), side=st.sampled_from(["before", "after"]))
    def propose(self, name, anchor, side):
        self.step(task_rules.propose, name, reason="needed", question=1, now=NOW, **({side: anchor} if anchor else {}))

    @rule(name=st.sampled_from(NAMES), anchor=st.sampled_from(NAMES), side=st.sampled_from(["before", "after"]))
    def move(self, name, anchor, side):
        self.step(task_rules.move_phase, name, **{side: anchor})

    @precondition(lambda self: any(phase["status"] == "proposed" for phase in self.phases))
    @rule(data=st.data(), yes=st.booleans())
    def decide(self, data, yes):
        proposed = [phase["name"] for phase in self.phases if phase["status"] == "proposed"]
        self.step(task_rules.approve_phase if yes else task_rules.reject, data.draw(st.sampled_from(proposed)))

    @rule(open_in=st.sets(st.sampled_from(NAMES), max_size=2))
    def advance(self, open_in):
        self.step(task_rules.advance, {name: ["010"] for name in open_in})

    @rule(name=st.sampled_from(["", *NAMES]))
    def back(self, name):
        self.step(task_rules.back, name)

    @invariant()
    def one_active_all_before_it_completed_all_behind_it_pending(self):
        statuses = "".join(SHORT[phase["status"]] for phase in self.phases).replace("?", "")
        done, active, waiting = statuses.partition("*")
        assert statuses.count("*") <= 1
        assert set(done) <= {"x"}
        assert set(waiting) <= {"o"}
        assert active or not waiting

    @invariant()
    def names_are_unique_and_only_proposals_have_a_question(self):
        names = [phase["name"] for phase in self.phases]
        assert len(set(names)) == len(names)
        assert all(("question" in phase) == (phase["status"] == "proposed") for phase in self.phases)


TestProject = Project.TestCase
TestProject.__doc__ = "Whatever is done to the phases, at most one is active, with all before it completed."
TestProject.settings = settings(stateful_step_count=30)
