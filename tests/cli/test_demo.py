"""sow demo: a whole run that everybody can watch, in half a minute and with no account."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import SOW, Repo, fresh_environment

KEPT = "ke pt;$(touch owned)'&\"é"  # nothing may come of the words in it


class Shown:
    """One demo, and what it left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        environment = fresh_environment(self.home)
        self.mine = sorted(self.home.rglob("*"))
        self.done = subprocess.run(
            [SOW, "demo", "--keep", KEPT], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert self.done.returncode == 0, self.done.stdout + self.done.stderr
        self.repo = Repo(folder / KEPT / "shop", environment)
        lines = next((self.repo.root / ".sow/local/runs").glob("*/journal.jsonl")).read_text().splitlines()
        self.journal = [json.loads(line) for line in lines]

    def events(self, name: str, **facts: object) -> list[dict[str, object]]:
        found = [each for each in self.journal if each["event"] == name]
        return [each for each in found if all(each.get(key) == value for key, value in facts.items())]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """One demo for all the tests of this file: it takes its time."""
    return Shown(tmp_path_factory.mktemp("demo"))


def test_it_ends_well_and_says_where_to_look(shown: Shown):
    """The demo ends with exit 0, the report, and the place of what it made."""
    assert shown.done.returncode == 0
    assert "8 completed" in shown.done.stdout
    assert "Where to look" in shown.done.stdout
    assert str(shown.repo.root) in shown.done.stdout


def test_all_eight_tasks_are_merged_on_the_users_branch(shown: Shown):
    """Every task is completed, and the branch of the checkout has its files and a clean state."""
    tasks = shown.repo.ok("task", "list", "--json").json["tasks"]
    assert {task["id"]: task["status"] for task in tasks} == {f"0{n}0": "completed" for n in range(1, 9)}
    assert len(shown.events("merged")) == 8
    left = shown.repo.git("status", "--porcelain").splitlines()
    assert [line for line in left if not line.startswith("?? .sow/")] == []
    assert {"cart.py", "checkout.py", "money.py", "receipt.py", "stock.py"} <= {
        path.name for path in (shown.repo.root / "shop").iterdir()
    }


def test_the_tests_that_the_workers_wrote_are_real(shown: Shown):
    """What was merged passes all its tests in the checkout, and they fail once the code is broken."""
    run = ["python3", "-m", "unittest"]
    environment = {**shown.repo.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    good = subprocess.run(run, cwd=shown.repo.root, env=environment, capture_output=True, text=True)
    assert good.returncode == 0, good.stderr
    assert "Ran 13 tests" in good.stderr
    cart = shown.repo.root / "shop" / "cart.py"
    text = cart.read_text()
    cart.write_text(text.replace("count < 1", "count < -9"))
    bad = subprocess.run(run, cwd=shown.repo.root, env=environment, capture_output=True, text=True)
    cart.write_text(text)
    assert bad.returncode != 0


def test_three_work_at_once(shown: Shown):
    """Three tasks are started before the first of them ends."""
    order = [each["event"] for each in shown.journal if each["event"] in ("task_started", "task_ended")]
    assert order[:3] == ["task_started"] * 3


def test_one_red_comes_back_green(shown: Shown):
    """The reviewer sends one task back, its worker mends it, and the second review passes."""
    verdicts = [each["verdict"] for each in shown.events("reviewed", task="040")]
    assert verdicts == ["RED", "GREEN"]
    assert shown.repo.task("040")["retry_count"] == 1
    assert "count < 1" in (shown.repo.root / "shop" / "cart.py").read_text()


def test_one_question_is_answered_by_the_demo(shown: Shown):
    """One worker asks; the answer is given by the command that a person types, and the work follows it."""
    (question,) = shown.events("question")
    assert question["task"] == "050"
    (asked,) = shown.repo.task("050")["questions"]
    assert asked["answer"].startswith("Up")
    assert shown.events("answered", task="050")


def test_one_conflict_is_solved_by_its_worker(shown: Shown):
    """Two tasks change one line: the second is sent back, joins both, and nothing of either is lost."""
    (conflict,) = shown.events("conflict")
    assert conflict["paths"] == ["shop/__init__.py"]
    assert len(shown.events("merged", task=conflict["task"])) == 1
    both = (shown.repo.root / "shop" / "__init__.py").read_text()
    assert "import Catalogue" in both
    assert "import Stock" in both


def test_nothing_of_the_users_is_touched(shown: Shown):
    """The user's home is as it was: settings and conversations of the demo lie in a home of its own."""
    assert sorted(shown.home.rglob("*")) == shown.mine
    assert list(shown.folder.rglob("owned*")) == []
    assert (shown.folder / KEPT / "home" / ".config" / "sow" / "config.yaml").is_file()


@pytest.mark.parametrize("there", ["file", "full"])
def test_it_overwrites_nothing(repo: Repo, there: str):
    """A file, or a folder that is not empty, is refused before anything is made."""
    place = repo.root / "place"
    if there == "file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / "mine").write_text("mine")
    result = repo.sow("demo", "--keep", "place")
    assert result.code == 2
    assert result.err.startswith(f"error: --keep: {place} is there already\nhint: ")


def test_a_worker_does_not_show_it(repo: Repo):
    """A supervised worker may run no plan, and so no demo."""
    result = repo.sow("demo", SOW_TASK="010", SOW_AGENT="implementer")
    assert result.code == 2
    assert "error: " in result.err
