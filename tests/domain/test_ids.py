"""Ids: three digits with gaps, insertion between two tasks, and the names of agents."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain import ids
from sow.domain.ids import is_session_id, is_task_id
from sow.errors import SowError
from sow.store.formats.validation import is_note_id

NUMBERS = st.integers(0, 10**9 - 1)
NEAR = st.integers(0, 1100)


def written(number: int) -> str:
    return f"{number:03d}"


@pytest.mark.parametrize(
    ("text", "ident"), [("10", "010"), ("010", "010"), ("7", "007"), ("0", "000"), ("990", "990"), ("1000", "1000")]
)
def test_a_person_may_leave_out_zeros(text, ident):
    """`10` is 010; more digits than three are written as they are."""
    assert ids.task_id(text) == ident


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
def test_what_is_no_id_is_refused(text):
    """Letters, signs, other scripts' digits, paths, a fourth zero and ten digits are no ids."""
    with pytest.raises(SowError, match="is not a task id"):
        ids.task_id(text)


@given(NUMBERS)
def test_every_number_has_one_id(number):
    """Each number is written in exactly one way, whichever way a person types it."""
    assert ids.task_id(str(number)) == ids.task_id(written(number)) == written(number)
    assert ids.is_task_id(written(number))
    assert not ids.is_task_id(f"0{written(number)}")


def test_the_rules_and_the_schemas_know_one_form():
    """The store checks ids with the same function as the rules."""
    assert is_task_id is ids.is_task_id


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
    assert ids.next_id(taken) == new


@given(st.sets(st.integers(0, 10**9 - 20)))
def test_a_new_id_is_behind_all_others(numbers):
    """The next id is a multiple of ten, valid, and larger than every other, by no more than the gap."""
    new = ids.next_id(map(written, numbers))
    assert ids.is_task_id(new)
    assert int(new) % ids.GAP == 0
    assert 0 < int(new) - max(numbers, default=0) <= ids.GAP


def test_the_last_id_is_the_last():
    """Where nine digits are used up, a new task is refused, with the way out."""
    with pytest.raises(SowError, match="no id is free behind 999999990") as refused:
        ids.next_id(["999999990"])
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
    """`--after 010` is 011, or the next that is free."""
    assert ids.id_after(anchor, taken) == new


@given(NEAR, st.sets(NEAR))
def test_an_inserted_id_lies_between_the_anchor_and_the_next_ten(anchor, others):
    """An inserted id is free, behind its anchor and before the next ten; it is refused only when none is left."""
    taken = {written(number) for number in (*others, anchor)}
    limit = (anchor // ids.GAP + 1) * ids.GAP
    free = [number for number in range(anchor + 1, limit) if written(number) not in taken]
    if free:
        assert ids.id_after(written(anchor), taken) == written(free[0])
        return
    with pytest.raises(SowError, match=f"no id is free between {written(anchor)} and {written(limit)}"):
        ids.id_after(written(anchor), taken)


@given(st.integers(0, 99))
def test_a_gap_holds_nine_tasks(ten):
    """Behind a multiple of ten nine tasks can be put, and the tenth is refused with the way out."""
    taken = [written(ten * ids.GAP)]
    for _ in range(9):
        taken.append(ids.id_after(taken[-1], taken))
    assert [int(item) for item in taken] == list(range(ten * 10, ten * 10 + 10))
    with pytest.raises(SowError) as refused:
        ids.id_after(taken[0], taken)
    assert "--depends-on" in refused.value.hint


@given(NEAR, st.sets(NEAR))
def test_nothing_comes_after_a_task_that_is_not_there(anchor, others):
    """An anchor that does not exist is refused."""
    assume(anchor not in others)
    with pytest.raises(SowError, match=f"there is no task {written(anchor)} to come after"):
        ids.id_after(written(anchor), map(written, others))


def test_an_agent_signs_with_its_role_and_iteration():
    """The third attempt of an implementer is implementer-3."""
    assert ids.agent_id("implementer", 3) == "implementer-3"


@given(st.integers(0, 999_998))
def test_notes_are_counted(count):
    """The note after n others has a valid id with the number n + 1."""
    assert int(ids.note_id(count).removeprefix("note_")) == count + 1
    assert is_note_id(ids.note_id(count))


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
    assert ids.note_session_id(name, 1727539200) == f"{slug}_1727539200"


@given(st.text(min_size=1), st.integers(100_000, 10**12 - 1))
def test_any_name_gives_a_valid_session_id(name, epoch):
    """Whatever a task is called, the id of its note session follows the schema."""
    assert is_session_id(ids.note_session_id(name, epoch))
    assert len(ids.note_session_id(name, epoch)) <= 120
