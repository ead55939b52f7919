"""Creates the project of a branch, after all of its input is checked."""

from __future__ import annotations

from collections.abc import Callable

from sow.domain import inputs
from sow.domain.documents.state import ProjectState
from sow.domain.phase import new_phases
from sow.domain.task import Actor
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects.tasks import log_act
from sow.system import clock, random_ids


def prepare(
    home: Home, *, name: str, description: str = "", phases: list[str], actor: Actor
) -> Callable[[], ProjectState]:
    """Checks all input for a new project and returns a function that creates it on the current branch."""
    now = clock.now()
    checked = inputs.checked_line(name, "the project's name", 100)
    about = inputs.checked_text(description, "the description", 20_000) if description else ""
    about = "" if about.strip() == checked else about
    stages = new_phases(phases, now=now)
    projects.check_can_create(home)

    def make() -> ProjectState:
        with home.lock():
            branch = projects.check_can_create(home)
            home.folder("project")
            log_act(home, actor, action="project_new", text=f"started project {checked} on {branch}", now=now)
            return projects.create(
                home, project_id=random_ids.uuid4(), name=checked, description=about, phases=stages, now=now
            )

    return make
