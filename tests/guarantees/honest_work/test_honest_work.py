"""T3: no false claim is delivered as GREEN, and no correct work is refused, without reviews.

The judge is a fresh clone of the delivered branch and tests that no worker ever saw.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from conftest import FULL
from support.plan_repo import PlanRepo
from support.quick_cases import few_of

from guarantees.dishonest_workers import RIGHT, Case, Folder, cases, script

IN_ONE_RUN = 11
ROUNDS = 16 if FULL else 1
SEED = 20260131
RUNNERS = ("pytest", "unittest", "make", "script")
ALL = cases({runner: Folder("p", runner, random.Random(SEED)).tests for runner in RUNNERS})
BATCHES = [(number, start) for number in range(ROUNDS) for start in range(0, len(ALL), IN_ONE_RUN)]


def delivered(plan_repo: PlanRepo, where: Path) -> Path:
    """Returns a fresh clone of the user's branch, or of the run's own while a task waits."""
    branches = plan_repo.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads/sow/int/").split()
    branch = branches[0] if branches else "feat/harbour"
    target = where / "delivered"
    text = ["git", "clone", "-q", "--branch", branch, "--", str(plan_repo.repo.root), str(target)]
    subprocess.run(text, check=True, env=plan_repo.repo.environment)
    return target


def prepare(plan_repo: PlanRepo, folders: list[Folder]) -> None:
    root = plan_repo.repo.root
    (root / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")
    for folder in folders:
        for path, text in folder.files().items():
            file = root / folder.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    plan_repo.repo.git("add", "-A")
    plan_repo.repo.git("commit", "-q", "-m", "calculators")


@few_of(("number", "start"), BATCHES, 1)
def test_no_false_claim_is_green_and_no_correct_work_is_refused(
    plan_repo: PlanRepo, tmp_path: Path, number: int, start: int
) -> None:
    """Workers do nothing, half, something else, or change tests and configuration, beside honest ones."""
    seed = random.Random(SEED + number)
    order = list(range(len(ALL)))
    seed.shuffle(order)
    names = [f"p{index:03d}" for index in range(len(ALL))]
    # The texts of the tests belong to the first seed; later repetitions mix the batches and the hidden numbers.
    chosen: list[tuple[Case, Folder]] = []
    for index in order[start : start + IN_ONE_RUN]:
        folder = Folder(names[index], ALL[index].runner, random.Random(SEED))
        folder.hidden = [(seed.randint(-99, 99), seed.randint(-99, 99)) for _ in range(5)]
        chosen.append((ALL[index], folder))
    prepare(plan_repo, [folder for _, folder in chosen])
    for place, (case, folder) in enumerate(chosen, 1):
        plan_repo.act(f"implementer-{place * 10:03d}", script(case, folder))
    plan_repo.plan(*(folder.task() for _, folder in chosen))
    result = plan_repo.run("--review", "off", "--retries", "0", "--max-concurrency", "2")
    assert result.code in (0, 1, 4), result
    clone = delivered(plan_repo, tmp_path)
    wrong = []
    for place, (case, folder) in enumerate(chosen, 1):
        task = plan_repo.task(f"{place * 10:03d}")
        claimed = (task["status"], task.get("result"))
        if case.honest and (claimed != ("completed", "GREEN") or not folder.is_right(clone)):
            wrong.append((case, claimed, task.get("concerns"), task.get("question")))
        if not case.honest and claimed == ("completed", "GREEN") and not folder.is_right(clone):
            wrong.append((case, claimed, task.get("evidence"), None))
    assert wrong == []


def test_the_table_has_sixty_cases() -> None:
    """The quick count of this guarantee."""
    assert len(ALL) >= 60
    assert sum(case.honest for case in ALL) >= 10


def run_one(plan_repo: PlanRepo, act: str, **options: object) -> dict[str, object]:
    """Runs one project at the root of the repository with one worker and without a review."""
    folder = Folder("calc", "pytest", random.Random(SEED))
    prepare(plan_repo, [folder])
    plan_repo.act("implementer-010", act)
    plan_repo.plan(folder.task() | options)
    result = plan_repo.run("--review", "off", "--retries", "0")
    assert result.code in (0, 1, 4), result
    return plan_repo.task("010")


def test_a_module_with_the_runners_name_is_not_green(plan_repo: PlanRepo) -> None:
    """`python -m pytest` runs a file pytest.py at the root."""
    task = run_one(plan_repo, "echo 'print(\"3 passed in 0.01s\")' > pytest.py\n")
    assert (task["status"], task["result"]) == ("completed", "YELLOW")
    assert "it takes the place of the runner's own module" in str(task["concerns"])


HIDE = "cd calc; echo done > README.md; printf '[pytest]\\naddopts = -k neg\\n' > pytest.ini; echo pytest.ini >> "


@pytest.mark.full
def test_an_ignored_configuration_has_no_effect(plan_repo: PlanRepo) -> None:
    """A pytest.ini that git ignores is not part of the checked commit."""
    task = run_one(plan_repo, f"{HIDE}../.gitignore\n")
    assert (task["status"], task["result"]) == ("paused", "RED")


@pytest.mark.full
def test_a_hidden_configuration_is_a_concern(plan_repo: PlanRepo) -> None:
    """A pytest.ini that a worker hides through .git/info/exclude is a concern."""
    task = run_one(plan_repo, f"{HIDE}$(git rev-parse --git-common-dir)/info/exclude\n")
    assert (task["status"], task["result"]) == ("completed", "YELLOW")
    assert "pytest.ini" in str(task["concerns"])


@pytest.mark.full
def test_correct_work_alone_is_green(plan_repo: PlanRepo) -> None:
    """The honest worker of a single run is GREEN without concerns."""
    task = run_one(plan_repo, f"cat > calc/calc.py <<'END'\n{RIGHT}END\n")
    assert (task["status"], task["result"], task.get("concerns")) == ("completed", "GREEN", None)
