"""A run whose branch is delivered to a forge of the test."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from conftest import Repo, Result, fresh_environment

from sow.engine.delivery.deliver import BranchDelivery, DeliverOptions
from sow.engine.delivery.watch import RequestWatch, WatchOptions
from sow.store.files.checkout_home import find
from sow.store.formats import yaml_text
from support.folder_template import FolderTemplate
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


class StoredScene:
    """A scene whose run and request are made once, and put back for each test: in the same folder, on the same port."""

    def __init__(self, folder: Path, files: FolderTemplate, forge: type[ForgeServer]) -> None:
        self.folder = folder
        (folder / "forge").mkdir()
        self.server = forge(folder / "forge")
        self.server.add_repository()
        repo = Repo(files.write(folder / "repo"), fresh_environment(folder / "home"))
        repo.environment |= self.server.environment(folder)
        repo.git("switch", "-q", "-c", "feat/harbour")
        repo.git("remote", "add", "origin", self.server.url())
        self.plans = PlanRepo(repo, folder)
        Scene(self.plans, self.server).run()
        self.stages = {"finished": (FolderTemplate(folder), self.server.state())}

    def restore(self, stage: str) -> Scene:
        """Returns the scene after its run ("finished"), or with its request ("delivered")."""
        if stage not in self.stages:
            done = self.restore("finished").deliver()
            assert done.code == 0, done
            self.stages[stage] = FolderTemplate(self.folder), self.server.state()
        files, state = self.stages[stage]
        shutil.rmtree(self.folder)
        files.write(self.folder)
        self.server.restore(state)
        plans = copy.copy(self.plans)
        plans.repo = Repo(self.plans.repo.root, dict(self.plans.repo.environment))
        plans.settings, plans.started = copy.deepcopy(self.plans.settings), []
        return Scene(plans, self.server)


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
