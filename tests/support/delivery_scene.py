"""A run whose branch is delivered to a forge of the test."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import yaml
from conftest import Result

from sow.engine.delivery.deliver import BranchDelivery, DeliverOptions
from sow.engine.delivery.watch import RequestWatch, WatchOptions
from sow.store.files.checkout_home import find
from sow.store.formats import yaml_text
from support.forge_server import ForgeServer
from support.plan_repo import PlanRepo


class Scene:
    """A repository with one finished run, its remote, and the forge's request."""

    def __init__(self, plans: PlanRepo, server: ForgeServer) -> None:
        self.plans = plans
        self.server = server
        self.repo = plans.repo

    def run(self, *tasks: Any, **settings: Any) -> None:
        """Runs a plan on the branch feat/harbour, and pushes main before that."""
        self.repo.git("push", "-q", "origin", "HEAD:refs/heads/main")
        self.plans.plan(*(tasks or ({"name": "Add a crane", "test_commands": ["test -f part_010.txt"]},)), **settings)
        result = self.plans.run()
        assert result.code == 0, result

    def deliver(self, *arguments: str, **options: Any) -> Result:
        return self.repo.sow("deliver", *arguments, **options)

    def push_as_person(self, path: str, text: str, branch: str = "feat/harbour") -> str:
        """Pushes a change of one file to the branch as a person; returns the commit."""
        blob = self.server.git("hash-object", "-w", "--stdin", stdin=text)
        entries = [line for line in self.server.git("ls-tree", branch).splitlines() if line.split("\t")[1] != path]
        tree = self.server.git("mktree", stdin="\n".join([*entries, f"100644 blob {blob}\t{path}", ""]))
        commit = self.server.git("commit-tree", tree, "-p", branch, "-m", f"Change {path}")
        self.server.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    @property
    def pull(self) -> dict[str, Any]:
        """Returns the only request."""
        (result,) = self.server.pulls.values()
        return result

    def delivery(self) -> dict[str, Any]:
        """Returns the record of the delivery."""
        (result,) = (run["delivery"] for run in self.plans.runs() if "delivery" in run)
        return dict(result)

    def change_delivery(self, **fields: Any) -> None:
        """Changes the record as a call of sow would."""
        (path,) = (self.repo.root / ".sow/local/runs").glob("*/state.yaml")
        state = yaml.safe_load(path.read_text())
        state["run"]["delivery"] |= fields
        path.write_text(yaml_text.dump(state))

    def pushed_files(self, branch: str = "feat/harbour") -> list[str]:
        return self.server.git("ls-tree", "-r", "--name-only", branch).split()


class Follower:
    """Follows the scene's request in this process; between two polls the next act of the test happens."""

    def __init__(self, scene: Scene, *acts: Callable[[], Any]) -> None:
        self.scene = scene
        self.acts = list(acts)
        self.pauses: list[float] = []
        self.told: list[str] = []
        self.calls: list[int] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.calls.append(len(self.scene.server.calls("^[A-Z]+ /(repos|projects|graphql)")))
        if not self.acts:
            raise TimeoutError(self.told)
        self.acts.pop(0)()

    def follow(self, method: str = "") -> Any:
        os.environ.update(self.scene.repo.environment)
        home = find(option=str(self.scene.repo.root), environment={}, cwd="/")
        delivery = BranchDelivery(home, dict(self.scene.repo.environment), DeliverOptions(), self.told.append)
        return RequestWatch(delivery, WatchOptions(method=method), pause=self.pause).follow()
