"""S4: a file that is built to exhaust memory is an error at once, and the process lives."""

from __future__ import annotations

import random
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from conftest import FULL, Repo
from support.call_server import MEMORY, Answer, Call, Caller
from support.quick_cases import few_of

from guarantees.fresh_process import in_fresh_process, shard
from guarantees.oversized_plans import PLAN_MARKDOWN, PLAN_YAML
from guarantees.oversized_texts import JSON, YAML, Make
from sow.domain.plans.plan import PlanSource
from sow.plans.reader import read

GENEROUS = 5.0  # seconds of processor time; half a second is the aim, and a busy machine is no failure
BATCH = 50
KIB = 1 << 10


TASK = 'schema_version: "1.2.0"\ntask:\n  name: '
UNITS = [
    *"[]{}-?:,&*!|>'\"%@#\n\t \\",
    "- ",
    "? ",
    ": ",
    "a: ",
    "\n  ",
    "\r\n",
    "--- ",
    "\0",
    "é",
    "a",
    "1e9",
    "<<",
    "\u2028",
]
NOT_OURS_TO_MEND = ("a long version", "conflict marks")  # a newer sow wrote the one, a person is at work on the other
Bomb = tuple[str, str, str]  # what it is, the file's name, its text


def bombs() -> Iterator[Bomb]:
    """Returns every pattern in several sizes up to the limit, alone and inside a task, and random mixtures."""
    sizes = (3, 60, 499, 501, 1000, 5000, 20_000)
    for name, make in YAML.items():
        for size in sizes:
            yield f"{name} × {size}", "task.yaml", make(size)
            yield f"{name} × {size} in a task", "tasks/state.yaml", f"{TASK}{make(size)}"
        yield f"{name}, 1 MiB", "task.yaml", make(KIB * KIB // len(make(1)[:40] or "x"))[: KIB * KIB]
    for name, make in JSON.items():
        for size in sizes:
            yield f"JSON {name} × {size}", "session_current.json", make(size)
        yield f"JSON {name}, 4 MiB", "session_current.json", make(4 * KIB * KIB // 8)[: 4 * KIB * KIB]
    yield "10 MB of text", "task.yaml", "a: " + "x" * 10_000_000
    yield "10 MB of JSON", "session_current.json", '"' + "x" * 10_000_000 + '"'
    yield from mixtures()


def mixtures() -> Iterator[Bomb]:
    number, of = shard()
    chance = random.Random(number)
    for case in range(200_000 // of if FULL else 1000):
        parts = [
            "".join(chance.choices(UNITS, k=chance.randint(1, 3))) * chance.choice((1, 2, 30, 1000)) for _ in range(3)
        ]
        kind = chance.choice(("task.yaml", "tasks/state.yaml", "session_current.json", "config.yaml", "log.md"))
        yield f"mixture {case} of {number}", kind, "".join(parts)


def check(name: str, answer: Answer) -> None:
    """Checks that the result is an error with a short message, or that the file is valid; never a crash."""
    assert answer.code in (0, 2), (name, answer)
    assert answer.seconds < GENEROUS, (name, answer)
    assert len(answer.err) < 6000, name


PARTS = 8


@few_of("part", range(PARTS), 1)
def test_a_bomb_is_an_error(caller, tmp_path, environment, part):
    """`sow validate` reports any bomb within a gibibyte of memory and a short time."""
    batch: list[tuple[str, Call]] = []
    count = 0
    for number, (name, kind, text) in enumerate(bombs()):
        if number % PARTS != part:
            continue
        folder = tmp_path / str(number)
        path = folder / kind
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
        batch.append((name, Call(words=["validate", str(path)], cwd=str(folder), environment=environment)))
        if len(batch) == BATCH:
            explode(caller, batch)
            count += len(batch)
            batch = []
    explode(caller, batch)
    assert FULL or count + len(batch) > 2000 // PARTS


def explode(caller: Caller, batch: list[tuple[str, Call]]) -> None:
    """Validates the files of a batch in one child."""
    answers = caller.bounded([call for _, call in batch])
    for (name, _), answer in zip(batch, answers, strict=False):
        check(name, answer)
    assert len(answers) == len(batch), f"the process died after {batch[len(answers) - 1][0]}"
    for _, call in batch:
        shutil.rmtree(call.cwd)


@pytest.mark.full
def test_a_bomb_affects_only_its_task(caller, task_repo: Repo):
    """With a large bomb as a task's state the project works, and the next change repairs the task."""
    text = ("status", "task set --id 010 priority high")
    calls = [Call(words=line.split(), cwd=str(task_repo.root), environment=task_repo.environment) for line in text]
    good = task_repo.state("010")
    for name, make in YAML.items():
        (task_repo.task_folder("010") / "state.yaml").write_bytes(make(50_000)[: KIB * KIB].encode())
        answers = caller.bounded(calls)
        assert [answer.code for answer in answers] == [0, 2 if name in NOT_OURS_TO_MEND else 0], (name, answers)
        assert "broken" in answers[0].out, name
        assert name in NOT_OURS_TO_MEND or "the last good state is back" in answers[1].err, name
        assert max(answer.seconds for answer in answers) < GENEROUS, name
        (task_repo.task_folder("010") / "state.yaml").write_text(good)


def a_mebibyte(make: Make) -> str:
    return make(KIB * KIB // len(make(1)[-40:] or "x"))[: KIB * KIB]


def plan_bombs() -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Returns every pattern of a plan in several sizes, and random mixtures, made on demand."""
    families = [("plan.md", PLAN_MARKDOWN), ("plan.yaml", PLAN_YAML), ("plan.yaml", YAML)]
    for kind, family in families:
        for name, make in family.items():
            for size in (3, 60, 999, 5000, 20_001) if FULL else (60,):
                yield f"{name} × {size}", kind, partial(make, size)
            yield f"{name}, 1 MiB", kind, partial(a_mebibyte, make)
    yield "10 MB of text", "plan.yaml", lambda: "a: " + "x" * 10_000_000
    yield "10 MB of digits", "plan.md", lambda: "## Task 1: a\n**Estimated time**: " + "9" * 10_000_000
    yield "a million tasks", "plan.md", lambda: "".join(f"## Task {n}: a\nx\n" for n in range(1, 1_000_001))
    yield "a million keys", "plan.yaml", lambda: "".join(f"k{n}: 1\n" for n in range(1_000_000))
    yield "a million pairs of stars", "plan.md", lambda: "## Task 1: a\n" + "**a** " * 1_000_000
    for name, kind, text in mixtures():
        yield name, "plan.md" if kind == "log.md" else "plan.yaml", partial(str, text)


def read_plans(part: str) -> list[str]:
    """Reads a part of the bombs with little memory; returns those that were slow or gave no error."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wrong = []
    for number, (name, kind, make) in enumerate(plan_bombs()):
        if number % PARTS == int(part):
            print(f"{kind}: {name}", file=sys.stderr)
            text = make()
            start = time.process_time()
            plan = read([PlanSource(kind, text)])
            seconds = time.process_time() - start
            short = all(len(finding.message) + len(finding.hint) < 2500 for finding in plan.findings)
            if seconds > GENEROUS or not (plan.tasks or plan.errors) or not short:
                wrong.append(f"{kind}: {name}: {seconds:.1f} s, {len(plan.findings)} findings")
    return wrong


@few_of("part", range(PARTS), 1)
def test_a_large_plan_is_read_or_refused(part: int):
    """The reader of plans handles any bomb within a gibibyte of memory and a short time."""
    assert in_fresh_process(read_plans, str(part)) == []
