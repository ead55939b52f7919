"""Ids: three digits with gaps, insertion between two tasks, and the names of agents."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain import inputs
from sow.domain.inputs import is_session_id, is_task_id
from sow.errors import SowError
from sow.store.formats.validation import is_note_id

NUMBERS = st.integers(0, 10**9 - 1)
NEAR = st.integers(0, 1100)


def written(number: int) -> str:
    return f"{number:03d}"


@pytest.mark.parametrize(
    ("text", "ident"), [("10", "010"), ("010", "010"), ("7", "007"), ("0", "000"), ("990", "990"), ("1000", "1000")]
)
def test_zeros_may_be_left_out(text, ident):
    """`10` means 010; more than three digits stay as they are."""
    assert inputs.task_id(text) == ident


@all_of(
    "text",
    [
        "",
        "abc",
        "-10",
        "+10",
        "1.0",
        "01 0",
        " 010",
        "010\n",
        "0x10",
        "１０",
        "٠١٠",
        "²",
        "0010",
        "1" * 10,
        "../010",
        "\0",
    ],
)
def test_an_invalid_id_is_refused(text):
    """Letters, signs, other scripts' digits, paths, a fourth zero and ten digits are no ids."""
    with pytest.raises(SowError, match="is not a task id"):
        inputs.task_id(text)


@given(NUMBERS)
def test_every_number_has_one_id(number):
    """Each number has exactly one form, however a person types it."""
    assert inputs.task_id(str(number)) == inputs.task_id(written(number)) == written(number)
    assert inputs.is_task_id(written(number))
    assert not inputs.is_task_id(f"0{written(number)}")


def test_rules_and_schemas_check_ids_alike():
    """The store checks ids with the same function as the rules."""
    assert is_task_id is inputs.is_task_id


@all_of(
    ("taken", "new"),
    [
        ([], "010"),
        (["010"], "020"),
        (["010", "011", "012"], "020"),
        (["009"], "010"),
        (["020", "010"], "030"),
        (["990"], "1000"),
        (["1000", "990"], "1010"),
        (["99990"], "100000"),
    ],
)
def test_a_new_task_gets_the_next_multiple_of_ten(taken, new):
    """New ids leave gaps, and continue past 990 with more digits."""
    assert inputs.next_id(taken) == new


@given(st.sets(st.integers(0, 10**9 - 20)))
def test_a_new_id_is_larger_than_all_others(numbers):
    """The next id is a multiple of ten, valid, and larger than every other, by no more than the gap."""
    new = inputs.next_id(map(written, numbers))
    assert inputs.is_task_id(new)
    assert int(new) % inputs.GAP == 0
    assert 0 < int(new) - max(numbers, default=0) <= inputs.GAP


def test_the_largest_id_has_no_successor():
    """If nine digits are used up, a new task is refused with a hint."""
    with pytest.raises(SowError, match="no id is free behind 999999990") as refused:
        inputs.next_id(["999999990"])
    assert "--after" in refused.value.hint


@pytest.mark.parametrize(
    ("anchor", "taken", "new"),
    [
        ("010", ["010", "020"], "011"),
        ("010", ["010", "011", "020"], "012"),
        ("010", ["010", "012"], "011"),
        ("011", ["010", "011"], "012"),
        ("020", ["010", "020"], "021"),
        ("990", ["990", "1000"], "991"),
        ("1000", ["990", "1000"], "1001"),
    ],
)
def test_insertion_takes_the_first_gap(anchor, taken, new):
    """`--after 010` gives 011, or the next free id."""
    assert inputs.id_after(anchor, taken) == new


@given(NEAR, st.sets(NEAR))
def test_an_inserted_id_lies_between_the_anchor_and_the_next_ten(anchor, others):
    """An inserted id is free, after its anchor and before the next ten; it is refused only if none is left."""
    taken = {written(number) for number in (*others, anchor)}
    limit = (anchor // inputs.GAP + 1) * inputs.GAP
    free = [number for number in range(anchor + 1, limit) if written(number) not in taken]
    if free:
        assert inputs.id_after(written(anchor), taken) == written(free[0])
        return
    with pytest.raises(SowError, match=f"no id is free between {written(anchor)} and {written(limit)}"):
        inputs.id_after(written(anchor), taken)


@given(st.integers(0, 99))
def test_a_gap_holds_nine_tasks(ten):
    """After a multiple of ten nine tasks fit, and the tenth is refused with a hint."""
    taken = [written(ten * inputs.GAP)]
    for _ in range(9):
        taken.append(inputs.id_after(taken[-1], taken))
    assert [int(item) for item in taken] == list(range(ten * 10, ten * 10 + 10))
    with pytest.raises(SowError) as refused:
        inputs.id_after(taken[0], taken)
    assert "--depends-on" in refused.value.hint


@given(NEAR, st.sets(NEAR))
def test_insertion_after_an_unknown_task_is_refused(anchor, others):
    """An anchor that does not exist is refused."""
    assume(anchor not in others)
    with pytest.raises(SowError, match=f"there is no task {written(anchor)} to come after"):
        inputs.id_after(written(anchor), map(written, others))


def test_an_agents_name_has_its_role_and_iteration():
    """The third iteration of an implementer is implementer-3."""
    assert inputs.agent_id("implementer", 3) == "implementer-3"


@given(st.integers(0, 999_998))
def test_notes_are_numbered(count):
    """The note after n others has the number n + 1."""
    assert int(inputs.note_id(count).removeprefix("note_")) == count + 1
    assert is_note_id(inputs.note_id(count))


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Create user table", "create_user_table"),
        ("  API: endpoint/design!  ", "api_endpoint_design"),
        ("Füge Login hinzu", "f_ge_login_hinzu"),
        ("日本語", "task"),
        ("…", "task"),
    ],
)
def test_a_session_is_named_after_its_task(name, slug):
    """The task_id of a note session is {slug}_{unix_epoch_timestamp}."""
    assert inputs.note_session_id(name, 1727539200) == f"{slug}_1727539200"


@given(st.text(min_size=1), st.integers(100_000, 10**12 - 1))
def test_any_name_gives_a_valid_session_id(name, epoch):
    """Any name of a task gives an id of its note session that follows the schema."""
    assert is_session_id(inputs.note_session_id(name, epoch))
    assert len(inputs.note_session_id(name, epoch)) <= 120
