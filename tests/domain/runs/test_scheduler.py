"""The scheduler: which tasks start, which wait and why, and when the run is over."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from sow.domain.plans import graph
from sow.domain.runs.scheduler import JOB, Breaker, Budget, Job, Scheduler
from sow.errors import IllegalStatusChange, SowError


def chain(*ids: str, **options: dict) -> list[Job]:
    """Returns jobs that each depend on the one before."""
    return [Job(ident, needs=ids[at - 1 : at], wave=at, **options.get(ident, {})) for at, ident in enumerate(ids)]


def fork(count: int = 3, **options) -> list[Job]:
    """Returns jobs without dependencies, in order."""
    return [Job(f"{number}0", **options) for number in range(1, count + 1)]


def starts(board: Scheduler, now: float = 0.0) -> list[str]:
    return board.decide(now).start


def begin(board: Scheduler, *ids: str) -> None:
    for ident in ids:
        board.started(ident)


def test_jobs_without_dependencies_start_at_once():
    """Jobs without dependencies start in order, and the others wait."""
    board = Scheduler([*chain("10", "20"), Job("30")], slots=8)
    assert starts(board) == ["10", "30"]


def test_the_longest_chain_goes_first():
    """If slots are short, the job with the longest chain behind it starts first."""
    board = Scheduler([Job("10", rest=5), Job("20", rest=50), Job("30", rest=7)], slots=2)
    assert starts(board) == ["20", "30"]


def test_a_job_starts_when_its_dependencies_are_completed():
    """The end of the last dependency lets a job start, whatever else runs."""
    board = Scheduler([Job("10"), Job("20"), Job("30", needs=["10", "20"])], slots=3)
    begin(board, "10", "20")
    board.ended("10", "completed")
    assert starts(board) == []
    board.ended("20", "completed")
    assert starts(board) == ["30"]


def test_the_slots_of_the_run_and_of_a_pool_both_count():
    """A full pool keeps only its own jobs waiting, and a full run all of them."""
    jobs = [Job("10", pool="a"), Job("20", pool="a"), Job("30", pool="b"), Job("40", pool="b"), Job("50", pool="b")]
    board = Scheduler(jobs, slots=3, pool_slots={"a": 1})
    assert starts(board) == ["10", "30", "40"]
    begin(board, "10", "30", "40")
    assert starts(board) == []
    board.ended("30", "completed")
    assert starts(board) == ["50"]


@pytest.mark.parametrize("status", ["failed", "asking", "abandoned"])
def test_a_failed_job_blocks_only_its_dependents(status):
    """Direct and indirect dependents are blocked, and everything else continues."""
    board = Scheduler([*chain("10", "20", "30"), Job("40")], slots=1)
    begin(board, "10")
    board.ended("10", status)
    assert board.blocked() == {"20": f"waits for 10 ({status})", "30": "waits for 20 (waits too)"}
    assert starts(board) == ["40"]
    begin(board, "40")
    board.ended("40", "completed")
    assert board.decide(0.0).finished


def test_an_answer_unblocks_a_job_and_its_dependents():
    """After an answer the job starts again, and its dependents follow when it is completed."""
    board = Scheduler(chain("10", "20"), slots=1)
    begin(board, "10")
    board.ended("10", "asking")
    assert board.decide(0.0).finished
    board.answered("10")
    assert (starts(board), board.blocked(), board.decide(0.0).finished) == (["10"], {}, False)
    begin(board, "10")
    board.ended("10", "completed")
    assert starts(board) == ["20"]


def test_a_job_that_waits_again_keeps_its_place():
    """After a limit or for a retry, a job keeps its place."""
    board = Scheduler(fork(), slots=1)
    begin(board, "10")
    board.ended("10", "waiting")
    assert starts(board) == ["10"]


def test_a_paused_pool_starts_nothing_until_its_time():
    """The decision has the end of the pause, and then the waiting jobs; other pools continue."""
    board = Scheduler([Job("10", pool="a"), Job("20", pool="b")], slots=2)
    board.pause("a", 100.0)
    decision = board.decide(0.0)
    assert (decision.start, decision.wake_at, decision.finished) == (["20"], 100.0, False)
    assert starts(board, 100.0) == ["10", "20"]
    board.pause("a", 0.0)
    assert starts(board) == ["10", "20"]


def test_only_a_relevant_pause_is_waited_for():
    """A pause of a pool without ready jobs, or while the run is full, gives no time to wake up."""
    board = Scheduler([Job("10", pool="a"), Job("20", pool="b")], slots=1)
    board.pause("c", 5.0)
    board.pause("a", 9.0)
    assert board.decide(0.0).wake_at is None
    begin(board, "20")
    assert board.decide(0.0).wake_at is None
    board.ended("20", "completed")
    assert board.decide(0.0).wake_at == 9.0


def test_a_pause_without_an_end_ends_the_run():
    """If all remaining jobs wait for a pool that nothing resumes, the run is over."""
    board = Scheduler([Job("10", pool="a")], slots=1)
    board.pause("a", float("inf"))
    decision = board.decide(0.0)
    assert (decision.start, decision.wake_at, decision.finished) == ([], None, True)


def test_a_job_can_move_to_another_pool():
    """A transferred job runs in its new pool, and counts there."""
    board = Scheduler([Job("10", pool="a"), Job("20", pool="b")], slots=4, pool_slots={"b": 1})
    board.pause("a", 100.0)
    board.transfer("10", "b")
    assert starts(board) == ["10"]
    begin(board, "10")
    assert board.decide(0.0).wake_at is None
    board.ended("10", "completed")
    assert starts(board) == ["20"]
    begin(board, "20")
    with pytest.raises(IllegalStatusChange):
        board.transfer("20", "a")


def test_waves_have_barriers():
    """A job of the second wave waits for all of the first, though its own dependency is completed."""
    jobs = [Job("10"), Job("20"), Job("30", needs=["10"], wave=1)]
    board = Scheduler(jobs, slots=3, schedule="waves")
    begin(board, "10", "20")
    board.ended("10", "completed")
    assert starts(board) == []
    board.ended("20", "failed")
    assert starts(board) == ["30"]


@pytest.mark.parametrize("status", ["completed", "failed", "asking", "abandoned"])
def test_a_wave_ends_with_any_end_of_its_last_job(status):
    """Every end of a job counts for the barrier, and a limit does not."""
    jobs = [Job("10"), Job("20", wave=1)]
    board = Scheduler(jobs, slots=3, schedule="waves")
    begin(board, "10")
    board.ended("10", "waiting")
    assert starts(board) == ["10"]
    begin(board, "10")
    board.ended("10", status)
    assert starts(board) == ["20"]


def test_a_blocked_wave_delays_nothing():
    """A wave with only blocked jobs has ended before it begins."""
    jobs = [*chain("10", "20"), Job("30", wave=2)]
    board = Scheduler(jobs, slots=1, schedule="waves")
    begin(board, "10")
    board.ended("10", "failed")
    assert starts(board) == ["30"]


def test_an_answered_job_rejoins_a_later_wave():
    """A job that is answered late starts beside the current wave, and the next wave waits for it."""
    jobs = [Job("10"), Job("20", wave=1), Job("30", wave=2)]
    board = Scheduler(jobs, slots=3, schedule="waves")
    begin(board, "10")
    board.ended("10", "asking")
    begin(board, "20")
    board.answered("10")
    assert starts(board) == ["10"]
    board.ended("20", "completed")
    assert starts(board) == ["10"]
    begin(board, "10")
    board.ended("10", "completed")
    assert starts(board) == ["30"]


SHARED = {
    "nobody names files": ([], [], False),
    "one names none": (["a"], [], False),
    "other files": (["a", "b"], ["c"], True),
    "a common file": (["a", "b"], ["b"], False),
    "the same file spelled otherwise": (["./src//a"], ["src/a"], False),
    "a folder and a file in it": (["src"], ["src/a"], False),
    "a file and its folder": (["src/a"], ["src/"], False),
    "a name that begins alike": (["src/a"], ["src/ab", "sr"], True),
    "a pattern": (["src/*"], ["docs/a"], False),
    "a way up": (["src/../docs/a"], ["docs/b"], False),
    "the root": (["."], ["a"], False),
}


@all_of(("first", "second", "together"), SHARED.values())
def test_jobs_in_one_folder_need_disjoint_files(first, second, together):
    """Without worktrees two jobs run in parallel only if both name files and none is common."""
    for one, two in ((first, second), (second, first)):
        board = Scheduler([Job("10", files=one), Job("20", files=two)], slots=2, share="none")
        assert starts(board) == (["10", "20"] if together else ["10"])
        begin(board, "10")
        assert starts(board) == (["20"] if together else [])
        board.ended("10", "completed")
        assert starts(board) == ["20"]


def test_a_job_without_files_is_passed_over():
    """The next job that fits starts before one that must run alone."""
    jobs = [Job("10", files=["a"], rest=3), Job("20", rest=2), Job("30", files=["b"], rest=1)]
    board = Scheduler(jobs, slots=3, share="none")
    assert starts(board) == ["10", "30"]


def test_a_spent_budget_stops_new_work():
    """Running jobs continue, nothing starts, and when all have ended the run is over with the reason."""
    budget = Budget(max_cost=1.0)
    board = Scheduler(fork(2), slots=1, guards=[budget])
    begin(board, "10")
    budget.spend(cost=1.5, tokens=10)
    board.ended("10", "completed")
    decision = board.decide(0.0)
    assert (decision.start, decision.wake_at, decision.finished) == ([], None, True)
    assert decision.blocked_by == "the budget of $1.00 is spent ($1.50)"


def test_an_open_breaker_is_waited_for():
    """The decision has the end of the breaker's pause; with a spent budget there is none."""
    breaker, budget = Breaker(limit=1, wait=60.0), Budget(max_spawns=1)
    board = Scheduler(fork(1), slots=1, guards=[breaker, budget])
    breaker.count_failure(10.0)
    decision = board.decide(10.0)
    assert (decision.start, decision.wake_at, decision.finished) == ([], 70.0, False)
    assert starts(board, 70.0) == ["10"]
    budget.count_start()
    assert (board.decide(10.0).wake_at, board.decide(10.0).finished) == (None, True)


def test_a_dependency_outside_the_run_blocks():
    """A job with a dependency that the run does not have is blocked, and so are its dependents."""
    board = Scheduler([Job("20", needs=["10"]), Job("30", needs=["20"])], slots=1)
    assert board.blocked() == {"20": "waits for 10 (not in this run)", "30": "waits for 20 (waits too)"}
    assert board.decide(0.0).finished


def test_a_scheduler_starts_from_earlier_statuses():
    """A scheduler that is made in the middle of a run decides as if it had seen the beginning."""
    jobs = [
        Job("10", status="completed"),
        Job("20", needs=["10"], status="running"),
        Job("30", needs=["10"]),
        Job("40", status="failed"),
        Job("50", needs=["40"]),
        Job("60", status="asking"),
    ]
    board = Scheduler(jobs, slots=2)
    assert starts(board) == ["30"]
    assert board.blocked() == {"50": "waits for 40 (failed)"}
    assert board.statuses()["20"] == "running"


def test_a_circle_ends_the_run():
    """Jobs that depend on each other never start, and the run does not wait for them."""
    board = Scheduler([Job("10", needs=["20"]), Job("20", needs=["10"]), Job("30", needs=["30"])], slots=1)
    assert board.decide(0.0).finished


def test_an_empty_run_is_over():
    """A run without jobs has nothing to wait for."""
    assert Scheduler([], slots=1).decide(0.0).finished


@all_of("status", JOB.statuses)
@all_of("to", [*JOB.statuses, "done"])
def test_an_illegal_event_changes_nothing(status, to):
    """From every status each event is accepted or refused as the table says, and a refused one changes nothing."""
    board = Scheduler([Job("10", status=status), Job("20", needs=["10"]), Job("30")], slots=2)
    before = (board.statuses(), board.blocked(), repr(board.decide(0.0)))
    if to in JOB.targets(status):
        board.started("10") if to == "running" else board.ended("10", to)
        assert board.status("10") == to
        return
    with pytest.raises(IllegalStatusChange):
        board.ended("10", to)
    assert (board.statuses(), board.blocked(), repr(board.decide(0.0))) == before


def test_no_job_starts_before_its_dependencies():
    """A start of a waiting job is refused, and so is an answer to one without a question."""
    board = Scheduler(chain("10", "20"), slots=2)
    with pytest.raises(IllegalStatusChange, match=r"job 20 waits for 10 \(waiting\)"):
        board.started("20")
    with pytest.raises(IllegalStatusChange, match="asks nothing"):
        board.answered("10")
    with pytest.raises(SowError, match="job 99 is not in this run"):
        board.started("99")


BAD = {
    "no slots": {"slots": 0},
    "a pool without slots": {"slots": 1, "pool_slots": {"a": 0}},
    "an unknown schedule": {"slots": 1, "schedule": "wave"},
    "an unknown isolation": {"slots": 1, "share": "worktree"},
    "an id twice": {"slots": 1, "jobs": [Job("10"), Job("10")]},
    "an unknown status": {"slots": 1, "jobs": [Job("10", status="paused")]},
}


@pytest.mark.parametrize("options", BAD.values(), ids=BAD)
def test_an_impossible_scheduler_is_refused(options):
    """A job that could never run is refused before the start."""
    with pytest.raises(SowError) as refused:
        Scheduler(**{"jobs": [], **options})
    assert refused.value.hint


def play(needs: dict[str, list[str]], length: dict[str, float], *, slots: int, schedule: str = "ready") -> float:
    """Returns when a plan of given durations ends, with a clock that jumps from one end to the next."""
    rest = graph.chain_lengths(needs, length)
    wave = {task: number for number, level in enumerate(graph.waves(needs), 1) for task in level}
    jobs = [Job(task, needs=needs[task], rest=rest[task], wave=wave[task]) for task in needs]
    board, now, ends = Scheduler(jobs, slots=slots, schedule=schedule), 0.0, {}
    while not (decision := board.decide(now)).finished:
        for item in decision.start:
            board.started(item)
            ends[item] = now + length[item]
        now = min(ends.values())
        for item in [task for task, end in ends.items() if end == now]:
            board.ended(item, "completed")
            del ends[item]
    return now


def test_a_mixed_plan_ends_at_its_lower_bound():
    """A chain, long tasks and pairs keep all slots busy until the end."""
    length = {str(task): 2.0 if 5 <= task < 12 else 1.0 for task in range(1, 26)}
    needs = {task: [str(int(task) - 1)] if int(task) in (2, 3, 4, *range(13, 26, 2)) else [] for task in length}
    bound = max(*graph.chain_lengths(needs, length).values(), sum(length.values()) / 8)
    assert play(needs, length, slots=8) == bound == 4.0


def test_ready_order_beats_waves():
    """Two chains, one with its long task first and one with it last: barriers cost half as much again."""
    needs, length = {"1": [], "2": ["1"], "3": [], "4": ["3"]}, {"1": 3.0, "2": 1.0, "3": 1.0, "4": 3.0}
    assert play(needs, length, slots=8) == 4.0
    assert play(needs, length, slots=8, schedule="waves") == 6.0
